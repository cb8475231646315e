"""Closed word lists of the caption parser, each with the reading that it decides.

Written for this project. Conventions follow the human graphs of FACTUAL (Li et al. 2023), which annotate Visual
Genome's region captions.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text; for lists too long to quote one by one."""
    return frozenset(text.split())


COLORS = words(
    """red orange yellow green blue purple white black brown gray grey pink tan beige silver gold golden maroon
    turquoise teal navy cream khaki violet lavender magenta burgundy peach bronze copper crimson scarlet aqua olive
    ivory cyan indigo mauve blonde blond brunette multicolored"""
)

MATERIALS = words(
    """wood metal stone brick glass plastic leather concrete cement dirt rock steel iron aluminum tin brass marble
    granite ceramic porcelain cotton denim wool silk lace velvet fur straw wicker bamboo rubber cardboard canvas vinyl
    clay gravel asphalt cobblestone tile plaid flannel spandex nylon suede linoleum hardwood redwood oak pine cherry
    mahogany chrome stainless foam mesh wire chain-link wrought adobe stucco thatch crystal satin tweed corduroy burlap
    linen teak maple cedar birch plywood sandstone limestone slate terracotta pewter titanium styrofoam polyester fleece
    cashmere jute rattan plaster"""
)

KINDS = words(
    """toy baby mother adult mom dad father chocolate vanilla strawberry tabby calico paisley polka floral chiffon
    cartoon dragon storm laptop desktop american german british dell wii nike double triple twin mini miniature
    camouflage camo evening afternoon morning winter summer"""
)

ATTRIBUTE_NOUNS = COLORS | MATERIALS | KINDS
"""Nouns that, in front of another noun, say what it looks like; other nouns there are part of its name."""

SHADES = words("light dark bright pale deep lighter darker medium hot neon off pastel royal navy sky lime forest army")
"""In front of a colour: one attribute together with it ("light blue")."""

POSITIONS = words("left right front side")
"""In front of a noun: part of the name of what is there ("left hand", "side window")."""

QUANTIFIERS = words(
    """many several few some other another various numerous multiple more most all both each every such same own much
    any certain whole entire only first second third next last able different similar lone single couple lot lots
    nearby"""
)
"""Adjectives and determiners that say nothing one can see."""

GERUND_NAMES = words(
    """parking cutting chopping living dining serving swimming skiing sewing washing baking frying mixing sleeping
    waiting shopping rolling changing landing measuring fishing boxing racing walking wedding building railing
    clothing ceiling lighting playing bathing running riding cooking dressing drinking hiking writing vending
    watering traffic carving steering sailing painting surfing surf wake training diving"""
)
"""-ing words that, in front of a noun, are part of its name ("cutting board")."""

NAMES = frozenset(
    {
        *("hot dog", "high chair", "polar bear", "grizzly bear", "french fries", "ice cream", "wet suit", "teddy bear"),
        *("electrical outlet", "remote control", "cellular phone", "mobile phone", "solar panel", "grand piano"),
        *("parking lot", "safety vest", "directional sign", "fire hydrant", "hot tub", "bald eagle", "wild boar"),
        *("golden retriever", "french toast", "red panda", "killer whale", "electric guitar", "acoustic guitar"),
        *("rocking chair", "folding chair", "ironing board", "wrapping paper", "recycling bin", "coloring book"),
        *("greeting card", "bowling ball", "climbing wall", "loading dock", "chewing gum", "spinning wheel"),
        *("flying saucer", "shooting star", "high school", "christmas tree", "swiss army knife", "bell pepper"),
    }
)
"""Words that name one thing together, whatever their parts are elsewhere; in the singular, two words each."""

PICTURES = words(
    """photo photograph picture image pic view shot scene closeup close-up portrait snapshot illustration video footage
    vector screenshot"""
)
"""With "of": no object, what they are of is."""

MEASURES = words(
    """group bunch bit bits pair pairs couple lot lots number variety set row rows pile piles stack stacks herd flock
    kind type kinds types body bodies cluster series assortment array collection line lines patch pack crowd bundle
    groups bunches piece pieces part parts portion section swarm pride team"""
)
"""With "of": no object, what they measure is."""

CONTAINERS = words(
    """bowl cup glass mug basket box jar bottle vase pot bag bucket can carton crate case pitcher tray plate dish
    platter pan container tub saucer tank sack tin jug wineglass barrel bin"""
)
SURFACES = words("plate dish platter tray saucer")
"""Of the containers, those whose content lies on them."""

