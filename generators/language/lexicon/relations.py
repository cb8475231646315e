"""The relation lexicon: synonyms, converses, implications and contrasts of prepositions and spatial verbs.

Written for this project (relations.yaml, with its reasons): CREPE takes relation foils from WordNet, which has no
prepositions. A predicate is a group of synonyms and the verb before it ("sitting on top of": group "on", verb "sit").
Implications and contrasts follow from the situations in which each group holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from generators.language.lexicon import read
from generators.language.wordnet import antonyms, are_related, base_form

ARTICLES = frozenset({"a", "an", "the"})
SIMILAR_PHRASES = 0.3
"""Share of common words from which two phrases are built alike: "left of" and "right of"."""
PASSIVES = frozenset({"worn", "held", "carried", "dressed", "hidden", "covered"})
COPULAS = frozenset({"be", "is", "are", "was", "were", "being", "been"})


class Sense(NamedTuple):
    """The meaning of a predicate.

    ``group`` of synonyms, lemma of the ``verb`` before the preposition ("" if none), and ``at``, the number of words
    before the synonym ("is sitting on top of": 2).
    """

    group: str
    verb: str
    at: int


def _groups() -> Mapping[str, Any]:
    return read("relations")["groups"]


@cache
def _converses() -> Mapping[str, str]:
    pairs = read("relations")["situations"]
    return pairs | {converse: name for name, converse in pairs.items()}


@cache
def _groups_by_words() -> Mapping[tuple[str, ...], str]:
    """Every synonym as words without articles -> its group."""
    return {_words(text): group for group, entry in _groups().items() for text in (group, *entry["words"])}


def _words(predicate: str) -> tuple[str, ...]:
    return tuple(word for word in predicate.lower().split() if word not in ARTICLES)


def verb_lemma(word: str) -> str:
    """The lemma of a verb form ("wearing": "wear"); other words unchanged."""
    return base_form(word, "v") or word


@cache
def sense(predicate: str) -> Sense | None:
    """The meaning of a predicate, inflected or not ("is sitting on", "wear", "worn by"); None if it is not listed.

    Only verbs of place are understood before a preposition ("sitting on", not "looking at").
    """
    words = predicate.lower().split()
    for at in range(len(words)):
        group = _group(_words(" ".join(words[at:])))
        verbs = [verb_lemma(word) for word in words[:at] if word not in COPULAS]
        if group and all(verb in read("relations")["locating"] for verb in verbs):
            return Sense(group, " ".join(verbs), at)
    return None


def _group(words: tuple[str, ...]) -> str | None:
    if not words:
        return None
    return _groups_by_words().get(words) or _groups_by_verbs().get((verb_lemma(words[0]), *words[1:]))


@cache
def _groups_by_verbs() -> Mapping[tuple[str, ...], str]:
    """The synonyms that begin with a participle, as lemmas: ("wear",), ("wear", "by")."""
    participles = {words: group for words, group in _groups_by_words().items() if is_participle(words[0])}
    groups = {(verb_lemma(words[0]), *words[1:]): group for words, group in participles.items()}
    return groups | {("have",): "with", ("lack",): "without"}


def is_participle(word: str) -> bool:
    """Whether the first word of a synonym is a participle, which must fit the form of the verb that it replaces."""
    return word in PASSIVES or (word.endswith("ing") and verb_lemma(word) != word)


@cache
def converse(group: str) -> frozenset[str]:
    """The situations of (subject, object) when the group relates (object, subject)."""
    return frozenset(_converses()[situation] for situation in _groups()[group]["holds"])


@lru_cache(maxsize=1 << 16)
def situations(group: str, subject: str = "", object: str = "", *, reverse: bool = False) -> frozenset[str]:
    """The situations in which the group relates two nouns; with ``reverse``, in which it relates (object, subject)."""
    holds = converse(group) if reverse else frozenset(_groups()[group]["holds"])
    vessels = read("relations")["vessels"]
    for noun, role in ((subject, "as subject"), (object, "as object")):
        if noun and are_related(noun, vessels["hypernym"]):
            holds -= set(vessels[role])
    return holds


def foil_groups(group: str) -> tuple[str, ...]:
    """The groups that read well in its place, the best first."""
    return tuple(_groups()[group]["foils"])


def phrases(group: str, instead_of: str) -> tuple[str, ...]:
    """The synonyms of the group; first those built like the words that they replace ("to the ... of")."""
    old = set(instead_of.lower().split())

    def is_unlike(phrase: str) -> bool:
        new = set(phrase.split())
        return len(old & new) < SIMILAR_PHRASES * len(old | new)

    return tuple(sorted(_groups()[group]["words"], key=is_unlike))


def is_preposition(words: str) -> bool:
    """Whether the words are a listed preposition, not a verb."""
    return _words(words) in _groups_by_words() and not is_participle(words.split()[0])


def posture(verb: str) -> int | None:
    """The number of the posture that a verb names; verbs of different postures exclude each other."""
    return next((at for at, verbs in enumerate(read("relations")["postures"]) if verb in verbs), None)


def other_postures(verb: str) -> tuple[str, ...]:
    """The verbs of the postures that this one excludes, empty for other verbs."""
    known = posture(verb) is not None
    return tuple(verbs[0] for verbs in read("relations")["postures"] if known and verb not in verbs)


@cache
def contrasting_verbs(verb: str) -> tuple[str, ...]:
    """Verbs that cannot be true of the same two things at the same time: listed ones, then WordNet's antonyms."""
    listed = [other for verbs in read("relations")["contrasting verbs"] if verb in verbs for other in verbs]
    return tuple(dict.fromkeys(other for other in (*listed, *antonyms(verb, "v")) if other != verb))


def is_asymmetric(relation: str) -> bool:
    """Whether a relation of A and B never relates B and A as well, by not_asymmetric.yaml and its rule for postures."""
    return not any(part in reasons for part in _parts(relation) for reasons in read("not_asymmetric").values())


def _parts(relation: str) -> Iterator[str]:
    """The relation, and what remains of it after each leading verb of place."""
    words = relation.split()
    yield relation
    while len(words) > 1 and verb_lemma(words[0]) in read("relations")["locating"]:
        words = words[1:]
        yield " ".join(words)


def kind_of_relation(relation: str) -> str:
    """``spatial`` or ``verb``, the two halves of Table 2."""
    return "spatial" if relation == "at" or is_preposition(relation) else "verb"
