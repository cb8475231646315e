"""The words of the training text of recovery probes beside CompPrompts' own.

Our own choice, in the manner of the alt-texts of Conceptual Captions: everyday things, and where pictures are taken.
Words that stand several times are as much more frequent.
"""

FRAMES = (
    "a photo of", "a picture of", "a portrait of", "a drawing of", "a painting of", "an illustration of", "a sketch of",
    "a close up of", "a view of", "a silhouette of", "a statue of", "a cartoon of", "a poster with",
)  # fmt: skip
"""How a caption may begin."""

SINGULAR = ("a", "a", "a", "a", "a", "a", "the", "the", "another", "this")
PLURAL = ("two", "three", "four", "five", "two", "three", "four", "five", "some", "many", "several", "the", "six")
"""What stands before a noun, in either number."""

SIDES = (
    "on the left", "on the right", "on the left", "on the right", "in the middle", "in the background",
    "in the foreground",
)  # fmt: skip

PLACES = (
    "to the left of", "to the right of", "above", "under", "in front of", "behind", "to the left of",
    "to the right of", "above", "under", "in front of", "behind", "next to", "near", "beside", "on top of", "with",
)  # fmt: skip

TIMES = ("before", "after", "before", "after", "while")

SCENES = (
    "at sunset", "at night", "at the beach", "at the market", "by the river", "in a city", "in a forest", "in a garden",
    "in a kitchen", "in a park", "in a studio", "in a village", "in autumn", "in black and white", "in spring",
    "in summer", "in the desert", "in the field", "in the mountains", "in the rain", "in the snow", "in the street",
    "in the water", "in the wild", "in winter", "on a farm", "on a hill", "on a road", "on a roof", "on a sunny day",
    "on a white background", "on an island", "on the grass", "on the ice", "on the sand", "on stage", "over the sea",
    "under a blue sky", "during a festival", "during the storm",
)  # fmt: skip

THINGS = (
    "apple", "bag", "ball", "balloon", "banana", "basket", "bell", "bench", "bicycle", "bird", "blanket", "boat",
    "book", "boot", "bottle", "bowl", "box", "bridge", "bucket", "bus", "cactus", "cake", "candle", "car", "chair",
    "clock", "coat", "cup", "door", "drum", "fence", "fish", "flag", "flower", "fountain", "guitar", "hammer", "hat",
    "helicopter", "house", "jacket", "key", "kite", "ladder", "lamp", "lantern", "leaf", "lemon", "map", "mask",
    "mirror", "motorcycle", "mushroom", "painting", "pear", "phone", "piano", "pillow", "pizza", "plane", "plate",
    "pumpkin", "ring", "robot", "rope", "shirt", "shoe", "sofa", "spoon", "stone", "suitcase", "table", "tent",
    "tower", "toy", "train", "tree", "truck", "umbrella", "vase", "wall", "window",
)  # fmt: skip

ADJECTIVES = (
    "yellow", "white", "black", "brown", "big", "new", "vintage", "modern", "wooden", "broken", "closed", "open",
    "plain", "bright", "dark", "lovely", "famous", "empty", "colorful", "traditional",
)  # fmt: skip

INTRANSITIVE = ("open", "work", "travel", "play", "wave", "rest", "turn", "talk")
TRANSITIVE = ("use", "wear", "buy", "make", "show", "find", "clean", "touch")
