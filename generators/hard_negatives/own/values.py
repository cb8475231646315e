"""Attributes of one kind, of which an object can have one only: colours, and the kinds of attributes.yaml.

WordNet's antonyms are too uncertain for captions of all kinds ("seamless" and "textured").
"""

from functools import lru_cache

from compeval.generators.language import CACHED_PAIRS
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.lexicon.attributes import is_color
from compeval.generators.language.lexicon.nouns import is_person

POSTURES = "posture"
"""The kind of attributes that are no foils: many objects sit, stand and lie at the same time."""
FILLINGS = "filling"
"""The kind of attributes that are no foils before "of": "an empty plate of dessert"."""

WEATHER = "weather"
"""The kind of "snowy", which is also a colour."""


@lru_cache(CACHED_PAIRS)
def are_values(first: str, second: str) -> bool:
    """Return True if two attributes are colours, or values of one kind in attributes.yaml."""
    kinds = load_lexicon("attributes")["exclusive"]
    is_weather = is_value(WEATHER, first) or is_value(WEATHER, second)  # "a snowy day"
    if is_weather:
        return is_value(WEATHER, first) and is_value(WEATHER, second)
    is_one_kind = any(
        is_value(kind, first) and is_value(kind, second) for kind in kinds if kind != POSTURES
    )
    return is_one_kind or (is_color(first) and is_color(second))


def is_color_of_person(attribute: str, noun: str) -> bool:
    """Return True for "blonde" in "a blonde woman": other colours say something else of a person."""
    return is_color(attribute) and is_person(noun)


def is_value(kind: str, attribute: str) -> bool:
    """Return True if an attribute is a value of a kind in attributes.yaml."""
    return any(attribute in words for words in load_lexicon("attributes")["exclusive"][kind])
