"""The subjects and objects of verbs, and the words to which prepositions are attached."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from compeval.generators.parser.lexicon import WORDS
from compeval.generators.parser.nouns import ADJECTIVE_TAGS, Nouns
from compeval.generators.parser.sentence import Sentence

_MAX_DEPTH = 8
"""Maximum number of nested clauses that are followed, so that long texts take bounded time."""
_ADVERB_TAGS = frozenset({"IN", "TO", "RP", "RB", "RBR"})


class Attachment(NamedTuple):
    """The words to which a preposition is attached.

    ``subjects`` are the objects that the preposition relates to its complement. ``verb`` is the verb between them, if
    any. ``prefix`` are the words that form one predicate with the preposition ("full" in "full of").
    """

    subjects: list[int]
    verb: int | None = None
    prefix: tuple[int, ...] = ()


class Clauses:
    """Queries on the dependency tree of a sentence.

    An object is represented by its head token; all lists are sorted from left to right.
    """

    def __init__(self, sentence: Sentence, nouns: Nouns) -> None:
        self.sentence = sentence
        self.nouns = nouns

    def find_subjects(self, verb: int, depth: int = 0) -> list[int]:
        """Return the subjects of an active or passive verb."""
        s = self.sentence
        head = s.heads[verb]
        if depth > _MAX_DEPTH or (
            s.deps[verb] in {"amod", "compound", "aux", "auxpass"} and head != verb
        ):
            return []
        for child in s.children_by(verb, "nsubj", "nsubjpass"):
            return self._resolve(child, verb)
        if s.children_by(verb, "expl"):
            return self.find_objects(s.children_by(verb, "attr", "dobj"))
        if head == verb:
            left = [child for child in s.children[verb] if child < verb and child in self.nouns]
            return self.nouns.resolve(left[-1]) if left else []
        if s.is_verb(head):
            return self.find_subjects(head, depth + 1)
        if self.is_preposition(head):
            return self.find_attachment(head, depth + 1).subjects
        return self.nouns.resolve_before(self._find_agent(head, verb), verb)

    def find_antecedents(self, verb: int) -> list[int]:
        """Return the objects that the relative clause around a verb or preposition describes."""
        s = self.sentence
        for _ in range(_MAX_DEPTH):
            if s.deps[verb] in {"relcl", "acl"}:
                return self.nouns.resolve_before(s.heads[verb], verb)
            verb = s.heads[verb]
        return []

    def find_gap_objects(self, verb: int) -> list[int]:
        """Return the objects that fill the gap in a relative clause with its own subject ("a ball the dog chases")."""
        s = self.sentence
        subjects = s.children_by(verb, "nsubj", "nsubjpass")
        has_subject = not all(s.is_in(child, "relative_pronouns") for child in subjects)
        return (
            self.find_antecedents(verb) if has_subject and s.deps[verb] in {"relcl", "acl"} else []
        )

    def find_objects(self, tokens: Iterable[int]) -> list[int]:
        """Return the objects to which the tokens refer, without duplicates."""
        return list(dict.fromkeys(head for token in tokens for head in self._resolve(token, token)))

    def _resolve(self, token: int, verb: int) -> list[int]:
        """Return the objects to which a token refers; a relative pronoun refers to the antecedents of its clause."""
        is_pronoun = self.sentence.is_in(token, "relative_pronouns")
        return self.find_antecedents(verb) if is_pronoun else self.nouns.resolve(token)

    def is_preposition(self, index: int) -> bool:
        s = self.sentence
        if (
            s.deps[index] in {"prep", "agent", "dative"}
            and index not in self.nouns
            and not s.is_verb(index)
        ):
            return True
        # "behind and above a box".
        if s.is_in(index, "spatial_prepositions") and s.children_by(index, "conj"):
            return True
        return s.tags[index] in {"IN", "RP", "TO"} and bool(s.children_by(index, "pobj"))

    def find_attachment(self, preposition: int, depth: int = 0) -> Attachment:
        """Return the words to which a preposition is attached."""
        s = self.sentence
        head = s.heads[preposition]
        if head == preposition or depth > _MAX_DEPTH:
            return Attachment([])
        if self.nouns.resolve(head):
            return Attachment(
                self.nouns.resolve_before(self._find_located_object(head, preposition), preposition)
            )
        if s.is_verb(head):
            is_modifier = s.deps[head] == "amod"
            return Attachment(
                self.nouns.resolve(s.heads[head])[:1] if is_modifier else self.find_subjects(head),
                head,
            )
        if s.tags[head] in _ADVERB_TAGS or s.deps[head] in {"prep", "advmod"}:
            outer = self.find_attachment(head, depth + 1)
            is_phrase = (
                head == preposition - 1
                and not s.children_by(head, "pobj")
                and s.tags[head] != "RBR"
            )
            return outer._replace(prefix=(*outer.prefix, head)) if is_phrase else outer
        if s.tags[head] in ADJECTIVE_TAGS:
            governs = s.is_in(head, "governing_adjectives") and head == preposition - 1
            return Attachment(self._find_described(head), prefix=(head,) if governs else ())
        return Attachment([])

    def _find_described(self, adjective: int) -> list[int]:
        s = self.sentence
        head = s.heads[adjective]
        if s.children_by(adjective, "nsubj"):
            return self.find_subjects(adjective)
        if s.is_verb(head):
            return self.find_subjects(head)
        return self.nouns.resolve_before(head, adjective) if head != adjective else []

    def _find_agent(self, head: int, verb: int) -> int:
        """Return the person who acts, not clothes or a body part ("man in a shirt riding", "head of a man riding")."""
        s = self.sentence
        if s.tags[verb] != "VBG" or head not in self.nouns or self.nouns.is_animate(head):
            return head
        owners = self.nouns.of_complements(head)
        link = s.heads[head]
        if s.deps[head] == "pobj" and s.words[link] in {"in", "with"}:
            owners.append(s.heads[link])
        return next((owner for owner in owners if self.nouns.is_animate(owner)), head)

    def _find_located_object(self, head: int, preposition: int) -> int:
        """Return the object that is at a position: the vase in "a vase with flowers on the table"."""
        s = self.sentence
        link = s.heads[head]
        governor = s.heads[link]
        is_position = s.is_in(preposition, "spatial_prepositions") or s.is_in(
            preposition, "other_positions"
        )
        complements = s.children_by(preposition, "pobj")
        if (
            not is_position
            or not complements
            or s.deps[head] != "pobj"
            or governor not in self.nouns
        ):
            return head
        if any(s.tags[child] == "PRP" or self.nouns.is_body_part(child) for child in complements):
            return head
        is_content = (
            s.words[link] == "of" and self.nouns.by_head[governor].lemma in WORDS["containers"]
        )
        return governor if is_content or s.words[link] == "with" else head
