"""Hard negatives of the user's own captions."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.own.caption_facts import merge_captions
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.english import is_english
from compeval.generators.hard_negatives.own.foils import FoilMaker, shuffle
from compeval.generators.hard_negatives.own.form import split_form
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.hard_negatives.own.nouns import is_foil_noun
from compeval.generators.hard_negatives.own.slots import SlotCounts
from compeval.generators.hard_negatives.own.values import are_values
from compeval.generators.parser.caption_parser import CaptionParser, make_parser

BOX = Box(0, 0, 100, 100)


@pytest.fixture(scope="module")
def parser() -> CaptionParser:
    return make_parser()


def make_image(
    parser: CaptionParser, captions: list[str], graph: SceneGraph | None = None
) -> AnnotatedImage:
    regions = (
        Region(text, text, BOX, text, parse)
        for text, parse in zip(captions, parser.parse(captions), strict=True)
    )
    return AnnotatedImage("1", 100, 100, graph or SceneGraph(), tuple(regions))


def make_maker(
    captions: list[str],
    corpus: list[str],
    annotated: frozenset[str] = frozenset(),
    rejected: frozenset[str] = frozenset(),
) -> FoilMaker:
    """Return a maker that knows the slots of a corpus, in which each text is there three times."""
    slots = SlotCounts(load_words("common_nouns"))
    for caption in captions:
        slots.add_slots(caption)
    for text in [*captions, *corpus * 3]:
        slots.count(text)
    kinds = ("atom", "comp", "swap", "negation")
    rejections = {"crop": rejected}
    return FoilMaker(kinds, Vocabulary(), slots, Companions.of([]), rejections, "key", annotated)


def list_texts(
    parser: CaptionParser,
    captions: list[str],
    kind: str,
    corpus: list[str],
    graph: SceneGraph | None = None,
    **options,
):
    """Return the texts of all candidates of the first caption, and whether each is proven."""
    image, maker = make_image(parser, captions, graph), make_maker(captions, corpus, **options)
    first = next(maker.make(image, "crop", Counter()))
    pool = maker.find_all(first.caption)[kind].negatives
    return {
        first.caption.form.write(negative.caption): maker.is_proven(kind, negative, first.caption)
        for negative in pool
    }


STREET = [
    "a green car on a street",
    "a blue car",
    "a red truck on a street",
    "a truck in a garage",
    "a car in a garage",
    "a dog on a street",
    "a car under a street",
    "a car next to a street",
]
"""Captions of other images, which show what is usual."""


@pytest.mark.parametrize(
    ("caption", "form", "body"),
    [
        ("A dog runs.", (True, ".", False), "a dog runs"),
        ("a dog runs .", (False, " .", False), "a dog runs"),
        ("A DOG RUNS", (False, "", True), "a dog runs"),
        ("BBQ on a table!", (False, "!", False), "BBQ on a table"),
    ],
)
def test_foils_have_the_form_of_the_caption(caption: str, form: tuple, body: str):
    assert split_form(caption, begins_with_name=False) == (form, body)
    assert split_form(caption, begins_with_name=False)[0].write(body) == caption


def test_each_sentence_begins_like_the_caption():
    form, _ = split_form("A dog runs.", begins_with_name=False)
    assert form.write("something runs. there is no dog") == "Something runs. There is no dog."


def test_what_another_caption_says_is_no_foil(parser):
    captions = ["a red car on a street", "a blue car and a dog"]
    atoms = list_texts(parser, captions, "atom", STREET)
    assert "a green car on a street" in atoms
    assert "a blue car on a street" not in atoms
    assert not [text for text in atoms if "dog" in text]


def test_captions_prove_attributes_and_relations_and_not_the_absence_of_objects(parser):
    corpus = [*STREET, "a red bus on a street", "a bus in a garage"]
    atoms = list_texts(parser, ["a red car on a street"], "atom", corpus)
    assert atoms["a blue car on a street"] is True
    assert atoms["a red car under a street"] is True
    assert atoms["a red bus on a street"] is False


def test_a_foil_needs_a_caption_with_its_word_in_the_same_slot(parser):
    """No caption has "served on a teddy bear": the bear is near in meaning to nothing that food is served on."""
    corpus = [
        "food served on a tray",
        "a tray on a shelf",
        "a plate on a shelf",
        "a teddy bear on a shelf",
    ]
    atoms = list_texts(parser, ["food served on a plate"], "atom", corpus)
    assert "food served on a tray" not in atoms, "a tray may be the plate (held_together.yaml)"
    assert not [text for text in atoms if "teddy bear" in text]
    corpus = [
        "a cat riding a horse",
        "a man riding an elephant",
        "an elephant in a zoo",
        "a horse in a zoo",
    ]
    atoms = list_texts(parser, ["a man riding a horse"], "atom", corpus)
    assert "a man riding an elephant" in atoms


@pytest.mark.parametrize(
    ("caption", "corpus", "foil"),
    [
        ("a man sitting on a bench", ["a man standing on a bench"], "standing"),
        ("a laptop lying on a table", ["a laptop standing on a table"], "standing"),
        (
            "a flower in a garden",
            ["a tulip in a garden", "a tulip in a vase", "a flower in a vase"],
            "tulip",
        ),
        (
            "a boat on a lake",
            ["a sailboat on a lake", "a sailboat at sea", "a boat at sea"],
            "sailboat",
        ),
        ("a dog on a couch", ["a pet on a couch", "a pet on a bed", "a dog on a bed"], "pet"),
        (
            "a building in a city",
            [
                "an establishment in a city",
                "an establishment near a park",
                "a building near a park",
            ],
            "establishment",
        ),
    ],
)
def test_words_that_hold_together_are_no_foils_of_each_other(parser, caption, corpus, foil):
    for kind in ("atom", "comp", "negation"):
        assert not [text for text in list_texts(parser, [caption], kind, corpus) if foil in text]


def test_phrases_stay_whole(parser):
    corpus = ["a double train", "a train on a road", "a bus on a road", "a train on a bridge"]
    atoms = list_texts(parser, ["a double decker bus on a bridge"], "atom", corpus)
    assert not [text for text in atoms if "decker train" in text]
    corpus = ["a boy lying on a couch", "a boy lying on a chair", "a girl on a couch"]
    atoms = list_texts(parser, ["a boy lying in bed with the flu"], "atom", corpus)
    assert not [text for text in atoms if "in couch" in text or "in chair" in text]


@pytest.mark.parametrize(
    ("caption", "corpus", "foil"),
    [
        (
            "a car parked on a street",
            ["a skate park on a street", "a skate next to a car"],
            "skate",
        ),
        ("a man on a horse", ["a man on a motor bike", "a motor next to a horse"], "motor"),
        (
            "a man wearing a helmet",
            ["a dog wearing a leash", "a man with a dog on a leash", "a helmet and a leash"],
            "leash",
        ),
        ("boats with people on them", ["people behind a boat", "people under a boat"], "behind"),
        ("a full plate of cake", ["an empty plate", "a plate of cake"], "empty"),
        (
            "a green traffic light",
            ["a red light", "a white car", "a white dog", "a white cat"],
            "white",
        ),
    ],
)
def test_words_in_other_roles_are_no_evidence(parser, caption, corpus, foil):
    assert not [text for text in list_texts(parser, [caption], "atom", corpus) if foil in text]


@pytest.mark.parametrize(("together", "are_usual"), [(1, False), (40, False), (120, True)])
def test_words_that_are_rarely_together_are_no_foils(together: int, are_usual: bool):
    """Half of the number by chance is needed: of 401, 440 and 520 captions with each word, 67, 78 and 102 with both."""
    slots = SlotCounts(load_words("common_nouns"))
    slots.add_slots("a train on a track")
    texts = [
        *["a bus"] * 400,
        *["a track"] * 400,
        *["a dog"] * 400,
        *["a bus on a track"] * together,
    ]
    for text in texts:
        slots.count(text)
    assert slots.are_together("bus", ["track"]) is are_usual


def test_frequent_words_are_drawn_first():
    draws = [shuffle(["rare", "usual"], [1, 3], Random(seed))[0] for seed in range(400)]
    assert 260 <= draws.count("usual") <= 340, "300 expected, four standard deviations are 35"


@pytest.mark.parametrize(
    ("first", "second", "are_exclusive"),
    [
        ("red", "blue", True),
        ("large", "small", True),
        ("large", "red", False),
        ("sitting", "standing", False),
        ("red", "crimson", True),
    ],
)
def test_values_of_one_kind(first: str, second: str, are_exclusive: bool):
    assert are_values(first, second) is are_exclusive


def test_a_scene_graph_proves_the_absence_of_the_nouns_that_it_lists(parser):
    graph = SceneGraph(
        (SceneObject("1", "car", ("red",), BOX), SceneObject("2", "street", (), BOX))
    )
    captions = ["a red car on a street"]
    corpus = [*STREET, "a red bus on a street", "a bus in a garage"]
    assert list_texts(parser, captions, "atom", corpus, graph)["a red bus on a street"] is True
    for listed, is_proven in (("bus", True), ("truck", False)):
        of_coco = list_texts(parser, captions, "atom", corpus, graph, annotated=frozenset({listed}))
        assert of_coco["a red bus on a street"] is is_proven
    with_bus = SceneGraph(
        (*graph.objects, SceneObject("3", "bus", (), BOX)), (Relation("3", "on", "2"),)
    )
    assert "a red bus on a street" not in list_texts(parser, captions, "atom", corpus, with_bus)


def test_swaps_have_the_words_of_the_caption_contradict_it_and_are_usual(parser):
    corpus = ["a white dog", "a black couch"]
    swaps = list_texts(parser, ["A black dog on a white couch."], "swap", corpus)
    assert [*swaps] == ["A white dog on a black couch."], "no couch is on a dog"
    assert not list_texts(parser, ["a dog next to a couch"], "swap", []), "next to is symmetric"


@pytest.mark.parametrize(
    ("caption", "swap"),
    [
        ("more bananas than apples on a table", "more apples than bananas on a table"),
        ("two dogs and three cats", "three dogs and two cats"),
        (
            "a kitchen with white cabinets, a silver refrigerator",
            "a kitchen with silver cabinets, a white refrigerator",
        ),
    ],
)
def test_comparisons_numbers_and_lists_are_swapped(parser, caption: str, swap: str):
    corpus = [
        "silver cabinets",
        "a white refrigerator",
        "apples, bananas",
        "apples on a table",
        "bananas on a table",
    ]
    assert swap in list_texts(parser, [caption], "swap", corpus)


@pytest.mark.parametrize(
    ("caption", "swap"),
    [
        (
            "a man in a red shirt and a woman in a blue dress",
            "a man in a blue shirt and a woman in a red dress",
        ),
        (
            "a boy in a red shirt and a girl in a blue shirt",
            "a boy in a blue shirt and a girl in a red shirt",
        ),
        ("the dog is chasing the cat", "the cat is chasing the dog"),
        ("the old truck is smaller than the new van", "the old van is smaller than the new truck"),
    ],
)
def test_values_and_roles_are_swapped(parser, caption: str, swap: str):
    corpus = ["a blue shirt", "a red dress", "a green shirt", "a cat chasing a dog", "a blue car"]
    corpus += ["a red car", "a van is smaller than a truck", "a dog is chasing a ball"]
    assert swap in list_texts(parser, [caption], "swap", corpus)


@pytest.mark.parametrize(
    ("caption", "reason"),
    [
        ("a wallet, a phone and a book in front of a laptop", "a list has no order"),
        ("a four way stop sign and two street signs", "four way is a part of a name"),
        ("a black and white dog next to a brown cat", "the dog has two colours"),
        ("a boy in a red shirt in front of a blue shirt", "no one has the other shirt"),
        ("a red cup and an orange ball", "the articles would not fit"),
    ],
)
def test_swaps_that_say_the_same_or_nothing_definite_are_left_out(parser, caption: str, reason):
    corpus = [
        "a phone, a wallet and a laptop in front of a book",
        "a red shirt, a blue shirt, an orange cup, a red ball",
        "a brown and white dog, a black cat",
    ]
    assert not list_texts(parser, [caption], "swap", corpus), reason


def test_a_compound_is_replaced_in_place(parser):
    corpus = [
        "a blue bus on a street",
        "a bus in a garage",
        "a car in a garage",
        "a bus on a bridge",
    ]
    comps = list_texts(parser, ["a red car on a street"], "comp", corpus)
    assert comps["a blue bus on a street"] is False, "the caption does not exclude a bus"
    assert all(len(text.split()) == 6 for text in comps)


@pytest.mark.parametrize(
    ("caption", "absent"),
    [
        ("a cup of tea on a table", ["something of", "cup not of"]),
        ("a man and a woman on a bench", ["someone and"]),
        ("a red and white bus on a road", ["and white bus on a road. the bus is not red"]),
        ("a woman's hand on a table", ["someone's", "not 's"]),
        ("a man with a blue hat on", ["hat not on"]),
        ("a cat in a very large kitchen", ["a very kitchen"]),
        ("a pair of red scissors on a table", ["the scissors is", "no pair"]),
        ("a pizza with cheese and spinach", ["without cheese and", "without a cheese and"]),
        ("a plane in blue sky above a car", ["in sky"]),
        ("a man who is wearing a red hat", ["true that a man who"]),
        ("a red/yellow train", ["red/train", "/train"]),
        ("a silver motorcycle with black handle bars", ["the handle is"]),
    ],
)
def test_negations_are_english(parser, caption: str, absent: list[str]):
    corpus = ["a small kitchen", "blue scissors", "a green bus", "a red hat", "a cup under a table"]
    image, maker = make_image(parser, [caption]), make_maker([caption], corpus)
    (made,) = maker.make(image, "crop", Counter())
    texts = [made.truths.get("negation", "")]
    texts += [negative.caption for negative, _ in made.negatives.get("negation", ())]
    assert not [text for text in texts for part in absent if part in text]


def test_true_and_false_captions_are_negated_equally_often(parser):
    """In a half of the rows the denial of something false is true, so the number of words says nothing."""
    colours = ("red", "blue", "green", "black", "white", "yellow")
    captions = [f"a {colour} car on a street {number}" for colour in colours for number in range(8)]
    corpus = [f"a {colour} car" for colour in colours]
    maker, rows = make_maker([], corpus), list[tuple[str, str]]()
    for number, caption in enumerate(captions):
        image = replace(make_image(parser, [caption]), image_id=str(number))
        (made,) = maker.make(image, "crop", Counter())
        ((negative, is_proven),) = made.negatives["negation"]
        assert is_proven
        truth = made.truths["negation"]
        assert ("not" in truth.split()) != ("not" in negative.caption.split())
        colour = caption.split()[1]
        assert (colour in truth) == ("not" not in truth.split()), (
            "the caption's colour is never denied in truth"
        )
        rows.append((truth, negative.caption))
    longer = sum(len(truth) > len(negative) for truth, negative in rows)
    assert 14 <= longer <= 34, "24 of 48 expected, three standard deviations are 10"


def test_rejected_negatives_are_replaced(parser):
    captions, corpus = ["a red car on a street"], STREET
    image = make_image(parser, captions)

    def choose(rejected: frozenset[str]) -> str:
        maker = make_maker(captions, corpus, rejected=rejected)
        (made,) = maker.make(image, "crop", Counter())
        ((negative, _),) = made.negatives["atom"]
        return negative.caption

    first = choose(frozenset())
    assert choose(frozenset({first})) != first


@pytest.mark.parametrize(
    ("caption", "is_true"),
    [
        ("A man riding a wave on a surfboard.", True),
        ("Nike Air Zoom Pegasus", True),
        ("Ein Hund liegt auf dem Sofa neben einem Kissen", False),
        ("Un chien couché sur le canapé du salon", False),
        ("Een hond ligt op de bank met een kussen", False),
        ("Un perro duerme en el sofá de la sala", False),
        ("沙发上的一只狗", False),
    ],
)
def test_captions_of_other_languages_are_not_edited(parser, caption: str, is_true: bool):
    assert is_english(caption) is is_true
    counts = Counter[str]()
    list(make_maker([caption], []).make(make_image(parser, [caption]), "crop", counts))
    assert (counts["captions that are not English"] == 1) is not is_true


def test_words_keep_the_capitals_of_the_caption(parser):
    form, body = split_form("Green Balloon Back Chairs", begins_with_name=False)
    assert form.write("blue balloon back chairs", body) == "Blue Balloon Back Chairs"
    form, body = split_form("A man in New York.", begins_with_name=False)
    assert form.write("a woman in new york", body) == "A woman in New York."


@pytest.mark.parametrize(
    "caption", ["how amazing is this table ?", "I love my dog", "50% off @ shop", "###"]
)
def test_texts_that_describe_nothing_have_no_negatives(parser, caption: str):
    image = make_image(parser, [caption])
    assert not list(make_maker([caption], []).make(image, "crop", Counter()))


def test_possessives_of_the_owner_are_descriptions(parser):
    image = make_image(parser, ["My dog on a red couch."])
    assert list(make_maker(["My dog on a red couch."], []).make(image, "crop", Counter()))


def test_captions_are_merged_by_name_and_number(parser):
    captions = ["a black dog and a white dog", "a dog on a couch", "two dogs"]
    facts = merge_captions(list(parser.parse(captions)))
    dogs = [(entity.id, entity.attributes) for entity in facts.entities if "dog" in entity.names]
    assert dogs[:2] == [("0", ("black", "2")), ("0+", ())], (
        "captions disagree about the number, so another is unknown"
    )
    assert ("1", ("white",)) in dogs


def test_nouns_that_images_show_together_are_companions():
    companions = Companions.of(
        [["sink", "mirror"]] * 20 + [["sink"]] * 20 + [["kite", "mirror"]] * 3
    )
    assert companions.share("mirror", ["sink"]) == 0.5
    assert companions.share("mirror", ["kite"]) == 0.0, "three images say nothing"
    assert companions.share("lion", ["sink"]) == 0.0


def test_words_that_may_be_true_or_say_nothing_are_no_foils(parser: CaptionParser):
    caption = "A red lamp over a table with a dog in the background."
    corpus = ["a lamp under a table", "a lamp next to a table", "a dog under the background"]
    texts = list_texts(parser, [caption], "atom", corpus)
    assert any("under a table" in text for text in texts)
    assert all("next to a table" not in text for text in texts)
    assert all(text.endswith("in the background.") for text in texts)


def test_only_nouns_that_say_enough_are_foils():
    assert is_foil_noun("horse")
    assert not any(map(is_foil_noun, ("blue", "food", "product", "table", "background")))
