"""The relations of a caption: verbs with objects, prepositions, and owners."""

from __future__ import annotations

from typing import NamedTuple

from generators.parser import lemmas
from generators.parser.clauses import Carrier, Clauses
from generators.parser.lexicon import (
    ARRANGEMENTS,
    CONTAINERS,
    EMPTY_VERBS,
    EXTENTS,
    LOCATIVE_VERBS,
    PLACE_ADVERBS,
    POSSESSIVES,
    REVERSED_VERBS,
    SURFACES,
    THIRD_PERSON,
)
from generators.parser.sentence import FOLDED

_NO_RELATION = frozenset({"than", "without", "as"})
_HELD = frozenset({"in", "on", "over"})


class Edge(NamedTuple):
    """``text`` from one object head to another; it stands at tokens ``start`` to ``last`` inclusive."""

    subject: int
    text: str
    object: int
    start: int
    last: int
    tag: str


class Predicate(NamedTuple):
    """The text of a relation and the tokens, ``start`` to ``last`` inclusive, that say it; ``tag`` is the first's."""

    text: str
    start: int
    last: int
    tag: str


class Relations:
    """Reads the relations of a sentence: ``edges``, the verbs ``used`` in them, and the objects ``denied``."""

    def __init__(self, clauses: Clauses) -> None:
        self.clauses = clauses
        self.sentence = clauses.sentence
        self.nouns = clauses.nouns
        self.edges: dict[tuple[int, str, int], Edge] = {}
        self.used: set[int] = set()
        self.denied = set(self.nouns.denied)
        self._turned: set[tuple[int, int]] = set()
        for index, dep in enumerate(self.sentence.deps):
            if dep == "covering":
                self._covering(index)
            elif dep != FOLDED and clauses.is_preposition(index):
                self._preposition(index)
            elif dep != FOLDED and self.sentence.is_verb(index):
                self._direct_object(index)
        for head in self.nouns.by_head:
            self._owner(head)
        self._spread_denial()
        self._name_eyewear()

    def kept(self) -> list[Edge]:
        """The relations that the caption asserts, by where they stand."""
        edges = [
            edge
            for edge in self.edges.values()
            if not {edge.subject, edge.object} & self.denied
            and not (edge.text in {"with", "have"} and (edge.subject, edge.object) in self._turned)
        ]
        return sorted(edges, key=lambda edge: (edge.start, edge.subject, edge.object))

    # Assertion and denial

    def _assert(self, verb: int | None, subjects: list[int], predicate: Predicate, objects: list[int]) -> None:
        """Record a relation between every subject and every object, unless the verb or the phrase is negated."""
        if verb is not None:
            self.used.add(verb)
        if self.sentence.negated(predicate.start) or (verb is not None and self.sentence.negated(verb)):
            self.denied.update(head for head in objects if not self._is_definite(head))
            return
        for subject in subjects:
            for target in objects:
                if subject != target:
                    edge = Edge(subject, predicate.text, target, *predicate[1:])
                    self.edges.setdefault(edge[:3], edge)

    def _is_definite(self, head: int) -> bool:
        known = {"the", "this", "that"} | POSSESSIVES
        return any(self.sentence.words[kid] in known for kid in self.sentence.kids_by(head, "det", "poss"))

    def _spread_denial(self) -> None:
        """What is only there for something that is not there is not there either ("no ball next to a box")."""
        for edge in sorted(self.edges.values(), key=lambda edge: edge.start):
            if edge.subject in self.denied and not self._is_definite(edge.object):
                self.denied.add(edge.object)

    def _name_eyewear(self) -> None:
        """The glasses that are worn have no singular."""
        for edge in self.edges.values():
            noun = self.nouns.by_head[edge.object]
            if edge.text == "wear" and self.sentence.words[edge.object] == "glasses" and noun.lemma == "glass":
                noun.name, noun.lemma = noun.name.removesuffix("glass") + "glasses", "glasses"

    # Verbs

    def _at(self, text: str, start: int, last: int | None = None) -> Predicate:
        return Predicate(text, start, start if last is None else last, self.sentence.tags[start])

    def _covering(self, verb: int) -> None:
        """ "a snow covered sign"."""
        lemma = lemmas.verb(self.sentence.words[verb])
        sign = self.nouns.of(self.sentence.heads[verb])[:1]
        self._assert(verb, self.nouns.of(verb - 1)[:1], self._at(lemma, verb), sign)

    def _direct_object(self, verb: int) -> None:
        s = self.sentence
        lemma = lemmas.verb(s.words[verb])
        direct = s.kids_by(verb, "dobj")
        if lemma == "be" or (s.deps[verb] in {"aux", "auxpass", "amod"} and not direct):
            return
        objects = self.clauses.objects(direct)
        if not direct and not s.kids_by(verb, "prep", "agent"):
            objects = self.clauses.gap(verb)
        if not objects:
            return
        particles = s.kids_by(verb, "prt") if lemma != "have" else []
        last = particles[0] if particles[:1] == [verb + 1] else verb
        text = " ".join([lemma, *(s.words[index] for index in particles)])
        self._assert(verb, self.clauses.subjects(verb), self._at(text, verb, last), objects)

    # Prepositions

    def _preposition(self, index: int) -> None:
        s = self.sentence
        if s.words[index] in _NO_RELATION:
            return
        carrier = self.clauses.carrier(index)
        complements = s.kids_by(index, "pobj", "pcomp")
        if not complements:  # "behind and above a box"
            complements = [kid for other in s.kids_by(index, "conj") for kid in s.kids_by(other, "pobj")]
        objects = self.clauses.objects(complements)
        if not objects and any(s.words[kid] in {"other", "another"} for kid in complements):
            self._reciprocal(index, carrier)
            return
        if s.words[index] == "in" and objects and all(s.words[head] in ARRANGEMENTS for head in objects):
            self.denied.update(objects)
            return
        if not objects:
            carrier = self._nearest(index, carrier, complements)
            objects = self._antecedent(index, carrier, complements)
        if not objects or not carrier.subjects:
            return
        if carrier.verb is None or carrier.prefix:
            self._on_noun(index, carrier, objects)
        else:
            self._on_verb(index, carrier.verb, carrier.subjects, objects)

    def _reciprocal(self, index: int, carrier: Carrier) -> None:
        """ "next to each other": between two subjects, or of a plural subject with itself."""
        predicate = self._with_verb(index, carrier.verb)
        if carrier.verb is not None:
            self.used.add(carrier.verb)
        if carrier.subjects:
            first, *others = carrier.subjects
            target = others[0] if others else first
            self.edges[first, predicate.text, target] = Edge(first, predicate.text, target, *predicate[1:])

    def _nearest(self, index: int, carrier: Carrier, complements: list[int]) -> Carrier:
        """ "a glass with liquid in it": what is in it is the liquid, whatever the tree says."""
        s = self.sentence
        back = any(s.words[kid] in THIRD_PERSON for kid in complements) or (not complements and s.lasts[index] > index)
        if back and carrier.verb is None and index - 1 in self.nouns:
            return Carrier(self.nouns.subjects(index - 1, index))
        return carrier

    def _antecedent(self, index: int, carrier: Carrier, complements: list[int]) -> list[int]:
        """The object of a preposition that is stranded ("the bench they sit on") or has a pronoun ("on it")."""
        s = self.sentence
        if not complements and carrier.verb is not None and self.clauses.gap(carrier.verb):
            return self.clauses.gap(carrier.verb)
        if complements and not any(s.words[kid] in THIRD_PERSON for kid in complements):
            return []
        if not complements and s.lasts[index] == index:
            return []
        earlier = [head for head in self.nouns.by_head if head < index and head not in carrier.subjects]
        owners = [
            edge.subject
            for edge in self.edges.values()
            if edge.text in {"with", "have"} and edge.object in carrier.subjects and edge.subject in earlier
        ]
        antecedent = owners[:1] or (earlier if len(earlier) == 1 else [])
        self._turned.update((head, subject) for head in antecedent for subject in carrier.subjects)
        return antecedent

    def _on_noun(self, index: int, carrier: Carrier, objects: list[int]) -> None:
        """A preposition on a noun or on "be"."""
        s = self.sentence
        subjects, word = carrier.subjects, s.words[index]
        text = " ".join([*(s.words[part] for part in carrier.prefix), word])
        start = min((index, *carrier.prefix))
        if text == "of":
            subjects, text, objects = self._of(subjects[-1], objects)
        elif text == "in" and self.nouns.is_person(subjects[0]) and self.nouns.are_clothes(objects):
            text = "wear"
        elif text == "with" and any(s.words[kid] in POSSESSIVES for kid in s.kids_by(objects[0], "poss")):
            text = "have"
        self._assert(carrier.verb, subjects, Predicate(text, start, s.lasts[index], s.tags[index]), objects)

    def _of(self, subject: int, objects: list[int]) -> tuple[list[int], str, list[int]]:
        """ "of" is being in a container, holding what an extent is made of, or belonging to a whole."""
        name = self.nouns.by_head[subject].lemma
        if name in CONTAINERS:
            return objects, "on" if name in SURFACES else "in", [subject]
        return ([subject], "have", objects) if name in EXTENTS else (objects, "have", [subject])

    def _on_verb(self, index: int, verb: int, subjects: list[int], objects: list[int]) -> None:
        """A preposition on a verb; a passive with its agent is the active relation."""
        s = self.sentence
        lemma, word, direct = lemmas.verb(s.words[verb]), s.words[index], s.kids_by(verb, "dobj")
        if s.tags[verb] in {"VBN", "VBD"} and not direct and self._is_agent(lemma, word, objects):
            self._assert(verb, objects, self._at(lemma, verb), subjects)
        elif lemma == "be" or (lemma == "have" and not direct):
            self._on_noun(index, Carrier(subjects, verb), objects)
        elif word == "in" and self.nouns.is_person(subjects[0]) and self.nouns.are_clothes(objects):
            self._assert(None, subjects, self._at("wear", index), objects)
        elif direct:
            held = word in _HELD and all(map(self.nouns.is_body_part, objects))
            owners = self.clauses.objects(direct) if held else subjects
            self._assert(None, owners, self._at(word, index, s.lasts[index]), objects)
        else:
            self._assert(verb, subjects, self._with_verb(index, verb), objects)

    def _is_agent(self, lemma: str, word: str, objects: list[int]) -> bool:
        """Whether a passive's preposition names who or what does it, and not where."""
        if word in REVERSED_VERBS.get(lemma, ()):
            return True
        return word == "by" and lemma not in LOCATIVE_VERBS and not all(map(self.nouns.is_body_part, objects))

    def _with_verb(self, index: int, verb: int | None) -> Predicate:
        """A preposition with the verb that it follows directly ("sit on"); elsewhere the preposition alone."""
        s = self.sentence
        if verb is None or lemmas.verb(s.words[verb]) in EMPTY_VERBS or self._is_apart(verb, index):
            return self._at(s.words[index], index, s.lasts[index])
        text = " ".join([lemmas.verb(s.words[verb]), *(s.words[kid] for kid in s.kids_by(verb, "prt")), s.words[index]])
        return self._at(text, verb, s.lasts[index] if verb < index else verb)

    def _is_apart(self, verb: int, index: int) -> bool:
        s = self.sentence
        between = range(verb + 1, index)
        return any(s.tags[other] not in {"RB", "RP"} or s.words[other] in PLACE_ADVERBS for other in between)

    # Owners

    def _owner(self, head: int) -> None:
        """ "the cat's tail", and the owner of a body part ("in his hand") where nothing else relates the two."""
        s = self.sentence
        for kid in s.kids_by(head, "poss"):
            if kid in self.nouns:
                marks = [mark for mark in s.kids[kid] if s.tags[mark] == "POS"]
                self._assert(None, [kid], self._at("have", (*marks, kid)[0]), [head])
            elif s.words[kid] in POSSESSIVES and self.nouns.is_body_part(head):
                earlier = [other for other in self.nouns.by_head if other < head]
                owner = [other for other in earlier if self.nouns.is_person(other)][-1:] or earlier[:1]
                if not any((edge.subject, edge.object) == (*owner, head) for edge in self.edges.values()):
                    self._assert(None, owner, self._at("have", kid), [head])
