"""Lemmas of single words, each a function of the word only, so that word_forms.py can list every possible lemma.

lemminflect does the work. Captions need three exceptions: nouns without a singular keep their form, ``leaves`` are
leaves, and ``lie`` and ``lay`` are one verb, written ``lay on`` in the human graphs of FACTUAL.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from generators.parser.lexicon import LEXICON, words

NUMBERS: dict[str, str] = LEXICON["numbers"]
SPELLINGS: dict[str, str] = LEXICON["spellings"]
_NO_SINGULAR, _LAY_FORMS = words("no_singular"), words("lay_forms")
_CACHE_SIZE = 1 << 16


@cache
def _lemminflect() -> Any:
    """The module, imported on first use: it loads spaCy and PyTorch, which takes seconds."""
    import lemminflect

    return lemminflect


@lru_cache(_CACHE_SIZE)
def noun(word: str, plural: bool = True) -> str:
    """The singular of a lower-case noun; the ending of a word outside the dictionary is removed only if ``plural``."""
    if word in _NO_SINGULAR:
        return word
    plural = plural and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    lemmas = _lemminflect().getLemma(word, "NOUN", lemmatize_oov=plural)
    return LEXICON["noun_lemmas"].get(word) or (lemmas[0] if lemmas else word)


@lru_cache(_CACHE_SIZE)
def verb(word: str) -> str:
    """The infinitive of a lower-case verb form."""
    if word in _LAY_FORMS:
        return "lay"
    lemmas = _lemminflect().getLemma(word, "VERB")
    return LEXICON["verb_lemmas"].get(word) or (lemmas[0] if lemmas else word)


@lru_cache(_CACHE_SIZE)
def participle(word: str) -> str:
    """The -ing form of a lower-case verb form: the attribute that a finite verb gives its subject."""
    inflections = _lemminflect().getInflection(verb(word), "VBG")
    return inflections[0] if inflections else word


def attribute(word: str) -> str:
    """The text of an attribute: number words as digits, ``wood`` as ``wooden``, other words unchanged."""
    return "wooden" if word == "wood" else NUMBERS.get(word, word)


@lru_cache(_CACHE_SIZE)
def is_verb(word: str) -> bool:
    """Whether the dictionary lists the word as a form of a verb."""
    return bool(_lemminflect().getAllLemmas(word, "VERB"))


@lru_cache(_CACHE_SIZE)
def is_noun(word: str) -> bool:
    """Whether the dictionary lists the word as a noun, and otherwise only as a verb."""
    parts_of_speech = set(_lemminflect().getAllLemmas(word))
    return "NOUN" in parts_of_speech and parts_of_speech <= {"NOUN", "PROPN", "VERB"}


@lru_cache(_CACHE_SIZE)
def is_adjective(word: str) -> bool:
    """Whether the word can only be an adjective, whatever its tag."""
    return set(_lemminflect().getAllLemmas(word)) == {"ADJ"} or word.endswith(("less", "ish"))


def load_tables() -> None:
    """Load lemminflect's tables now (about a second) instead of at the first word that needs each."""
    noun("men")
    participle("sits")
    is_adjective("red")
