"""The relation lexicon: synonyms, converses, implications and contrasts of prepositions and spatial verbs.

Written for this project (relations.yaml, with its reasons): CREPE takes relation foils from WordNet, which has no
prepositions. A predicate is read as a group of synonyms and the verb before it ("sitting on top of": group "on",
verb "sit"); what follows from what is worked out from the situations in which each group holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from generators.language.lexicon import read
from generators.language.wordnet import antonyms, are_related
from generators.language.wordnet_database import wordnet

ARTICLES = frozenset({"a", "an", "the"})
ALIKE = 0.3
"""Two phrases with this share of their words in common are built alike: "left of" and "right of"."""
PASSIVES = frozenset({"worn", "held", "carried", "dressed", "hidden", "covered"})
COPULAS = frozenset({"be", "is", "are", "was", "were", "being", "been"})


class Sense(NamedTuple):
    """What a predicate means.

    ``group`` of synonyms, lemma of the ``verb`` before the preposition ("" if none), and ``at``, how many words of the
    predicate stand before those that decide ("is sitting on top of": 2).
    """

    group: str
    verb: str
    at: int


@cache
def _situations() -> Mapping[str, frozenset[str]]:
    return {group: frozenset(entry["holds"]) for group, entry in read("relations")["groups"].items()}


@cache
def _converses() -> Mapping[str, str]:
    pairs = read("relations")["situations"]
    return pairs | {converse: name for name, converse in pairs.items()}


@cache
def _groups_of_words() -> Mapping[tuple[str, ...], str]:
    """Every synonym as words without articles -> its group."""
    return {
        _words(phrase): group
        for group, entry in read("relations")["groups"].items()
        for phrase in (group, *entry["words"])
    }


def _words(predicate: str) -> tuple[str, ...]:
    return tuple(word for word in predicate.lower().split() if word not in ARTICLES)


@cache
def verb_lemma(word: str) -> str:
    """ "wearing" -> "wear"; a word that is no verb stays as it is."""
    return wordnet().morphy(word, "v") or word


@cache
def sense(predicate: str) -> Sense | None:
    """The meaning of a predicate, inflected or not ("is sitting on", "wear", "worn by"); None if the lexicon lacks it.

    Before a preposition only verbs are understood that say where a thing is ("sitting on", not "looking at").
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
    return _groups_of_words().get(words) or _groups_of_verbs().get((verb_lemma(words[0]), *words[1:]))


@cache
def _groups_of_verbs() -> Mapping[tuple[str, ...], str]:
    """The synonyms that begin with a participle, as lemmas: ("wear",), ("wear", "by")."""
    participles = {words: group for words, group in _groups_of_words().items() if is_participle(words[0])}
    return {(verb_lemma(words[0]), *words[1:]): group for words, group in participles.items()} | {
        ("have",): "with",
        ("lack",): "without",
    }


def is_participle(word: str) -> bool:
    """Whether the first word of a synonym is a verb's participle, which must fit the form of the verb it replaces."""
    return word in PASSIVES or (word.endswith("ing") and verb_lemma(word) != word)


def converse(group: str) -> frozenset[str]:
    """The situations of (subject, object) when the group is said of (object, subject)."""
    return frozenset(_converses()[situation] for situation in _situations()[group])


def situations(group: str, subject: str = "", object: str = "", *, reverse: bool = False) -> frozenset[str]:
    """In what situations of two nouns the group holds; with ``reverse``, when it is said of (object, subject)."""
    found = converse(group) if reverse else _situations()[group]
    vessels = read("relations")["vessels"]
    for noun, role in ((subject, "as subject"), (object, "as object")):
        if noun and are_related(noun, vessels["hypernym"]):
            found -= set(vessels[role])
    return found


def foil_groups(group: str) -> tuple[str, ...]:
    """The groups that read well in its place, the best first."""
    return tuple(read("relations")["groups"][group]["foils"])


def phrases(group: str, instead_of: str) -> tuple[str, ...]:
    """The synonyms of the group; first those built like the words they replace ("to the ... of")."""
    old = set(instead_of.lower().split())

    def is_unlike(phrase: str) -> bool:
        return len(old & set(phrase.split())) < ALIKE * len(old | set(phrase.split()))

    return tuple(sorted(read("relations")["groups"][group]["words"], key=is_unlike))


def is_preposition(words: str) -> bool:
    """Whether the words are one of the lexicon's prepositions, not a verb."""
    return _words(words) in _groups_of_words() and not is_participle(words.split()[0])


def posture(verb: str) -> int | None:
    """Which posture a verb names; verbs of two different ones exclude each other."""
    return next((at for at, verbs in enumerate(read("relations")["postures"]) if verb in verbs), None)


def other_postures(verb: str) -> tuple[str, ...]:
    """The verbs of the postures that this one excludes, empty for other verbs."""
    own = posture(verb)
    return () if own is None else tuple(verbs[0] for verbs in read("relations")["postures"] if verb not in verbs)


@cache
def contrasting_verbs(verb: str) -> tuple[str, ...]:
    """Verbs that are not true of the same two things at the same time: the lexicon's, then WordNet's antonyms."""
    curated = [other for verbs in read("relations")["contrasting verbs"] if verb in verbs for other in verbs]
    return tuple(dict.fromkeys(other for other in (*curated, *antonyms(verb, "v")) if other != verb))


def is_asymmetric(relation: str) -> bool:
    """Whether a relation of A and B never holds of B and A as well, by the list and its rule for postures."""
    words = relation.split()
    starts = [0]
    while starts[-1] + 1 < len(words) and verb_lemma(words[starts[-1]]) in read("relations")["locating"]:
        starts.append(starts[-1] + 1)
    return not any(" ".join(words[start:]) in _not_asymmetric() for start in starts)


@cache
def _not_asymmetric() -> frozenset[str]:
    return frozenset(relation for relations in read("not_asymmetric").values() for relation in relations)


def kind_of_relation(relation: str) -> str:
    """``spatial`` or ``verb``, the two halves of Table 2."""
    return "spatial" if relation == "at" or is_preposition(relation) else "verb"
