"""Word lists of the caption parser. lexicon.yaml explains each list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

LEXICON: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("lexicon.yaml").read_text("utf-8"))


def read_words(name: str) -> frozenset[str]:
    """Return the words of a list in lexicon.yaml."""
    return frozenset(LEXICON[name].split())


COLORS = read_words("colors")
ATTRIBUTE_NOUNS = COLORS | read_words("materials") | read_words("kinds")
SHADES = read_words("shades")
POSITIONS = read_words("positions")
QUANTIFIERS = read_words("quantifiers")
HOMOGRAPHS = read_words("homographs")
GERUND_NAMES = read_words("gerund_names")
NAMES = frozenset(LEXICON["names"])
IMAGE_NOUNS = read_words("image_nouns")
MEASURES = read_words("measures")
CONTAINERS = read_words("containers")
SURFACES = read_words("surfaces")
ANIMATE_NOUNS = read_words("animate_nouns")
CLOTHES = read_words("clothes")
MEANINGLESS_VERBS = read_words("meaningless_verbs")
LOCATIVE_VERBS = read_words("locative_verbs")
REVERSED_VERBS = {verb: frozenset(text.split()) for verb, text in LEXICON["reversed_verbs"].items()}
LIGHT_VERBS = read_words("light_verbs")
SPATIAL_PREPOSITIONS = read_words("spatial_prepositions")
SPATIAL_ADVERBS = read_words("spatial_adverbs")
LOCATION_ATTRIBUTES = read_words("location_attributes")
NEGATIONS = read_words("negations")
THIRD_PERSON = read_words("third_person")
POSSESSIVES = read_words("possessives")
RELATIVE_PRONOUNS = read_words("relative_pronouns")
NON_OBJECTS = read_words("non_objects")
PART_NOUNS = read_words("part_nouns")
ING_NOUNS = read_words("ing_nouns")
COVERING_VERBS = read_words("covering_verbs")
BODY_PARTS = read_words("body_parts")
SAME_IN_PLURAL = read_words("same_in_plural")
BOILERPLATE = read_words("boilerplate")
AREA_NOUNS = read_words("area_nouns")
ARRANGEMENTS = read_words("arrangements")
GOVERNING_ADJECTIVES = read_words("governing_adjectives")
