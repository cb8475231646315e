"""Subjects, objects and open slots of verbs, and what a preposition is attached to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from generators.parser.lexicon import CONTAINERS, GOVERNING_ADJECTIVES, PLACE_PREPOSITIONS, RELATIVE_PRONOUNS
from generators.parser.nouns import ADJECTIVE_TAGS, Nouns
from generators.parser.sentence import Sentence

_MAX_DEPTH = 8
"""Longest chain of clauses that is followed, a bound for the trees of long texts."""
_ADVERB_TAGS = frozenset({"IN", "TO", "RP", "RB", "RBR"})


class Carrier(NamedTuple):
    """What a preposition is attached to: its subjects, the verb between them, and words joined to the preposition."""

    subjects: list[int]
    verb: int | None = None
    prefix: tuple[int, ...] = ()


class Clauses:
    """Queries on the tree of one sentence; objects are lists of head tokens, from left to right."""

    def __init__(self, sentence: Sentence, nouns: Nouns) -> None:
        self.sentence, self.nouns = sentence, nouns

    def subjects(self, verb: int, depth: int = 0) -> list[int]:
        """The subjects of a verb, active or passive."""
        s = self.sentence
        head = s.heads[verb]
        if depth > _MAX_DEPTH or (s.deps[verb] in {"amod", "compound", "aux", "auxpass"} and head != verb):
            return []
        for child in s.children_by(verb, "nsubj", "nsubjpass"):
            return self._resolve(child, verb)
        if s.children_by(verb, "expl"):
            return self.objects(s.children_by(verb, "attr", "dobj"))
        if head == verb:
            left = [child for child in s.children[verb] if child < verb and child in self.nouns]
            return self.nouns.of(left[-1]) if left else []
        if s.is_verb(head):
            return self.subjects(head, depth + 1)
        if self.is_preposition(head):
            return self.carrier(head, depth + 1).subjects
        return self.nouns.subjects(self._agent(head, verb), verb)

    def antecedents(self, verb: int) -> list[int]:
        """The objects that the relative clause around a verb (or preposition) describes."""
        s = self.sentence
        for _ in range(_MAX_DEPTH):
            if s.deps[verb] in {"relcl", "acl"}:
                return self.nouns.subjects(s.heads[verb], verb)
            verb = s.heads[verb]
        return []

    def gap(self, verb: int) -> list[int]:
        """What fills the open slot of a relative clause with a subject of its own ("a ball the dog chases")."""
        s = self.sentence
        own = any(s.words[child] not in RELATIVE_PRONOUNS for child in s.children_by(verb, "nsubj", "nsubjpass"))
        return self.antecedents(verb) if own and s.deps[verb] in {"relcl", "acl"} else []

    def objects(self, tokens: Iterable[int]) -> list[int]:
        """The objects that the tokens stand for, each once."""
        return list(dict.fromkeys(head for token in tokens for head in self._resolve(token, token)))

    def _resolve(self, token: int, verb: int) -> list[int]:
        """The objects that a token stands for; a relative pronoun stands for the antecedents of its clause."""
        is_pronoun = self.sentence.words[token] in RELATIVE_PRONOUNS
        return self.antecedents(verb) if is_pronoun else self.nouns.of(token)

    def is_preposition(self, index: int) -> bool:
        s = self.sentence
        if s.deps[index] in {"prep", "agent", "dative"} and index not in self.nouns and not s.is_verb(index):
            return True
        coordinated = s.words[index] in PLACE_PREPOSITIONS and s.children_by(index, "conj")  # "behind and above a box"
        return bool(coordinated) or (s.tags[index] in {"IN", "RP", "TO"} and bool(s.children_by(index, "pobj")))

    def carrier(self, preposition: int, depth: int = 0) -> Carrier:
        """What the preposition relates its object to."""
        s = self.sentence
        head = s.heads[preposition]
        if head == preposition or depth > _MAX_DEPTH:
            return Carrier([])
        if self.nouns.of(head):
            return Carrier(self.nouns.subjects(self._whole(head, preposition), preposition))
        if s.is_verb(head):
            named = s.deps[head] == "amod"
            return Carrier(self.nouns.of(s.heads[head])[:1] if named else self.subjects(head), head)
        if s.tags[head] in _ADVERB_TAGS or s.deps[head] in {"prep", "advmod"}:
            outer = self.carrier(head, depth + 1)
            joined = head == preposition - 1 and not s.children_by(head, "pobj") and s.tags[head] != "RBR"
            return outer._replace(prefix=(*outer.prefix, head)) if joined else outer
        if s.tags[head] in ADJECTIVE_TAGS:
            governs = s.words[head] in GOVERNING_ADJECTIVES and head == preposition - 1
            return Carrier(self._described(head), prefix=(head,) if governs else ())
        return Carrier([])

    def _described(self, adjective: int) -> list[int]:
        s = self.sentence
        head = s.heads[adjective]
        if s.children_by(adjective, "nsubj"):
            return self.subjects(adjective)
        if s.is_verb(head):
            return self.subjects(head)
        return self.nouns.subjects(head, adjective) if head != adjective else []

    def _agent(self, head: int, verb: int) -> int:
        """The person who acts, not the clothes or the body part ("man in a shirt riding", "head of a man riding")."""
        s = self.sentence
        if s.tags[verb] != "VBG" or head not in self.nouns or self.nouns.is_person(head):
            return head
        owners, link = self.nouns.complements_of(head), s.heads[head]
        if s.deps[head] == "pobj" and s.words[link] in {"in", "with"}:
            owners.append(s.heads[link])
        return next((owner for owner in owners if self.nouns.is_person(owner)), head)

    def _whole(self, head: int, preposition: int) -> int:
        """The object that has the place: the vase, not the flowers, in "a vase with flowers on the table"."""
        s = self.sentence
        link = s.heads[head]
        governor = s.heads[link]
        placed = s.words[preposition] in PLACE_PREPOSITIONS | {"at", "by", "next to", "in front of", "against"}
        complements = s.children_by(preposition, "pobj")
        if not placed or not complements or s.deps[head] != "pobj" or governor not in self.nouns:
            return head
        if any(s.tags[child] == "PRP" or self.nouns.is_body_part(child) for child in complements):
            return head
        contained = s.words[link] == "of" and self.nouns.by_head[governor].lemma in CONTAINERS
        return governor if contained or s.words[link] == "with" else head
