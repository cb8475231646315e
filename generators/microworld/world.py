"""The vocabulary of the micro-world: nouns, colours, patterns, sizes and relations, under their canonical names.

Every noun is in WordNet. A hard negative replaces a noun by a noun with the same grand-hypernym, so every noun belongs
to a cluster of similar nouns. The drawings are in drawings/, and synonyms are in captions/wording.py.
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
"""The 40 nouns by cluster."""
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
"""``plain`` is the default; captions do not name it."""

SIZES = ("small", "medium", "large")
"""Captions do not name ``medium``."""

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
    "next to": "at about the same height, with a gap smaller than the smaller width; symmetric",
    "wearing": "an animal with a hat on its head",
    "worn by": "converse of wearing",
}
"""A short definition of every relation. scenes/spatial_relations.py has the full definitions."""

CONVERSE = {
    "on": "supporting",
    "above": "below",
    "left of": "right of",
    "in front of": "behind",
    "in": "containing",
    "wearing": "worn by",
    "next to": "next to",
}
CONVERSE |= {converse: relation for relation, converse in CONVERSE.items()}
"""The converse of every relation; ``next to`` is its own."""
