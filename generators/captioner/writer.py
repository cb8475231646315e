"""The text of a graph, sentence by sentence. realiser.py lists the constructions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.captioner.words import (
    Piece,
    Words,
    attribute_piece,
    choose_copula,
    choose_determiner,
    join_with_and,
    noun_piece,
    to_pieces,
    write_adjectives,
    write_predicate,
)
from compeval.generators.graphs.entailment import Negated
from compeval.generators.language.grammar import (
    are_same_verb,
    follows_noun,
    is_finite,
    is_plural,
    is_with_or_has,
    predicate_kind,
    sort_adjectives,
)

Style = Literal["fragment", "existential", "clause"]
Opening = Style | Literal["inverted"]
MAX_LISTED = 4
"""Maximum number of objects in one list."""


class Sentence(NamedTuple):
    words: Words
    style: Style


class Writer:
    """Writes the sentences of a graph.

    References to objects are unambiguous in ``full_graph``. With ``negatable``, each sentence has one relation and
    one reading, because the negation of an ambiguous sentence may be true.
    """

    def __init__(
        self,
        graph: SceneGraph,
        rng: Random,
        style: Style | None = None,
        full_graph: SceneGraph | None = None,
        negatable: bool = False,
    ) -> None:
        self.graph = graph
        self.rng = rng
        self.full_graph = full_graph or graph
        self.negatable = negatable
        drawn: Style = rng.choice(("fragment", "existential", "clause"))
        self.style: Style = style or drawn
        self.pending = list(graph.relations)
        self.introduced: list[str] = []
        self.deferred = {item.id: self._choose_deferred_attributes(item) for item in graph.objects}

    # Order and style of the sentences

    def write_sentences(self) -> list[Sentence]:
        """Return sentences for the whole graph, in order."""
        sentences: list[Sentence] = []
        while self.pending:
            num_introduced = len(self.introduced)
            sentences.append(self._write_related_objects(sentences))
            sentences += self._write_deferred_attributes(self.introduced[num_introduced:])
        unrelated = [item.id for item in self.graph.objects if item.id not in self.introduced]
        num_lists = -(-len(unrelated) // MAX_LISTED)
        for index in range(num_lists):  # as few lists as possible, of equal length
            keys = unrelated[
                len(unrelated) * index // num_lists : len(unrelated) * (index + 1) // num_lists
            ]
            sentences.append(self._write_list(keys, sentences))
            sentences += self._write_deferred_attributes(keys)
        return sentences

    def _write_related_objects(self, previous: Sequence[Sentence]) -> Sentence:
        """Return the next sentence that relates objects, with one or two relations of one subject."""
        subject = self._choose_subject()
        edges = [edge for edge in self.pending if edge.subject == subject]
        edges = self._pop_edges(
            edges[: 1 if self.negatable or not _can_be_coordinated(edges[:2]) else 2]
        )
        if subject in self.introduced:
            return Sentence(self._write_clause(subject, edges), "clause")
        refers_back = any(edge.object in self.introduced for edge in edges)
        style = self._choose_style(previous, edges, refers_back)
        if style == "inverted":
            return Sentence(self._write_inverted(edges[0]), "clause")
        # Relations that follow their subject without a verb: not "with a hat and on a bench".
        can_follow_subject = (
            len(edges) == 1 or sum(is_with_or_has(edge.predicate) for edge in edges) != 1
        )
        if style != "clause" and can_follow_subject:
            also = bool(previous) and not self.negatable and not refers_back
            there = () if style == "fragment" else self._write_there_is(subject, also=also)
            return Sentence((*there, *self._write_fragment(subject, edges)), style)
        return Sentence(self._write_clause(subject, edges), "clause")

    def _choose_style(
        self, previous: Sequence[Sentence], edges: Sequence[Relation], refers_back: bool
    ) -> Opening:
        """Return the construction that introduces an object. "there is" does not start two sentences in a row."""
        if not previous or self.negatable:
            return self.style
        styles: list[Opening] = ["clause"]
        if previous[-1].style != "existential":
            styles.append("existential")
        if refers_back and len(edges) == 1 and _locates(edges[0]):
            styles.append("inverted")
        return self.rng.choice(styles)

    def _choose_subject(self) -> str:
        """Return the subject of the next sentence.

        It is the last introduced object with pending relations, or else an object related to an introduced object, or
        else a random object among those with the most relations.
        """
        subjects = list(dict.fromkeys(edge.subject for edge in self.pending))
        for key in reversed(self.introduced):
            if key in subjects:
                return key
        for edge in self.pending:
            if edge.object in self.introduced:
                return edge.subject
        degrees = {key: sum(edge.subject == key for edge in self.pending) for key in subjects}
        return self.rng.choice([key for key in subjects if degrees[key] == max(degrees.values())])

    def _pop_edges(self, edges: list[Relation]) -> list[Relation]:
        for edge in edges:
            self.pending.remove(edge)
        return edges

    def _choose_deferred_attributes(self, item: SceneObject) -> tuple[str, ...]:
        """Return the attributes of an object that get a separate sentence."""
        deferred = [text for text in item.attributes if follows_noun(text)]
        others = [text for text in item.attributes if text not in deferred]
        is_crowded = len(others) >= 3 and self.rng.random() < 0.7
        if is_crowded and not self.negatable and not self._find_namesakes(item):
            deferred += self.rng.sample(others, len(others) - 1)
        return tuple(deferred)

    def _find_namesakes(self, item: SceneObject) -> list[SceneObject]:
        return [
            other
            for other in self.full_graph.objects
            if other.name == item.name and other.id != item.id
        ]

    # Sentences

    def _write_clause(self, subject: str, edges: Sequence[Relation]) -> Words:
        """Return "NP is P NP and P NP", or "NP with NP is P NP" for a new subject with a possession."""
        item = self.graph.by_id[subject]
        owned = [edge for edge in edges if is_with_or_has(edge.predicate)]
        if len(owned) == 1 and len(edges) == 2 and subject not in self.introduced:
            edges = [edge for edge in edges if edge not in owned]
            head = (*self._name_object(subject), write_predicate(owned, item, clause=False))
            return (
                *head,
                *self._name_object(owned[0].object),
                *self._write_predicates(item, edges),
            )
        return (
            *self._name_object(subject),
            *self._write_predicates(item, edges),
            *self._write_relative_clause(edges),
        )

    def _write_fragment(self, subject: str, edges: Sequence[Relation]) -> Words:
        """Return "NP P NP and P NP" or "NP with NP"."""
        item = self.graph.by_id[subject]
        head = self._name_object(subject)
        phrases = [(write_predicate(group, item, clause=False),) for group in _group_by_verb(edges)]
        return (*head, *self._join_objects(edges, phrases), *self._write_relative_clause(edges))

    def _write_inverted(self, edge: Relation) -> Words:
        """Return an inverted clause such as "behind the table is a lamp"."""
        item = self.graph.by_id[edge.subject]
        place = (write_predicate([edge], item, clause=False), *self._name_object(edge.object))
        return (*place, Piece(choose_copula(item)), *self._name_object(edge.subject))

    def _write_predicates(self, item: SceneObject, edges: Sequence[Relation]) -> Words:
        """Return predicates such as "is on a table and next to a lamp" or "is on a bench and has a beard"."""
        parts: list[Words] = []
        has_copula = False
        for group in _group_by_verb(edges):
            finite = is_finite(group[0].predicate)
            auxiliary = () if finite or has_copula else to_pieces(choose_copula(item))
            has_copula = not finite
            parts.append((*auxiliary, write_predicate(group, item, clause=True)))
        return self._join_objects(edges, parts)

    def _join_objects(self, edges: Sequence[Relation], parts: Sequence[Words]) -> Words:
        """Return predicates with their objects, such as "on a table and next to a lamp"."""
        if len(parts) < len(edges):
            return (*parts[0], *join_with_and([self._name_object(edge.object) for edge in edges]))
        following = (*(edge.object for edge in edges[1:]), None)
        return join_with_and(
            [
                part if edge.object == next_object else (*part, *self._name_object(edge.object))
                for edge, part, next_object in zip(edges, parts, following, strict=True)
            ]
        )

    def _write_relative_clause(self, edges: Sequence[Relation]) -> Words:
        """Return "that is P NP", or no words.

        The clause describes the object at the end of a sentence of one relation, if that object has exactly one pending
        relation.
        """
        if len(edges) != 1 or self.negatable:
            return ()
        last_object = self.graph.by_id[edges[0].object]
        object_edges = [edge for edge in self.pending if edge.subject == last_object.id]
        if (
            len(object_edges) != 1
            or self.deferred[last_object.id]
            or self.introduced[-1] != last_object.id
            or self.rng.random() < 0.3
        ):
            return ()
        return (Piece("that"), *self._write_predicates(last_object, self._pop_edges(object_edges)))

    def _write_list(self, keys: Sequence[str], previous: Sequence[Sentence]) -> Sentence:
        """Return a sentence that lists unrelated objects."""
        phrases = join_with_and([self._name_object(key) for key in keys])
        if not previous and self.style == "fragment":
            return Sentence(phrases, "fragment")
        if previous and previous[-1].style == "existential" and not self.negatable:
            verb = choose_copula(self.graph.by_id[keys[0]]) if len(keys) == 1 else "are"
            return Sentence((*phrases, *to_pieces(f"{verb} also visible")), "clause")
        also = bool(previous) and not self.negatable
        return Sentence((*self._write_there_is(keys[0], also=also), *phrases), "existential")

    def _write_there_is(self, key: str, *, also: bool) -> Words:
        return to_pieces(f"there {choose_copula(self.graph.by_id[key])}{' also' if also else ''}")

    def _write_deferred_attributes(self, keys: Sequence[str]) -> list[Sentence]:
        """Return one sentence per object for its deferred attributes."""
        sentences = []
        for item in (self.graph.by_id[key] for key in keys if self.deferred[key]):
            texts = join_with_and(
                [(attribute_piece(item, text),) for text in sort_adjectives(self.deferred[item.id])]
            )
            sentences.append(
                Sentence(
                    (*self._name_object(item.id), Piece(choose_copula(item)), *texts), "clause"
                )
            )
        return sentences

    def write_negations(self, negated: Sequence[Negated]) -> Sentence:
        """Return the sentence that negates atoms of the full graph. It follows all other sentences.

        Negations of one subject are joined: "the cup is not red and is not on the table", "there is no cat and no dog".
        """
        pieces: Words = ()
        previous: Words = ()
        for subject, predicate in map(self._write_negation, negated):
            if not previous:
                pieces = (*subject, *predicate)
            elif subject == previous:
                pieces += (Piece("and"), *predicate)
            else:
                pieces += (Piece(","), Piece("and"), *subject, *predicate)
            previous = subject
        return Sentence(pieces, "clause")

    def _write_negation(self, negated: Negated) -> tuple[Words, Words]:
        """Return the subject and the predicate of a negation: "the cup" and "is not red", "there is" and "no cat"."""
        item = self.full_graph.by_id[negated.object]
        if negated.kind == "attribute":
            predicate = (
                *to_pieces(f"{choose_copula(item)} not"),
                attribute_piece(item, negated.text),
            )
            return self._name_object(item.id), predicate
        if (edge := negated.relation) is not None:
            is_verb = is_finite(edge.predicate)  # "does not have", else "is not on"
            auxiliary = (
                ("do" if is_plural(item.name) else "does") if is_verb else choose_copula(item)
            )
            verb = (
                *to_pieces(f"{auxiliary} not"),
                write_predicate([edge], item, clause=True, after_does=is_verb),
            )
            return self._name_object(item.id), (*verb, *self._name_object(edge.object))
        denied = (Piece("no"), *write_adjectives(item, item.attributes), noun_piece(item))
        edges = [edge for edge in self.full_graph.relations if edge.subject == item.id]
        for edge in [edge for edge in edges if edge.object in self.graph.by_id][:1]:
            denied += (write_predicate([edge], item, clause=False), *self._name_object(edge.object))
        return to_pieces(f"there {choose_copula(item)}"), denied

    # Noun phrases

    def _name_object(self, key: str) -> Words:
        """Return "a large red cup" at the first mention, then "the cup", or "the red cup" if there are several cups."""
        item = self.graph.by_id[key]
        if key not in self.introduced:
            self.introduced.append(key)
            texts = [text for text in item.attributes if text not in self.deferred[key]]
            return (*choose_determiner(item), *write_adjectives(item, texts), noun_piece(item))
        namesakes = self._find_namesakes(item)
        shared = {text for namesake in namesakes for text in namesake.attributes}
        distinctive = [text for text in item.attributes if text not in shared][
            :1
        ] or item.attributes
        return (
            Piece("the"),
            *write_adjectives(item, distinctive if namesakes else ()),
            noun_piece(item),
        )


def _group_by_verb(edges: Sequence[Relation]) -> list[Sequence[Relation]]:
    """Return the relations in groups: two relations of one verb together ("wearing a hat and a coat"), others alone."""
    if len(edges) == 2 and are_same_verb(edges[0].predicate, edges[1].predicate):
        return [edges]
    return [[edge] for edge in edges]


def _can_be_coordinated(edges: Sequence[Relation]) -> bool:
    """Return True if two relations can be joined: "on and next to a box", but not "holding and on a box"."""
    return len({edge.object for edge in edges}) == len(edges) or all(map(_locates, edges))


def _locates(edge: Relation) -> bool:
    """Return True if a relation is a preposition other than "with"."""
    return predicate_kind(edge.predicate) == "preposition" and not is_with_or_has(edge.predicate)
