"""What the microworld can show: its nouns, colours, patterns, sizes and relations, under their canonical names.

Every noun is in WordNet. Its drawing is in drawings/, its synonyms are in captions/wording.py. The clusters
matter: a hard negative replaces a word by another that shares its grand-hypernym, so each word needs company.
"""

NOUNS: dict[str, tuple[str, ...]] = {
    "vessel": ("cup", "bottle", "vase", "bucket", "bowl"),
    "container": ("box", "basket"),
    "fruit": ("apple", "pear", "banana", "lemon"),
    "vehicle": ("car", "bus", "truck", "boat"),
    "furniture": ("table", "chair", "bench"),
    "building": ("house", "tent", "tower"),
    "plant": ("tree", "flower", "mushroom", "cactus"),
    "clothing": ("hat", "shirt", "boot"),
    "animal": ("cat", "bird", "fish"),
    "device": ("clock", "lamp", "bell", "key", "umbrella"),
    "plaything": ("ball", "kite", "drum", "balloon"),
}
"""40 nouns by cluster."""
ALL_NOUNS = tuple(noun for cluster in NOUNS.values() for noun in cluster)

COLORS: dict[str, str] = {
    "red": "#d7263d",
    "orange": "#f58a1f",
    "yellow": "#f7d038",
    "green": "#2e9e4f",
    "blue": "#2767c9",
    "purple": "#7d3cb5",
    "white": "#f6f4ee",
    "black": "#26262b",
}

PATTERNS = ("plain", "striped", "spotted", "checkered")
"""``plain`` is the default look; captions seldom say it."""

SIZES = ("small", "medium", "large")
"""``medium`` is never said."""

RELATIONS: dict[str, str] = {
    "on": "rests on the upper side of, touching; every `on` is also `above`",
    "above": "wholly higher than, with horizontal overlap, whether touching or not",
    "below": "converse of above ('under' and 'beneath' are its synonyms)",
    "left of": "wholly to the left of; the horizontal ranges do not overlap",
    "right of": "converse of left of",
    "in front of": "nearer to the viewer and covering a part of",
    "behind": "converse of in front of",
    "in": "inside a container, whose front covers a part of it",
    "containing": "converse of in",
    "supporting": "converse of on",
    "next to": "beside, at about the same height, with a gap smaller than the smaller width; symmetric",
    "wearing": "an animal that wears a hat (or a boot) on its head (or foot)",
    "worn by": "converse of wearing",
}
