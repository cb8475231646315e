"""Lemmas of single words, as functions of the word alone, so that a reader of raw text can invert them.

Differs from lemminflect, which does the work, in three points that captions need: nouns that have no singular keep
their form, ``leaves`` are leaves, and ``lie`` and ``lay`` are one verb (people write "laying on a bed", and the human
graphs of FACTUAL say ``lay on`` for both).
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from generators.parser.lexicon import words

NUMBERS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
}
"""Number words; the attribute of "two balls" is ``2``, as FACTUAL writes it."""

SPELLINGS = {
    "cell phone": "cellphone",
    "t shirt": "t-shirt",
    "tshirt": "t-shirt",
    "tee shirt": "t-shirt",
    "wet suit": "wetsuit",
    "skate board": "skateboard",
    "surf board": "surfboard",
    "snow board": "snowboard",
    "sun glasses": "sunglasses",
    "side walk": "sidewalk",
    "cross walk": "crosswalk",
    "bath room": "bathroom",
    "bed room": "bedroom",
    "key board": "keyboard",
    "book shelf": "bookshelf",
    "flower pot": "flowerpot",
    "motor cycle": "motorcycle",
    "back pack": "backpack",
    "fire place": "fireplace",
}
"""Names that people write as two words and as one, or with a hyphen, in the form that FACTUAL's graphs have."""

_NO_SINGULAR = words(
    """pants shorts jeans trousers sunglasses eyeglasses headphones goggles overalls people fries dice data"""
)
_NOUNS = {"leaves": "leaf", "loaves": "loaf", "oxen": "ox"}
_LAY = words("lay lays laid laying lie lies lying lain")
_VERBS = {"found": "find", "saw": "see"}

_CACHED = 1 << 16


@cache
def _lemminflect() -> Any:
    """The module, imported on first use: it loads spaCy and PyTorch, which takes seconds."""
    import lemminflect

    return lemminflect


@lru_cache(_CACHED)
def noun(word: str, plural: bool = True) -> str:
    """The singular of a lower-case noun; a word that no dictionary knows loses its ending only when ``plural``."""
    if word in _NO_SINGULAR:
        return word
    plural = plural and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    found = _lemminflect().getLemma(word, "NOUN", lemmatize_oov=plural)
    return _NOUNS.get(word) or (found[0] if found else word)


@lru_cache(_CACHED)
def verb(word: str) -> str:
    """The infinitive of a lower-case verb form."""
    if word in _LAY:
        return "lay"
    found = _lemminflect().getLemma(word, "VERB")
    return _VERBS.get(word) or (found[0] if found else word)


@lru_cache(_CACHED)
def participle(word: str) -> str:
    """The -ing form of a lower-case verb form: what a finite verb says about its subject ("sits" -> "sitting")."""
    found = _lemminflect().getInflection(verb(word), "VBG")
    return found[0] if found else word


def attribute(word: str) -> str:
    """An attribute word: number words as digits, ``wood`` as ``wooden``, all else as it stands."""
    return "wooden" if word == "wood" else NUMBERS.get(word, word)


def spelling(name: str) -> str:
    """A name in the one spelling that it has here ("cell phone" is ``cellphone``)."""
    return SPELLINGS.get(name, name)


@lru_cache(_CACHED)
def is_verb(word: str) -> bool:
    """Whether a dictionary has the word as a form of a verb."""
    return bool(_lemminflect().getAllLemmas(word, "VERB"))


@lru_cache(_CACHED)
def is_noun(word: str) -> bool:
    """Whether a word is a noun or a verb in the dictionary, and no adverb, adjective or function word."""
    found = set(_lemminflect().getAllLemmas(word))
    return "NOUN" in found and found <= {"NOUN", "PROPN", "VERB"}


@lru_cache(_CACHED)
def is_adjective(word: str) -> bool:
    """Whether a word can only be an adjective, whatever a tagger says."""
    return set(_lemminflect().getAllLemmas(word)) == {"ADJ"} or word.endswith(("less", "ish"))


def load_tables() -> None:
    """Read lemminflect's tables now (a second), not at the first word that needs them."""
    noun("men")
    participle("sits")
    is_adjective("red")


def forms(word: str) -> frozenset[str]:
    """Every word that a lower-case caption word can become in the name of an object or attribute.

    The parser's promise to whoever filters text by words: each word of an object's or attribute's text is among the
    forms of a word of the caption.
    """
    joined = (name for parts, name in SPELLINGS.items() if word in parts.split())
    return frozenset((word, noun(word, plural=False), noun(word), participle(word), attribute(word), *joined))
