"""Inflection of nouns, adjectives and verbs for their position in a caption, and the choice of articles.

lemminflect inflects verbs and adjectives; inflect forms plurals and chooses articles.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

import inflect

from compeval.generators.language import CACHED_WORDS
from compeval.generators.language.lexicon import nouns
from compeval.generators.language.optional_imports import without
from compeval.generators.language.wordnet import lemmatise

with without("spacy"):
    import lemminflect

PLURAL_TAGS = frozenset({"NNS", "NNPS"})
DEGREE_TAGS = frozenset({"JJR", "JJS"})
ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
COUNTING = re.compile(r"\b(?:an?|another|one|each|every)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)


@cache
def _engine() -> inflect.engine:
    return inflect.engine()


@lru_cache(CACHED_WORDS)
def _inflect(lemma: str, tag: str) -> str | None:
    return next(iter(lemminflect.getInflection(lemma, tag=tag)), None) if lemma else None


@lru_cache(CACHED_WORDS)
def lemmatise_noun(name: str) -> str:
    """Return a name in lower case with its last word in the singular ("traffic lights": "traffic light")."""
    *modifiers, head = name.lower().split() or [""]
    if nouns.is_plural_only(head):
        return " ".join([*modifiers, head])
    singular = lemmatise(head, "n") or head
    # WordNet has entries for some plurals: "lights" are lungs.
    if singular == head and head.endswith("s"):
        singular = next(iter(lemminflect.getLemma(head, upos="NOUN")), head) or head
    return " ".join([*modifiers, singular])


def inflect_noun(lemma: str, tag: str, *, counted: bool) -> str | None:
    """Return the noun in the number of a Penn tag, or None if the noun does not fit.

    ``counted`` says that "a" or a number precedes the noun, so a mass noun such as "water" does not fit.
    """
    is_plural = tag in PLURAL_TAGS
    head = lemma.rsplit(" ", 1)[-1]
    if nouns.is_plural_only(head):
        return lemma if is_plural else None
    if nouns.is_mass(head):
        return None if is_plural or counted else lemma
    return pluralise(lemma) if is_plural else lemma


@lru_cache(CACHED_WORDS)
def pluralise(lemma: str) -> str:
    """Return the noun with its last word in the plural. A noun that is in the plural stays as it is ("trees")."""
    *modifiers, head = lemma.split(" ")
    # WordNet has "men", too.
    is_irregular = re.fullmatch("[a-z]+[^s]", head) and _engine().singular_noun(head)
    if is_irregular or lemmatise_noun(head) != head.lower():
        return lemma
    return " ".join([*modifiers, str(_engine().plural_noun(head))])  # type: ignore[arg-type]


def inflect_adjective(lemma: str, tag: str) -> str | None:
    """Return the adjective in the degree of a Penn tag, or None if the adjective has no such form."""
    return _inflect(lemma, tag) if tag in DEGREE_TAGS else lemma


def inflect_verb(lemma: str, tag: str) -> str:
    """Return the verb phrase with its first word in the form of a Penn tag; other tags select the -ing form."""
    first, *rest = lemma.split(" ")
    form = _inflect(first, tag if tag.startswith("VB") else "VBG") or first
    return " ".join([form, *rest])


def capitalise(word: str) -> str:
    return word[:1].upper() + word[1:]


@lru_cache(CACHED_WORDS)
def choose_article(word: str) -> str:
    """Return "a" or "an", whichever fits the sound of the word."""
    return str(_engine().a(word)).split(" ", 1)[0]


def fit_article(before: str, word: str) -> str:
    """Return the text before a word, with a final "a" or "an" changed to fit the word."""
    match = ARTICLE.search(before)
    if match is None:
        return before
    article = choose_article(word.lower())
    return (
        before[: match.start(1)]
        + (capitalise(article) if match[1][0].isupper() else article)
        + match[2]
    )


def is_counted(before: str) -> bool:
    """Return True if the text before a noun ends with "a" or another word that only countable nouns follow."""
    return COUNTING.search(before) is not None
