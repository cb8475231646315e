"""The oracle's vocabulary, loaded from vocabulary.yaml: nouns, attributes, verbs, and phrases with their meaning."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml

Values = frozenset[str]
"""Ids of the micro-world (kinds of object, colours, relations ...). A word is true if any of its ids applies. A word
without ids is undrawable: it is never true."""
Meaning = TypeVar("Meaning")
Phrases = dict[str, list[tuple[tuple[str, ...], Meaning]]]
"""First word -> (phrase, meaning) pairs, the longest phrase first."""


class Noun(NamedTuple):
    """A noun and the kinds of object that it can stand for. An undrawable noun has no kinds."""

    lemma: str
    kinds: Values
    plural: bool


class Attribute(NamedTuple):
    """An adjective: the object's ``slot`` (color, pattern, size or state) has one of ``values``."""

    word: str
    slot: str
    values: Values


class Verb(NamedTuple):
    """The relations that a verb expresses in the active and in the passive voice."""

    active: Values
    passive: Values

    @property
    def implicit(self) -> bool:
        """True if the object phrase can specify the relation: "carrying a lamp on top"."""
        return len(self.active) > 1


_DATA = yaml.safe_load(Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"))


def _values(text: str) -> Values:
    return frozenset(part.strip() for part in text.split("|"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA["words"][name].split())


def _phrases(groups: Iterable[tuple[str, Meaning]]) -> Phrases[Meaning]:
    """Index phrases by their first word. ``groups``: pairs of "phrase | phrase | ..." and the phrases' meaning."""
    split = [
        (tuple(phrase.split()), meaning) for group, meaning in groups for phrase in group.split("|")
    ]
    table: Phrases[Meaning] = {}
    for phrase, meaning in sorted(split, key=lambda item: -len(item[0])):
        table.setdefault(phrase[0], []).append((phrase, meaning))
    return table


def _relations(name: str) -> Phrases[Values]:
    return _phrases((group, _values(relations)) for relations, group in _DATA[name].items())


def _plurals(word: str) -> list[str]:
    if word in _DATA["plurals"]:
        return _DATA["plurals"][word].split()
    if word.endswith(("s", "x", "ch", "sh")):
        return [word + "es"]
    return [word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeo" else word + "s"]


def _nouns() -> dict[str, Noun]:
    groups = [(words, kind) for kind, words in _DATA["nouns"].items()]
    groups += [*_DATA["hypernyms"].items(), ("thing object item", " ".join(_DATA["nouns"]))]
    nouns = {}
    for words, kinds in groups:
        for word in words.split():
            nouns |= {
                form: Noun(word, frozenset(kinds.split()), plural=True) for form in _plurals(word)
            }
            nouns[word] = Noun(word, frozenset(kinds.split()), plural=False)
    return nouns


NOUNS = _nouns()
THING = NOUNS["thing"]
"""The noun of "something" and "nothing"."""
ATTRIBUTES = {
    word: Attribute(word, slot, frozenset(values.split()))
    for slot, groups in _DATA["attributes"].items()
    for values, words in groups.items()
    for word in words.split()
}
PATTERN_NOUNS = {noun: ATTRIBUTES[adjective] for noun, adjective in _DATA["pattern_nouns"].items()}
ORDINALS = {word: index for index, word in enumerate(_DATA["ordinals"].split())}
NUMBERS = {word: number for number, word in enumerate(_DATA["numbers"].split(), 1)}
NUMBERS |= {str(number): number for number in NUMBERS.values()}
PRONOUNS: dict[str, int] = _DATA["pronouns"]
HYPHENATED = {tuple(word.split("-")): word for word in _DATA["hyphenated"].split()}

_VERBS = [
    (forms.split(), Verb(*map(_values, relations))) for forms, relations in _DATA["verbs"].items()
]
BASE_VERBS, THIRD_VERBS, PRESENT_VERBS, PAST_VERBS = (
    {forms[index]: verb for forms, verb in _VERBS} for index in range(4)
)

PREPOSITIONS = _relations("prepositions")
ADVERBS = _relations("adverbs")
PARTICIPLES = _relations("participles")
FINITE_PHRASES = _relations("finite_phrases")
WORN, HAS, WITH = (_values(_DATA["possession"][name]) for name in ("worn", "has", "with"))
NEVER: Values = frozenset()
"""The meaning of a relation that the micro-world cannot draw: no pair of objects has it."""
SIDES = _phrases((group, side) for side, group in _DATA["sides"].items())
AMOUNTS = _phrases([(_DATA["amounts"], 2)])
JOINTS = {name: _phrases([(group, None)]) for name, group in _DATA["joints"].items()}
DENIALS = _phrases([(_DATA["denials"], None)])

SECOND_ROLE_NOUNS = _words("second_role_nouns")
IMAGE_WORDS = _words("image_words")
UNDRAWABLE_PREPOSITIONS = _words("undrawable_prepositions")
POSTURES_PARTICIPLE = _words("postures_participle")
POSTURES_THIRD = _words("postures_third")
POSTURES_FINITE = _words("postures") | POSTURES_THIRD
POSTURES = _words("postures")
DEGREES = _words("degrees")
BE = _words("be")
ARTICLES = _words("articles")
INDEFINITE_ARTICLES = _words("indefinite_articles")
DEFINITE = _words("definite")
RELATIVES = _words("relatives")
INDEFINITE_PRONOUNS = _words("indefinite_pronouns")
ANAPHORIC_NOUNS = _words("anaphoric_nouns")

_IN_PHRASES = {
    word
    for table in (PREPOSITIONS, ADVERBS, SIDES, PARTICIPLES, FINITE_PHRASES, AMOUNTS)
    for entries in table.values()
    for phrase, _ in entries
    for word in phrase
}
KNOWN = frozenset().union(
    *map(
        _words,
        (
            "function_words",
            "image_words",
            "undrawable_prepositions",
            "degrees",
            "postures_participle",
        ),
    ),
    *(POSTURES_FINITE, _IN_PHRASES, BASE_VERBS, THIRD_VERBS, PRESENT_VERBS, PAST_VERBS),
    *(ORDINALS, NUMBERS, PATTERN_NOUNS, ATTRIBUTES, NOUNS),
)
"""Every word of the vocabulary. Any other word is undrawable."""
