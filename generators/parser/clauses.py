"""Who does what in a clause: the subjects, objects and open slots of verbs, and what a preposition hangs on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from generators.parser.lexicon import (
    CONTAINERS,
    GOVERNING_ADJECTIVES,
    PLACE_PREPOSITIONS,
    RELATIVE_PRONOUNS,
)
from generators.parser.nouns import ADJECTIVE_TAGS, Nouns
from generators.parser.sentence import Sentence

_DEPTH = 8
"""How far a chain of clauses is followed: a bound for trees of long text."""

_ADVERB_TAGS = frozenset({"IN", "TO", "RP", "RB", "RBR"})


class Carrier(NamedTuple):
    """What a preposition hangs on: its subjects, the verb between them, and words that join the preposition."""

    subjects: list[int]
    verb: int | None = None
    prefix: tuple[int, ...] = ()


class Clauses:
    """Questions about the tree of one sentence; every answer is a list of object heads, from left to right."""

    def __init__(self, sentence: Sentence, nouns: Nouns) -> None:
        self.sentence = sentence
        self.nouns = nouns

    def subjects(self, verb: int, depth: int = 0) -> list[int]:
        """Who or what does (or, in the passive, undergoes) what a verb says."""
        s = self.sentence
        head = s.heads[verb]
        if depth > _DEPTH or (s.deps[verb] in {"amod", "compound", "aux", "auxpass"} and head != verb):
            return []
        for kid in s.kids_by(verb, "nsubj", "nsubjpass"):
            return self.antecedents(verb) if s.words[kid] in RELATIVE_PRONOUNS else self.nouns.of(kid)
        if s.kids_by(verb, "expl"):
            return self.objects(s.kids_by(verb, "attr", "dobj"))
        if head == verb:
            left = [kid for kid in s.kids[verb] if kid < verb and kid in self.nouns]
            return self.nouns.of(left[-1]) if left else []
        if s.is_verb(head):
            return self.subjects(head, depth + 1)
        if self.is_preposition(head):
            return self.carrier(head, depth + 1).subjects
        return self.nouns.subjects(self._doer(head, verb), verb)

    def antecedents(self, verb: int) -> list[int]:
        """What the relative clause around a verb (or preposition) is about."""
        s = self.sentence
        for _ in range(_DEPTH):
            if s.deps[verb] in {"relcl", "acl"}:
                return self.nouns.subjects(s.heads[verb], verb)
            verb = s.heads[verb]
        return []

    def gap(self, verb: int) -> list[int]:
        """What fills the open slot of a relative clause that has a subject of its own ("a ball the dog chases")."""
        s = self.sentence
        own = any(s.words[kid] not in RELATIVE_PRONOUNS for kid in s.kids_by(verb, "nsubj", "nsubjpass"))
        return self.antecedents(verb) if own and s.deps[verb] in {"relcl", "acl"} else []

    def objects(self, kids: Iterable[int]) -> list[int]:
        """What the tokens stand for, a relative pronoun for what its clause is about."""
        relative = self.sentence.words
        found = [
            head
            for kid in kids
            for head in (self.antecedents(kid) if relative[kid] in RELATIVE_PRONOUNS else self.nouns.of(kid))
        ]
        return list(dict.fromkeys(found))

    def is_preposition(self, index: int) -> bool:
        s = self.sentence
        if s.deps[index] in {"prep", "agent", "dative"} and index not in self.nouns and not s.is_verb(index):
            return True
        coordinated = s.words[index] in PLACE_PREPOSITIONS and s.kids_by(index, "conj")  # "behind and above a box"
        return bool(coordinated) or (s.tags[index] in {"IN", "RP", "TO"} and bool(s.kids_by(index, "pobj")))

    def carrier(self, preposition: int, depth: int = 0) -> Carrier:
        """What a preposition relates its object to."""
        s = self.sentence
        head = s.heads[preposition]
        if head == preposition or depth > _DEPTH:
            return Carrier([])
        if self.nouns.of(head):
            return Carrier(self.nouns.subjects(self._whole(head, preposition), preposition))
        if s.is_verb(head):
            named = s.deps[head] == "amod"
            return Carrier(self.nouns.of(s.heads[head])[:1] if named else self.subjects(head), head)
        if s.tags[head] in _ADVERB_TAGS or s.deps[head] in {"prep", "advmod"}:
            outer = self.carrier(head, depth + 1)
            joined = head == preposition - 1 and not s.kids_by(head, "pobj") and s.tags[head] != "RBR"
            return outer._replace(prefix=(*outer.prefix, head)) if joined else outer
        if s.tags[head] in ADJECTIVE_TAGS:
            governs = s.words[head] in GOVERNING_ADJECTIVES and head == preposition - 1
            return Carrier(self._described(head), prefix=(head,) if governs else ())
        return Carrier([])

    def _described(self, adjective: int) -> list[int]:
        s = self.sentence
        head = s.heads[adjective]
        if s.kids_by(adjective, "nsubj") or s.is_verb(head):
            return self.subjects(adjective if s.kids_by(adjective, "nsubj") else head)
        return self.nouns.subjects(head, adjective) if head != adjective else []

    def _doer(self, head: int, verb: int) -> int:
        """Who acts: the man, not the shirt or the head, in "man in a shirt riding", "head of a man riding"."""
        s = self.sentence
        if s.tags[verb] != "VBG" or head not in self.nouns or self.nouns.is_person(head):
            return head
        owners = [kid for link in s.kids_by(head, "prep") if s.words[link] == "of" for kid in s.kids_by(link, "pobj")]
        link = s.heads[head]
        if s.deps[head] == "pobj" and s.words[link] in {"in", "with"}:
            owners.append(s.heads[link])
        return next((owner for owner in owners if self.nouns.is_person(owner)), head)

    def _whole(self, head: int, preposition: int) -> int:
        """What a place is said of: the vase, not the flowers, in "a vase with flowers on the table"."""
        s = self.sentence
        link = s.heads[head]
        governor = s.heads[link]
        placed = s.words[preposition] in PLACE_PREPOSITIONS | {"at", "by", "next to", "in front of", "against"}
        complements = s.kids_by(preposition, "pobj")
        if not placed or not complements or s.deps[head] != "pobj" or governor not in self.nouns:
            return head
        if any(s.tags[kid] == "PRP" or self.nouns.is_body_part(kid) for kid in complements):
            return head
        contained = s.words[link] == "of" and self.nouns.by_head[governor].lemma in CONTAINERS
        return governor if contained or s.words[link] == "with" else head
