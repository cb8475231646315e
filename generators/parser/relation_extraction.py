"""The relations of a caption: verbs with objects, prepositions, and owners."""

from __future__ import annotations

from typing import NamedTuple

from generators.parser import lemmas, lexicon
from generators.parser.clauses import Carrier, Clauses
from generators.parser.sentence import FOLDED

_NO_RELATION = frozenset({"than", "without", "as"})
_HELD = frozenset({"in", "on", "over"})
_DEFINITE = lexicon.POSSESSIVES | {"the", "this", "that"}


class Predicate(NamedTuple):
    """The text of a relation and its tokens, ``start`` to ``last`` inclusive; ``tag`` is the tag of the first."""

    text: str
    start: int
    last: int
    tag: str


class Edge(NamedTuple):
    """A relation between two object heads."""

    subject: int
    predicate: Predicate
    object: int


class Relations:
    """The relations of a sentence, the verbs ``used`` in them, and the objects that are ``denied``."""

    def __init__(self, clauses: Clauses) -> None:
        self.clauses, self.sentence, self.nouns = clauses, clauses.sentence, clauses.nouns
        self.used: set[int] = set()
        self.denied = set(self.nouns.denied)
        self._edges: dict[tuple[int, str, int], Edge] = {}
        self._reversed: set[tuple[int, int]] = set()
        for index, dep in enumerate(self.sentence.deps):
            if dep == "covering":
                self._add_covering(index)
            elif dep != FOLDED and clauses.is_preposition(index):
                self._add_preposition(index)
            elif dep != FOLDED and self.sentence.is_verb(index):
                self._add_direct_object(index)
        for head in self.nouns.by_head:
            self._add_owner(head)
        self._spread_denial()
        self._name_eyewear()

    def asserted(self) -> list[Edge]:
        """The relations that the caption asserts, in the order of their tokens."""
        edges = [
            edge
            for edge in self._edges.values()
            if not {edge.subject, edge.object} & self.denied
            and not (edge.predicate.text in {"with", "have"} and (edge.subject, edge.object) in self._reversed)
        ]
        return sorted(edges, key=lambda edge: (edge.predicate.start, edge.subject, edge.object))

    # Assertion and denial

    def _add(self, verb: int | None, subjects: list[int], predicate: Predicate, objects: list[int]) -> None:
        """Record a relation between every subject and every object, unless the verb or the predicate is negated."""
        if verb is not None:
            self.used.add(verb)
        if self.sentence.is_negated(predicate.start) or (verb is not None and self.sentence.is_negated(verb)):
            self.denied.update(head for head in objects if not self._is_definite(head))
            return
        for subject in subjects:
            for target in objects:
                if subject != target:
                    self._edges.setdefault((subject, predicate.text, target), Edge(subject, predicate, target))

    def _is_definite(self, head: int) -> bool:
        return any(self.sentence.words[child] in _DEFINITE for child in self.sentence.children_by(head, "det", "poss"))

    def _spread_denial(self) -> None:
        """Deny the objects that are mentioned only for a denied object ("no ball next to a box")."""
        for edge in sorted(self._edges.values(), key=lambda edge: edge.predicate.start):
            if edge.subject in self.denied and not self._is_definite(edge.object):
                self.denied.add(edge.object)

    def _name_eyewear(self) -> None:
        """Keep the plural of glasses that are worn."""
        for edge in self._edges.values():
            noun = self.nouns.by_head[edge.object]
            worn = edge.predicate.text == "wear" and self.sentence.words[edge.object] == "glasses"
            if worn and noun.lemma == "glass":
                noun.name, noun.lemma = noun.name.removesuffix("glass") + "glasses", "glasses"

    def _predicate(self, text: str, start: int, last: int | None = None) -> Predicate:
        return Predicate(text, start, start if last is None else last, self.sentence.tags[start])

    # Verbs

    def _add_covering(self, verb: int) -> None:
        """ "a snow covered sign"."""
        predicate = self._predicate(lemmas.verb(self.sentence.words[verb]), verb)
        covered = self.nouns.of(self.sentence.heads[verb])[:1]
        self._add(verb, self.nouns.of(verb - 1)[:1], predicate, covered)

    def _add_direct_object(self, verb: int) -> None:
        s = self.sentence
        lemma = lemmas.verb(s.words[verb])
        direct = s.children_by(verb, "dobj")
        if lemma == "be" or (s.deps[verb] in {"aux", "auxpass", "amod"} and not direct):
            return
        objects = self.clauses.objects(direct)
        if not direct and not s.children_by(verb, "prep", "agent"):
            objects = self.clauses.gap(verb)
        if not objects:
            return
        particles = s.children_by(verb, "prt") if lemma != "have" else []
        last = particles[0] if particles[:1] == [verb + 1] else verb
        text = " ".join([lemma, *(s.words[index] for index in particles)])
        self._add(verb, self.clauses.subjects(verb), self._predicate(text, verb, last), objects)

    # Prepositions

    def _add_preposition(self, index: int) -> None:
        s = self.sentence
        if s.words[index] in _NO_RELATION:
            return
        carrier = self.clauses.carrier(index)
        complements = s.children_by(index, "pobj", "pcomp")
        if not complements:  # "behind and above a box"
            complements = [child for other in s.children_by(index, "conj") for child in s.children_by(other, "pobj")]
        objects = self.clauses.objects(complements)
        if not objects and any(s.words[child] in {"other", "another"} for child in complements):
            self._add_reciprocal(index, carrier)
            return
        if s.words[index] == "in" and objects and all(s.words[head] in lexicon.ARRANGEMENTS for head in objects):
            self.denied.update(objects)
            return
        if not objects:
            carrier = self._nearest(index, carrier, complements)
            objects = self._antecedent(index, carrier, complements)
        if not objects or not carrier.subjects:
            return
        if carrier.verb is None or carrier.prefix:
            self._add_to_noun(index, carrier, objects)
        else:
            self._add_to_verb(index, carrier.verb, carrier.subjects, objects)

    def _add_reciprocal(self, index: int, carrier: Carrier) -> None:
        """ "next to each other": between two subjects, or between a plural subject and itself."""
        predicate = self._with_verb(index, carrier.verb)
        if carrier.verb is not None:
            self.used.add(carrier.verb)
        if carrier.subjects:
            first, target = (carrier.subjects * 2)[:2]
            self._edges[first, predicate.text, target] = Edge(first, predicate, target)

    def _nearest(self, index: int, carrier: Carrier, complements: list[int]) -> Carrier:
        """Attach "in it" to the noun directly before it ("a glass with liquid in it"), whatever the tree says."""
        s = self.sentence
        back = any(s.words[child] in lexicon.THIRD_PERSON for child in complements)
        if (back or (not complements and s.lasts[index] > index)) and carrier.verb is None and index - 1 in self.nouns:
            return Carrier(self.nouns.subjects(index - 1, index))
        return carrier

    def _antecedent(self, index: int, carrier: Carrier, complements: list[int]) -> list[int]:
        """The object of a preposition that is stranded ("the bench they sit on") or has a pronoun ("on it")."""
        s = self.sentence
        if not complements and carrier.verb is not None and (gap := self.clauses.gap(carrier.verb)):
            return gap
        if complements and not any(s.words[child] in lexicon.THIRD_PERSON for child in complements):
            return []
        if not complements and s.lasts[index] == index:
            return []
        earlier = [head for head in self.nouns.by_head if head < index and head not in carrier.subjects]
        owners = [
            edge.subject
            for edge in self._edges.values()
            if edge.predicate.text in {"with", "have"} and edge.object in carrier.subjects and edge.subject in earlier
        ]
        antecedent = owners[:1] or (earlier if len(earlier) == 1 else [])
        self._reversed.update((head, subject) for head in antecedent for subject in carrier.subjects)
        return antecedent

    def _add_to_noun(self, index: int, carrier: Carrier, objects: list[int]) -> None:
        """A preposition attached to a noun or to "be"."""
        s = self.sentence
        subjects, word = carrier.subjects, s.words[index]
        text = " ".join([*(s.words[part] for part in carrier.prefix), word])
        if text == "of":
            subjects, text, objects = self._of(subjects[-1], objects)
        elif text == "in" and self._is_worn(subjects, objects):
            text = "wear"
        elif text == "with" and any(
            s.words[child] in lexicon.POSSESSIVES for child in s.children_by(objects[0], "poss")
        ):
            text = "have"
        predicate = Predicate(text, min((index, *carrier.prefix)), s.lasts[index], s.tags[index])
        self._add(carrier.verb, subjects, predicate, objects)

    def _is_worn(self, subjects: list[int], objects: list[int]) -> bool:
        return self.nouns.is_person(subjects[0]) and self.nouns.are_clothes(objects)

    def _of(self, subject: int, objects: list[int]) -> tuple[list[int], str, list[int]]:
        """The relation of "of": in a container, what an extent has, or what a whole has."""
        name = self.nouns.by_head[subject].lemma
        if name in lexicon.CONTAINERS:
            return objects, "on" if name in lexicon.SURFACES else "in", [subject]
        return ([subject], "have", objects) if name in lexicon.EXTENTS else (objects, "have", [subject])

    def _add_to_verb(self, index: int, verb: int, subjects: list[int], objects: list[int]) -> None:
        """A preposition attached to a verb; a passive with its agent becomes the active relation."""
        s = self.sentence
        lemma, word, direct = lemmas.verb(s.words[verb]), s.words[index], s.children_by(verb, "dobj")
        if s.tags[verb] in {"VBN", "VBD"} and not direct and self._is_agent(lemma, word, objects):
            self._add(verb, objects, self._predicate(lemma, verb), subjects)
        elif lemma == "be" or (lemma == "have" and not direct):
            self._add_to_noun(index, Carrier(subjects, verb), objects)
        elif word == "in" and self._is_worn(subjects, objects):
            self._add(None, subjects, self._predicate("wear", index), objects)
        elif direct:
            held = word in _HELD and all(map(self.nouns.is_body_part, objects))
            owners = self.clauses.objects(direct) if held else subjects
            self._add(None, owners, self._predicate(word, index, s.lasts[index]), objects)
        else:
            self._add(verb, subjects, self._with_verb(index, verb), objects)

    def _is_agent(self, lemma: str, word: str, objects: list[int]) -> bool:
        """Whether the preposition of a passive names the agent, not the place."""
        if word in lexicon.REVERSED_VERBS.get(lemma, ()):
            return True
        return word == "by" and lemma not in lexicon.LOCATIVE_VERBS and not all(map(self.nouns.is_body_part, objects))

    def _with_verb(self, index: int, verb: int | None) -> Predicate:
        """The preposition with the verb directly before it ("sit on"); otherwise the preposition only."""
        s = self.sentence
        if verb is None or lemmas.verb(s.words[verb]) in lexicon.EMPTY_VERBS or self._is_apart(verb, index):
            return self._predicate(s.words[index], index, s.lasts[index])
        particles = [s.words[child] for child in s.children_by(verb, "prt")]
        text = " ".join([lemmas.verb(s.words[verb]), *particles, s.words[index]])
        return self._predicate(text, verb, s.lasts[index] if verb < index else verb)

    def _is_apart(self, verb: int, index: int) -> bool:
        s = self.sentence
        between = range(verb + 1, index)
        return any(s.tags[other] not in {"RB", "RP"} or s.words[other] in lexicon.PLACE_ADVERBS for other in between)

    # Owners

    def _add_owner(self, head: int) -> None:
        """ "the cat's tail", and the owner of a body part ("in his hand") that no other relation names."""
        s = self.sentence
        for child in s.children_by(head, "poss"):
            if child in self.nouns:
                marks = [mark for mark in s.children[child] if s.tags[mark] == "POS"]
                self._add(None, [child], self._predicate("have", (*marks, child)[0]), [head])
            elif s.words[child] in lexicon.POSSESSIVES and self.nouns.is_body_part(head):
                earlier = [other for other in self.nouns.by_head if other < head]
                owner = [other for other in earlier if self.nouns.is_person(other)][-1:] or earlier[:1]
                if not any((edge.subject, edge.object) == (*owner, head) for edge in self._edges.values()):
                    self._add(None, owner, self._predicate("have", child), [head])
