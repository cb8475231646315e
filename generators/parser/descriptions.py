"""The attributes that a caption gives its objects through a predicate: "the ball is red", "two women skiing"."""

from __future__ import annotations

from collections.abc import Iterable, Set

from generators.parser import lemmas
from generators.parser.clauses import Clauses
from generators.parser.lexicon import GOVERNING_ADJECTIVES, LIGHT_VERBS, OUTDOORS, QUANTIFIERS
from generators.parser.nouns import ADJECTIVE_TAGS, Attribute, joins
from generators.parser.sentence import FOLDED

_COMPLEMENTS = ("xcomp", "ccomp", "dobj", "acomp", "attr", "oprd")
_NO_PREDICATE = frozenset({"amod", "compound", "aux", "auxpass", "prep", "covering"})


def describe(clauses: Clauses, related: Set[int]) -> None:
    """Add predicative attributes to the sentence's objects; verbs in ``related`` state a relation already."""
    s = clauses.sentence
    for index, dep in enumerate(s.deps):
        if dep == FOLDED:
            continue
        if dep in {"acomp", "oprd"} or (dep in {"ROOT", "ccomp"} and s.tags[index] == "JJ"):
            _adjective_predicate(clauses, index)
        elif dep == "amod" and s.heads[index] < index and s.heads[index] in clauses.nouns:
            _adjective(clauses, [s.heads[index]], index)
        elif dep == "advmod" and s.words[index] in OUTDOORS and not s.kids[index]:
            _place(clauses, index)
        elif s.is_verb(index) and index not in related:
            _participle(clauses, index)


def _adjective_predicate(clauses: Clauses, index: int) -> None:
    """ "the ball is red"."""
    s = clauses.sentence
    verb = s.heads[index]
    if not s.negated(verb) and not s.negated(index):
        _adjective(clauses, clauses.subjects(index if s.kids_by(index, "nsubj") else verb), index)


def _adjective(clauses: Clauses, subjects: list[int], first: int) -> None:
    """An adjective and those coordinated with it."""
    s = clauses.sentence
    chain = [first]
    for index in chain:
        chain.extend(s.kids_by(index, "conj"))
        word, tag = s.words[index], s.tags[index]
        governs = word in GOVERNING_ADJECTIVES and s.kids_by(index, "prep")
        if governs or word in QUANTIFIERS or tag not in ADJECTIVE_TAGS | {"NN", "CD"} or index in clauses.nouns:
            continue
        if index and joins(s, index - 1, index):
            _add(clauses, subjects, Attribute(f"{s.words[index - 1]} {word}", index - 1, index, tag))
        else:
            _add(clauses, subjects, Attribute(lemmas.attribute(word), index, index, tag))


def _place(clauses: Clauses, index: int) -> None:
    """ "people standing outside"."""
    s = clauses.sentence
    head = s.heads[index]
    subjects = [head] if head in clauses.nouns else clauses.subjects(head) if s.is_verb(head) else []
    _add(clauses, subjects, Attribute(s.words[index], index, index, s.tags[index]))


def _participle(clauses: Clauses, verb: int) -> None:
    """A verb that relates its subject to nothing describes it ("a man surfing", "the lamp is switched off")."""
    s = clauses.sentence
    word, tag, dep = s.words[verb], s.tags[verb], s.deps[verb]
    bare = tag == "VB" and dep not in {"ROOT", "conj"}
    if bare or dep in _NO_PREDICATE or lemmas.verb(word) in LIGHT_VERBS:
        return
    if s.kids_by(verb, *_COMPLEMENTS) or s.negated(verb):
        return
    passive = tag == "VBN" or bool(s.kids_by(verb, "auxpass"))
    last = verb + 1 if passive and verb + 1 in s.kids_by(verb, "prt") else verb
    if not (passive or tag == "VBG" or lemmas.is_verb(word)):
        return  # a word of another language, or a name
    form = word if passive or tag == "VBG" else lemmas.participle(word)
    _add(clauses, clauses.subjects(verb), Attribute(" ".join([form, *s.words[verb + 1 : last + 1]]), verb, last, tag))


def _add(clauses: Clauses, subjects: Iterable[int], attribute: Attribute) -> None:
    for head in subjects:
        attributes = clauses.nouns.by_head[head].attributes
        if all(attribute.text != other.text for other in attributes):
            attributes.append(attribute)
