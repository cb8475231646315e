"""Attributes that a caption states with a predicate: "the ball is red", "two women skiing"."""

from __future__ import annotations

from collections.abc import Iterable, Set

from compeval.generators.parser import lemmas
from compeval.generators.parser.clauses import Clauses
from compeval.generators.parser.lexicon import WORDS
from compeval.generators.parser.nouns import ADJECTIVE_TAGS, read_adjective
from compeval.generators.parser.sentence import COVERING, MERGED, Span

_COMPLEMENTS = ("xcomp", "ccomp", "dobj", "acomp", "attr", "oprd")
_NO_PREDICATE = frozenset({"amod", "compound", "aux", "auxpass", "prep", COVERING})


def add_predicative_attributes(clauses: Clauses, related: Set[int]) -> None:
    """Add the attributes to the objects of ``clauses``.

    Verbs and adverbs in ``related`` already state a relation and are skipped.
    """
    s = clauses.sentence
    for index, dep in enumerate(s.deps):
        if dep == MERGED:
            continue
        is_adjective = dep in {"ROOT", "ccomp", "attr"} and s.tags[index] == "JJ"
        if is_adjective or dep in {"acomp", "oprd"}:  # "the ball is red"
            if not s.is_negated(s.heads[index]) and not s.is_negated(index):
                verb = index if s.children_by(index, "nsubj") else s.heads[index]
                _add_adjectives(clauses, clauses.find_subjects(verb), index)
        # "the lamp is lit and white".
        elif dep == "conj" and s.tags[index] == "JJ" and s.is_verb(s.heads[index]):
            _add_adjectives(clauses, clauses.find_subjects(s.heads[index]), index)
        elif dep == "amod" and s.heads[index] < index and s.heads[index] in clauses.nouns:
            _add_adjectives(clauses, [s.heads[index]], index)
        elif dep == "advmod" and s.is_in(index, "location_attributes") and not s.children[index]:
            if index in related:
                continue
            head = s.heads[index]  # "people standing outside": the head is "standing"
            subjects = (
                [head]
                if head in clauses.nouns
                else clauses.find_subjects(head)
                if s.is_verb(head)
                else []
            )
            _add(clauses, subjects, s.make_span(s.words[index], index))
        elif s.is_verb(index) and index not in related:
            _add_participle(clauses, index)


def _add_adjectives(clauses: Clauses, subjects: list[int], first: int) -> None:
    """Add an adjective and the adjectives coordinated with it."""
    s = clauses.sentence
    chain = [first]
    for index in chain:
        chain.extend(s.children_by(index, "conj"))
        word = s.words[index]
        governs = word in WORDS["governing_adjectives"] and s.children_by(index, "prep")
        describes = s.tags[index] in ADJECTIVE_TAGS | {"NN", "CD"} and index not in clauses.nouns
        if describes and not governs and word not in WORDS["quantifiers"]:
            _add(clauses, subjects, read_adjective(s, index))


def _add_participle(clauses: Clauses, verb: int) -> None:
    """Add a verb without an object as an attribute of its subject ("a man surfing", "the lamp is switched off")."""
    s = clauses.sentence
    word = s.words[verb]
    tag = s.tags[verb]
    dep = s.deps[verb]
    is_infinitive = tag == "VB" and dep not in {"ROOT", "conj"}
    if is_infinitive or dep in _NO_PREDICATE or lemmas.infinitive(word) in WORDS["light_verbs"]:
        return
    if s.children_by(verb, *_COMPLEMENTS) or s.is_negated(verb):
        return
    is_passive = tag == "VBN" or bool(s.children_by(verb, "auxpass"))
    last = verb + 1 if is_passive and verb + 1 in s.children_by(verb, "prt") else verb
    if not (is_passive or tag == "VBG" or lemmas.is_verb(word)):
        return  # a word of another language, or a name
    form = word if is_passive or tag == "VBG" else lemmas.participle(word)
    attribute = s.make_span(" ".join([form, *s.words[verb + 1 : last + 1]]), verb, last)
    _add(clauses, clauses.find_subjects(verb), attribute)


def _add(clauses: Clauses, subjects: Iterable[int], attribute: Span) -> None:
    for noun in (clauses.nouns.by_head[head] for head in subjects):
        # spaCy may read a word of a name as the verb.
        is_in_name = noun.start <= attribute.start <= noun.head
        if not is_in_name and all(attribute.text != other.text for other in noun.attributes):
            noun.attributes.append(attribute)
