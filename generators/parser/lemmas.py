"""Lemmas of single words.

Each lemma depends only on the word, so that word_forms.py can list all possible lemmas. lemminflect computes the
lemmas, with three exceptions for captions: nouns without a singular are unchanged, the singular of "leaves" is "leaf",
and "lie" and "lay" are one verb, written "lay on" in FACTUAL's human graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from compeval.generators.language.optional_imports import without
from compeval.generators.parser.lexicon import LEXICON, WORDS

NUMBERS: dict[str, str] = LEXICON["numbers"]
SPELLINGS: dict[str, str] = LEXICON["spellings"]
_CACHE_SIZE = 1 << 16


@cache
def _lemminflect() -> Any:
    """Import lemminflect on first use, which takes half a second."""
    with without("spacy"):
        import lemminflect

    return lemminflect


@lru_cache(_CACHE_SIZE)
def look_up(word: str) -> dict[str, tuple[str, ...]]:
    """Return part of speech -> lemmas of a word in lemminflect's dictionary."""
    return _lemminflect().getAllLemmas(word)


def _find_lemma(word: str, part_of_speech: str, guess: bool) -> str:
    """Return lemminflect's lemma of a word, or the word itself if there is none.

    With ``guess``, rules derive the lemma of an unknown word from its letters, or from those of its last part if it has
    hyphens. Codes and addresses have no lemma. The rules shorten some words to nothing ("cbg", "xt").
    """
    if lemmas := look_up(word).get(part_of_speech):
        return lemmas[0]
    start, hyphen, last = word.rpartition("-") if guess else ("", "", word)
    if hyphen:
        return start + hyphen + _LEMMATISERS[part_of_speech](last) if last else word
    guesses = (
        _lemminflect().getAllLemmasOOV(word, part_of_speech) if guess and word.isalpha() else {}
    )
    return "".join(guesses.get(part_of_speech, ())) or word


@lru_cache(_CACHE_SIZE)
def singular(word: str, plural: bool = True) -> str:
    """Return the singular of a lower-case noun. The -s of an unknown word is removed only if ``plural`` is true."""
    if word in WORDS["no_singular"]:
        return word
    plural = plural and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return LEXICON["noun_lemmas"].get(word) or _find_lemma(word, "NOUN", plural)


@lru_cache(_CACHE_SIZE)
def infinitive(word: str) -> str:
    """Return the infinitive of a lower-case verb form."""
    if word in WORDS["lay_forms"]:
        return "lay"
    return LEXICON["verb_lemmas"].get(word) or _find_lemma(word, "VERB", guess=True)


_LEMMATISERS: dict[str, Callable[[str], str]] = {"NOUN": singular, "VERB": infinitive}


@lru_cache(_CACHE_SIZE)
def participle(word: str) -> str:
    """Return the -ing form of a lower-case verb form, which is the attribute for a finite verb ("the man sits")."""
    inflections = _lemminflect().getInflection(infinitive(word), "VBG")
    return inflections[0] if inflections else word


def normalise_attribute(word: str) -> str:
    """Return the text of an attribute: number words become digits, "wood" becomes "wooden"."""
    return "wooden" if word == "wood" else NUMBERS.get(word, word)


def is_verb(word: str) -> bool:
    """Return True if the dictionary lists the word as a verb form."""
    return "VERB" in look_up(word)


def is_noun(word: str) -> bool:
    """Return True if the dictionary lists the word as a noun, and as nothing else except a verb."""
    parts_of_speech = set(look_up(word))
    return "NOUN" in parts_of_speech and parts_of_speech <= {"NOUN", "PROPN", "VERB"}


def is_adjective(word: str) -> bool:
    """Return True if the word can only be an adjective."""
    return set(look_up(word)) == {"ADJ"} or word.endswith(("less", "ish"))


def load_tables() -> None:
    """Load lemminflect's tables now, which takes about a second, instead of on first use."""
    singular("men")
    participle("sits")
    is_adjective("red")
