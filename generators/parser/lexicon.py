"""Word lists of the caption parser; lexicon.yaml says what each one decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

LEXICON: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("lexicon.yaml").read_text("utf-8"))


def words(name: str) -> frozenset[str]:
    """The words of a list of lexicon.yaml."""
    return frozenset(LEXICON[name].split())


COLORS = words("colors")
ATTRIBUTE_NOUNS = COLORS | words("materials") | words("kinds")
SHADES = words("shades")
POSITIONS = words("positions")
QUANTIFIERS = words("quantifiers")
GERUND_NAMES = words("gerund_names")
NAMES = frozenset(LEXICON["names"])
PICTURES = words("pictures")
MEASURES = words("measures")
CONTAINERS = words("containers")
SURFACES = words("surfaces")
PERSONAL = words("personal")
CLOTHES = words("clothes")
EMPTY_VERBS = words("empty_verbs")
LOCATIVE_VERBS = words("locative_verbs")
REVERSED_VERBS = {verb: frozenset(text.split()) for verb, text in LEXICON["reversed_verbs"].items()}
LIGHT_VERBS = words("light_verbs")
PLACE_PREPOSITIONS = words("place_prepositions")
PLACE_ADVERBS = words("place_adverbs")
OUTDOORS = words("outdoors")
NEGATIONS = words("negations")
THIRD_PERSON = words("third_person")
POSSESSIVES = words("possessives")
RELATIVE_PRONOUNS = words("relative_pronouns")
NON_OBJECTS = words("non_objects")
PLACES = words("places")
ING_NOUNS = words("ing_nouns")
COVERING_VERBS = words("covering_verbs")
BODY_PARTS = words("body_parts")
PLURAL_ALIKE = words("plural_alike")
BOILERPLATE = words("boilerplate")
EXTENTS = words("extents")
ARRANGEMENTS = words("arrangements")
GOVERNING_ADJECTIVES = words("governing_adjectives")
