"""Words in the form for their place in a caption: number, verb form, degree, article, capitals.

lemminflect (verbs, degrees) and inflect (plurals, articles) do the work.
"""

from __future__ import annotations

import re
from functools import cache

import inflect
import lemminflect

from generators.language.lexicon import nouns
from generators.language.wordnet import base_form

PLURAL_TAGS = frozenset({"NNS", "NNPS"})
DEGREE_TAGS = frozenset({"JJR", "JJS"})
ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
COUNTING = re.compile(r"\b(?:an?|another|one|each|every)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)


@cache
def _engine() -> inflect.engine:
    return inflect.engine()


@cache
def _inflected(lemma: str, tag: str) -> str | None:
    return next(iter(lemminflect.getInflection(lemma, tag=tag)), None)


@cache
def noun_lemma(name: str) -> str:
    """The name with its last word in the singular if it has one ("traffic lights": "traffic light", "pants")."""
    *before, head = name.lower().split() or [""]
    if nouns.is_plural_only(head):
        return " ".join([*before, head])
    singular = base_form(head, "n") or head
    if singular == head and head.endswith("s"):  # WordNet lists some plurals as words: "lights" are lungs
        singular = next(iter(lemminflect.getLemma(head, upos="NOUN")), head)
    return " ".join([*before, singular])


def noun(lemma: str, tag: str, *, counted: bool) -> str | None:
    """The noun in the number of a slot; None if it does not fit ("water" after "a": ``counted``)."""
    plural, head = tag in PLURAL_TAGS, lemma.rsplit(" ", 1)[-1]
    if nouns.is_plural_only(head):
        return lemma if plural else None
    if nouns.is_mass(head):
        return None if plural or counted else lemma
    return pluralise(lemma) if plural else lemma


@cache
def pluralise(lemma: str) -> str:
    """The plural of a noun, of the last word of a longer name."""
    *before, head = lemma.split(" ")
    return " ".join([*before, str(_engine().plural_noun(head))])  # type: ignore[arg-type]


def adjective(lemma: str, tag: str) -> str | None:
    """The adjective in the degree of its tag; None if it has none."""
    return _inflected(lemma, tag) if tag in DEGREE_TAGS else lemma


def verb(lemma: str, tag: str) -> str:
    """The verb phrase with its first word in the form of the tag; a participle if the tag is not of a verb."""
    first, *rest = lemma.split(" ")
    form = _inflected(first, tag if tag.startswith("VB") else "VBG") or first
    return " ".join([form, *rest])


def capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]


@cache
def article(word: str) -> str:
    """ "a" or "an", by the sound of the word."""
    return str(_engine().a(word)).split(" ", 1)[0]


def fit_article(before: str, word: str) -> str:
    """The text before a word, with "a" or "an" at its end adjusted to the word."""
    match = ARTICLE.search(before)
    if match is None:
        return before
    fitting = article(word.lower())
    return before[: match.start(1)] + (capitalised(fitting) if match[1][0].isupper() else fitting) + match[2]


def is_counted(before: str) -> bool:
    """Whether the text before a noun ends with "a" or another word that only countable nouns follow."""
    return COUNTING.search(before) is not None
