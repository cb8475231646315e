"""The relation lexicon: synonyms, converses, implications and contrasts of prepositions and spatial verbs.

relations.yaml was written for this project, with a reason for each entry: CREPE takes relation foils from WordNet,
which has no prepositions. The meaning of a predicate is a group of synonyms and the verb before the preposition
("sitting on top of": group "on", verb "sit"). Each group lists the situations in which it is true; implications and
contrasts follow from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from compeval.generators.language import CACHED_PAIRS, CACHED_WORDS
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.wordnet import antonyms, are_related, lemmatise

ARTICLES = frozenset({"a", "an", "the"})
SIMILAR_PHRASES_IOU = 0.3
"""Two phrases count as similar ("left of" and "right of") if they share at least this part of their words."""
PASSIVES = frozenset({"worn", "held", "carried", "dressed", "hidden", "covered"})
COPULAS = frozenset({"be", "is", "are", "was", "were", "being", "been"})


class Sense(NamedTuple):
    """The meaning of a predicate.

    ``verb`` is the lemma of the verb before the preposition, or "". ``num_leading_words`` is the number of words before
    the synonym: 2 for "is sitting on top of".
    """

    group: str
    verb: str
    num_leading_words: int


def _section(name: str) -> Any:
    return load_lexicon("relations")[name]


@cache
def _converses() -> Mapping[str, str]:
    pairs = _section("situations")
    return pairs | {converse: name for name, converse in pairs.items()}


@cache
def _groups_by_words() -> Mapping[tuple[str, ...], str]:
    """Return a mapping from every synonym, as words without articles, to its group."""
    return {
        _split_words(text): group
        for group, entry in _section("groups").items()
        for text in (group, *entry["words"])
    }


def _split_words(predicate: str) -> tuple[str, ...]:
    return tuple(word for word in predicate.lower().split() if word not in ARTICLES)


def verb_lemma(word: str) -> str:
    """Return the lemma of a verb form ("wearing": "wear"); other words are returned unchanged."""
    return lemmatise(word, "v") or word


@lru_cache(CACHED_WORDS)
def find_sense(predicate: str) -> Sense | None:
    """Return the meaning of a predicate in any form ("is sitting on", "wear", "worn by"), or None if it is not listed.

    Before a preposition, only verbs of position are accepted ("sitting on", not "looking at").
    """
    words = predicate.lower().split()
    for start in range(len(words)):
        phrase = _split_words(" ".join(words[start:]))
        by_verb = _groups_by_verbs().get((verb_lemma(phrase[0]), *phrase[1:])) if phrase else None
        group = _groups_by_words().get(phrase) or by_verb
        verbs = [verb_lemma(word) for word in words[:start] if word not in COPULAS]
        if group and all(verb in _section("verbs of position") for verb in verbs):
            return Sense(group, " ".join(verbs), start)
    return None


@lru_cache(CACHED_WORDS)
def fits_any_objects(predicate: str) -> bool:
    """Return True if the predicate may relate any two objects ("left of", not "wearing" or "above")."""
    return _is_in_section(predicate, "any objects")


@lru_cache(CACHED_WORDS)
def fits_any_order(predicate: str) -> bool:
    """Return True if the predicate may relate any two objects, as often in either order ("left of", not "behind")."""
    return _is_in_section(predicate, "any order")


def _is_in_section(predicate: str, section: str) -> bool:
    sense = find_sense(predicate)
    return sense is not None and not sense.verb and sense.group in _section(section)


@cache
def _groups_by_verbs() -> Mapping[tuple[str, ...], str]:
    """Return the synonyms that begin with a participle, as lemmas: ("wear",), ("wear", "by")."""
    participles = {
        words: group for words, group in _groups_by_words().items() if is_participle(words[0])
    }
    groups = {(verb_lemma(words[0]), *words[1:]): group for words, group in participles.items()}
    return groups | {("have",): "with", ("lack",): "without"}


def is_participle(word: str) -> bool:
    """Return True if the first word of a synonym is a participle, which must take the form of the replaced verb."""
    return word in PASSIVES or (word.endswith("ing") and verb_lemma(word) != word)


@cache
def converse_situations(group: str) -> frozenset[str]:
    """Return the situations of (subject, object) if the group relates (object, subject)."""
    return frozenset(_converses()[situation] for situation in _section("groups")[group]["holds"])


@cache
def find_converse(group: str) -> str | None:
    """Return another group that holds in exactly the converse situations ("below" of "above"), or None."""
    groups = _section("groups")
    converse = converse_situations(group)
    return next(
        (
            other
            for other in groups
            if other != group and frozenset(groups[other]["holds"]) == converse
        ),
        None,
    )


@lru_cache(CACHED_PAIRS)
def situations(
    group: str, subject: str = "", object: str = "", *, reverse: bool = False
) -> frozenset[str]:
    """Return the situations in which the group relates two nouns.

    With ``reverse``, return the situations in which the group relates (object, subject).
    """
    holds = converse_situations(group) if reverse else frozenset(_section("groups")[group]["holds"])
    vessels = _section("vessels")
    for noun, role in ((subject, "as subject"), (object, "as object")):
        if noun and are_related(noun, vessels["hypernym"]):
            holds -= set(vessels[role])
    return holds


def rank_foil_groups(group: str) -> tuple[str, ...]:
    """Return the groups that read well in place of this group, best first."""
    return tuple(_section("groups")[group]["foils"])


def sort_synonyms(group: str, replaced: str) -> tuple[str, ...]:
    """Return the synonyms of the group, those most similar to the replaced words first ("to the ... of")."""
    old = set(replaced.lower().split())

    def is_unlike(phrase: str) -> bool:
        new = set(phrase.split())
        return len(old & new) < SIMILAR_PHRASES_IOU * len(old | new)

    return tuple(sorted(_section("groups")[group]["words"], key=is_unlike))


def is_preposition(words: str) -> bool:
    """Return True if the words are a listed preposition, not a verb."""
    # All listed words that end in -ing are verbs, so WordNet is not used: reports need no WordNet.
    first = words.split()[0] if words else ""
    is_verb = first in PASSIVES or first.endswith("ing")
    return _split_words(words) in _groups_by_words() and not is_verb


def find_posture(verb: str) -> int | None:
    """Return the index of the posture that a verb names, or None. Verbs of different postures exclude each other."""
    return next((index for index, verbs in enumerate(_section("postures")) if verb in verbs), None)


def verbs_of_other_postures(verb: str) -> tuple[str, ...]:
    """Return one verb for each posture that the verb excludes; () if the verb names no posture."""
    has_posture = find_posture(verb) is not None
    return tuple(verbs[0] for verbs in _section("postures") if has_posture and verb not in verbs)


@lru_cache(CACHED_WORDS)
def contrasting_verbs(verb: str) -> tuple[str, ...]:
    """Return verbs that cannot relate the same two objects at the same time: listed verbs, then WordNet's antonyms."""
    listed = [
        candidate for verbs in _section("contrasting verbs") if verb in verbs for candidate in verbs
    ]
    return tuple(
        dict.fromkeys(
            candidate for candidate in (*listed, *antonyms(verb, "v")) if candidate != verb
        )
    )


def is_asymmetric(relation: str) -> bool:
    """Return True if "A relation B" rules out "B relation A", according to not_asymmetric.yaml.

    The relation may be listed without its leading verbs of position.
    """
    words = relation.split()
    parts = [relation]
    while len(words) > 1 and verb_lemma(words[0]) in _section("verbs of position"):
        words = words[1:]
        parts.append(" ".join(words))
    return not any(
        part in reasons for part in parts for reasons in load_lexicon("not_asymmetric").values()
    )


def kind_of_relation(relation: str) -> str:
    """Return ``spatial`` or ``verb``, the two halves of ARO's Table 2."""
    return "spatial" if relation == "at" or is_preposition(relation) else "verb"
