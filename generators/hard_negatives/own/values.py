"""Which attributes are values of one kind, so that one thing cannot have both: colours, and kinds of attributes.yaml.

WordNet's antonyms are too uncertain for captions of all kinds ("seamless" and "textured").
"""

from functools import lru_cache

from compeval.generators.language import CACHED_PAIRS
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.lexicon.attributes import is_color

POSTURES = "posture"
"""The kind of attributes that are no foils: many objects sit, stand and lie at the same time."""
FILLINGS = "filling"
"""The kind of attributes that are no foils before "of": "an empty plate of dessert"."""


@lru_cache(CACHED_PAIRS)
def are_values(first: str, second: str) -> bool:
    """Return True if two attributes are colours, or values of one kind in attributes.yaml."""
    kinds = load_lexicon("attributes")["exclusive"]
    is_one_kind = any(
        is_value(kind, first) and is_value(kind, second) for kind in kinds if kind != POSTURES
    )
    return is_one_kind or (is_color(first) and is_color(second))


def is_value(kind: str, attribute: str) -> bool:
    """Return True if an attribute is a value of a kind in attributes.yaml."""
    return any(attribute in words for words in load_lexicon("attributes")["exclusive"][kind])