PERSONAL = words(
    """man woman boy girl person people lady guy child kid player skier surfer snowboarder skateboarder rider batter
    catcher umpire gentleman baby toddler teenager adult worker officer policeman cop soldier cowboy crowd couple
    male female bride groom student chef pitcher spectator player fan rider cyclist biker motorcyclist pedestrian
    cat dog bear horse elephant monkey bird animal teddy puppy kitten doll snowman fish referee boarder swimmer
    model dancer musician singer athlete runner actor actress father mother son daughter brother sister friend family
    teacher nurse doctor bridesmaid goalie goalkeeper quarterback golfer bowler sailor pilot waiter waitress farmer
    firefighter king queen prince princess clown santa monk priest nun pirate knight bartender barber butcher cashier
    customer passenger tourist visitor traveler shopper driver conductor guard guest host hunter hiker climber jogger
    skater wrestler boxer gymnast cheerleader coach captain performer guitarist drummer pianist artist painter
    photographer journalist reporter politician president minister businessman lawyer scientist engineer mechanic
    plumber carpenter volunteer participant competitor celebrity fisherman infant youngster elder grandmother
    grandfather grandma grandpa mom dad mommy daddy husband wife uncle aunt cousin twin neighbor cow sheep goat pig
    zebra giraffe lion tiger leopard monkey gorilla ape deer donkey camel rabbit squirrel mouse duck goose swan
    chicken rooster hen parrot owl eagle penguin seagull pigeon kangaroo koala panda fox wolf lamb calf foal cub"""
)
CLOTHES = words(
    """shirt t-shirt tshirt shirts jacket coat pants jeans shorts short hat cap dress skirt suit tie sweater vest
    uniform helmet glove glasses sunglasses goggles shoe boot sandal sock scarf gown hoodie blouse wetsuit swimsuit
    bikini trunks trouser trousers top outfit costume sweatshirt robe headband apron tuxedo tank jersey gear clothing
    clothes sneaker heel overalls cardigan blazer kimono turban veil beanie visor necklace backpack pajamas pyjamas kilt
    leggings tights raincoat parka poncho cloak cape mitten slipper flip-flop cleat tiara bowtie fedora sombrero hijab
    headscarf bonnet swimwear spandex tracksuit jumpsuit jumper poloshirt lingerie bra underwear stockings"""
)

EMPTY_VERBS = words("be see locate situate")
"""Verbs that add nothing to their preposition ("seen in the background")."""

LOCATIVE_VERBS = words(
    """park sit stand stop dock lay position place seat gather land plant locate moor lean rest hang line stack pile
    station kneel crouch live perch"""
)
"""Verbs whose "by" is a place, not an agent."""

REVERSED_VERBS = {"cover": frozenset({"by", "in", "with"}), "surround": frozenset({"by", "with"})}
"""Passives whose prepositional object does what the verb says, with those prepositions."""

LIGHT_VERBS = words(
    "be have do see show make use take get try attempt start begin seem appear prepare include contain say depict"
)
"""Verbs that, without an object, say nothing about their subject."""

PLACE_PREPOSITIONS = words("on in above below under beneath underneath over behind beside near inside")
PLACE_ADVERBS = words("outside outdoors inside indoors underwater upside airborne together up down")
"""Adverbs of place."""

OUTDOORS = words("outside outdoors inside indoors")
"""Adverbs that are attributes."""

NEGATIONS = words("not n't nt never no neither nor")

THIRD_PERSON = words("it them him her itself themselves himself herself")
POSSESSIVES = words("his her its their")
RELATIVE_PRONOUNS = words("that which who whom what")

NON_OBJECTS = words(
    """color colour lot lots kind type way one ones order something anything nothing
    everything someone anyone everyone somebody nobody anybody other none each both it all us i others name size shape
    indoors outdoors copyspace january february april june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday today tomorrow yesterday year month week hour minute decade"""
)
"""Words that name no object, unless a compound ("parking lot")."""

PLACES = words("side front middle top back left right center end bottom")
"""Words that name no object after a bare preposition ("on the front")."""

ING_NOUNS = words(
    """railing building ceiling painting clothing frosting icing awning wedding lighting flooring siding topping
    drawing carving engraving bedding stuffing earring string wing ring king thing evening morning darling duckling
    sibling dumpling pudding covering marking writing roofing paving landing crossing opening serving"""
)
"""Nouns on -ing that taggers take for verbs."""

COVERING_VERBS = words("cover line fill surround top coat")
"""Verbs whose participle, after a noun and in front of another, relates the two ("snow covered sign")."""

BODY_PARTS = words(
    """hand arm leg foot head face mouth neck back lap shoulder finger eye ear nose paw tail trunk tongue beak knee
    chest waist wrist hair teeth tooth lip chin belly stomach wing hoof horn mane fur body elbow ankle thumb palm lap
    claw tusk snout toe cheek forehead eyebrow feather fin flipper hip thigh calf antler beard mustache torso armpit
    whisker muzzle throat jaw heel"""
)
PLURAL_ALIKE = words("fish sheep deer moose bison elk shrimp salmon aircraft squid")
"""Nouns whose plural looks like their singular."""

BOILERPLATE = words("stock vector royalty-free copy")
"""In front of a word for a picture or of "space": what a seller says of a picture, so no object."""

EXTENTS = words("field forest sea pool area expanse stretch plain blanket layer")
"""With "of": what they hold, not what they belong to."""

ARRANGEMENTS = words("row line circle group pile stack pair color way direction half pose")
"""After "in": a manner, not a thing."""

GOVERNING_ADJECTIVES = words("close full adjacent parallel attached connected tied similar ready visible")
"""Adjectives that make one predicate with their preposition ("full of")."""
