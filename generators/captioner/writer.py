"""The text of a graph, sentence by sentence: content order and constructions (realiser.py lists the forms)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

from generators.captioner.words import (
    Piece,
    Words,
    adjectives,
    attribute,
    copula,
    determiner,
    listed,
    noun,
    related,
    words,
)
from generators.graphs.entailment import Negated
from generators.language.grammar import (
    follows_noun,
    in_adjective_order,
    is_finite,
    is_plural,
    is_possession,
    is_same_verb,
    predicate_kind,
)
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

Style = Literal["fragment", "existential", "clause"]
Opening = Style | Literal["inverted"]
MAX_LISTED = 4
"""Objects in one list."""


class Sentence(NamedTuple):
    words: Words
    style: Style


class Writer:
    """Writes a graph edge by edge.

    References are unambiguous in ``full_graph``. A ``plain`` text has one relation per sentence, because the negation
    of a sentence with two readings may be true.
    """

    def __init__(
        self,
        graph: SceneGraph,
        rng: Random,
        style: Style | None = None,
        full_graph: SceneGraph | None = None,
        plain: bool = False,
    ) -> None:
        self.graph, self.rng, self.full_graph, self.plain = graph, rng, full_graph or graph, plain
        drawn: Style = rng.choice(("fragment", "existential", "clause"))
        self.style: Style = style or drawn
        self.pending = list(graph.relations)
        self.introduced: list[str] = []
        self.deferred = {item.id: self._defer(item) for item in graph.objects}

    # Planning

    def sentences(self) -> list[Sentence]:
        """Return sentences for the whole graph, in order."""
        sentences: list[Sentence] = []
        while self.pending:
            known = len(self.introduced)
            sentences.append(self._relate(sentences))
            sentences += self._attributes(self.introduced[known:])
        unrelated = [item.id for item in self.graph.objects if item.id not in self.introduced]
        count = -(-len(unrelated) // MAX_LISTED)
        for part in range(count):  # as few lists as possible, of equal length
            keys = unrelated[len(unrelated) * part // count : len(unrelated) * (part + 1) // count]
            sentences.append(self._list(keys, sentences))
            sentences += self._attributes(keys)
        return sentences

    def _relate(self, previous: Sequence[Sentence]) -> Sentence:
        """The next sentence that relates objects: one or two relations of one subject."""
        subject = self._next_subject()
        edges = [edge for edge in self.pending if edge.subject == subject]
        edges = self._take(edges[: 1 if self.plain or not _can_be_coordinated(edges[:2]) else 2])
        if subject in self.introduced:
            return Sentence(self._clause(subject, edges), "clause")
        refers_back = any(edge.object in self.introduced for edge in edges)
        style = self._opening_style(previous, edges, refers_back)
        if style == "inverted":
            return Sentence(self._inverted(edges[0]), "clause")
        # Relations that follow their subject without a verb: not "with a hat and on a bench".
        follow = len(edges) == 1 or sum(is_possession(edge.predicate) for edge in edges) != 1
        if style != "clause" and follow:
            also = bool(previous) and not self.plain and not refers_back
            there = () if style == "fragment" else self._there(subject, also=also)
            return Sentence((*there, *self._phrase(subject, edges)), style)
        return Sentence(self._clause(subject, edges), "clause")

    def _opening_style(self, previous: Sequence[Sentence], edges: Sequence[Relation], refers_back: bool) -> Opening:
        """The construction that introduces an object: not "there is" twice in a row."""
        if not previous or self.plain:
            return self.style
        styles: list[Opening] = ["clause"]
        if previous[-1].style != "existential":
            styles.append("existential")
        if refers_back and len(edges) == 1 and _locates(edges[0]):
            styles.append("inverted")
        return self.rng.choice(styles)

    def _next_subject(self) -> str:
        """The last introduced subject, else a new one related to an introduced object, else any with most relations."""
        subjects = list(dict.fromkeys(edge.subject for edge in self.pending))
        for key in reversed(self.introduced):
            if key in subjects:
                return key
        for edge in self.pending:
            if edge.object in self.introduced:
                return edge.subject
        degrees = {key: sum(edge.subject == key for edge in self.pending) for key in subjects}
        return self.rng.choice([key for key in subjects if degrees[key] == max(degrees.values())])

    def _take(self, edges: list[Relation]) -> list[Relation]:
        for edge in edges:
            self.pending.remove(edge)
        return edges

    def _defer(self, item: SceneObject) -> tuple[str, ...]:
        """The attributes of an object that get a sentence of their own."""
        deferred = [text for text in item.attributes if follows_noun(text)]
        others = [text for text in item.attributes if text not in deferred]
        is_crowded = len(others) >= 3 and self.rng.random() < 0.7
        if is_crowded and not self.plain and not self._namesakes(item):
            deferred += self.rng.sample(others, len(others) - 1)
        return tuple(deferred)

    def _namesakes(self, item: SceneObject) -> list[SceneObject]:
        return [other for other in self.full_graph.objects if other.name == item.name and other.id != item.id]

    # Sentences

    def _clause(self, subject: str, edges: Sequence[Relation]) -> Words:
        """ "NP is P NP and P NP"; "NP with NP is P NP" for a new subject with a possession."""
        item = self.graph.by_id[subject]
        owned = [edge for edge in edges if is_possession(edge.predicate)]
        if len(owned) == 1 and len(edges) == 2 and subject not in self.introduced:
            edges = [edge for edge in edges if edge not in owned]
            head = (*self._refer(subject), related(owned, item, clause=False), *self._refer(owned[0].object))
            return (*head, *self._predicates(item, edges))
        return (*self._refer(subject), *self._predicates(item, edges), *self._embedded(edges))

    def _phrase(self, subject: str, edges: Sequence[Relation]) -> Words:
        """ "NP P NP and P NP", "NP with NP"."""
        item = self.graph.by_id[subject]
        head = self._refer(subject)
        phrases = [(related(group, item, clause=False),) for group in _groups(edges)]
        return (*head, *self._with_objects(edges, phrases), *self._embedded(edges))

    def _inverted(self, edge: Relation) -> Words:
        """ "behind the table is a lamp"."""
        item = self.graph.by_id[edge.subject]
        preposition = related([edge], item, clause=False)
        return (preposition, *self._refer(edge.object), Piece(copula(item)), *self._refer(edge.subject))

    def _predicates(self, item: SceneObject, edges: Sequence[Relation]) -> Words:
        """ "is on a table and next to a lamp", "is on a bench and has a beard"."""
        parts: list[Words] = []
        has_copula = False
        for group in _groups(edges):
            finite = is_finite(group[0].predicate)
            auxiliary = () if finite or has_copula else words(copula(item))
            has_copula = not finite
            parts.append((*auxiliary, related(group, item, clause=True)))
        return self._with_objects(edges, parts)

    def _with_objects(self, edges: Sequence[Relation], parts: Sequence[Words]) -> Words:
        """ "on a table and next to a lamp", "next to and to the left of a lamp", "wearing a hat and a coat"."""
        if len(parts) < len(edges):
            return (*parts[0], *listed([self._refer(edge.object) for edge in edges]))
        following = (*(edge.object for edge in edges[1:]), None)
        return listed(
            [
                part if edge.object == next_object else (*part, *self._refer(edge.object))
                for edge, part, next_object in zip(edges, parts, following, strict=True)
            ]
        )

    def _embedded(self, edges: Sequence[Relation]) -> Words:
        """ "that is P NP" about the object at the end of a sentence of one relation, if it has one other relation."""
        if len(edges) != 1 or self.plain:
            return ()
        host = self.graph.by_id[edges[0].object]
        more = [edge for edge in self.pending if edge.subject == host.id]
        if len(more) != 1 or self.deferred[host.id] or self.introduced[-1] != host.id or self.rng.random() < 0.3:
            return ()
        return (Piece("that"), *self._predicates(host, self._take(more)))

    def _list(self, keys: Sequence[str], previous: Sequence[Sentence]) -> Sentence:
        """A list of unrelated objects."""
        phrases = listed([self._refer(key) for key in keys])
        if not previous and self.style == "fragment":
            return Sentence(phrases, "fragment")
        if previous and previous[-1].style == "existential" and not self.plain:
            verb = copula(self.graph.by_id[keys[0]]) if len(keys) == 1 else "are"
            return Sentence((*phrases, *words(f"{verb} also visible")), "clause")
        also = bool(previous) and not self.plain
        return Sentence((*self._there(keys[0], also=also), *phrases), "existential")

    def _there(self, key: str, *, also: bool) -> Words:
        return words(f"there {copula(self.graph.by_id[key])}{' also' if also else ''}")

    def _attributes(self, keys: Sequence[str]) -> list[Sentence]:
        """A sentence for the deferred attributes of each object."""
        sentences = []
        for item in (self.graph.by_id[key] for key in keys if self.deferred[key]):
            texts = listed([(attribute(item, text),) for text in in_adjective_order(self.deferred[item.id])])
            sentences.append(Sentence((*self._refer(item.id), Piece(copula(item)), *texts), "clause"))
        return sentences

    def negation(self, negated: Negated) -> Sentence:
        """Return the sentence that negates one atom of the full graph, after all other sentences."""
        item = self.full_graph.by_id[negated.object]
        if negated.kind == "attribute":
            pieces = (*self._refer(item.id), *words(f"{copula(item)} not"), attribute(item, negated.text))
        elif (edge := negated.relation) is not None:
            is_verb = is_finite(edge.predicate)  # "does not have", else "is not on"
            auxiliary = ("do" if is_plural(item.name) else "does") if is_verb else copula(item)
            predicate = related([edge], item, clause=True, bare=is_verb)
            pieces = (*self._refer(item.id), *words(f"{auxiliary} not"), predicate, *self._refer(edge.object))
        else:
            pieces = (*words(f"there {copula(item)} no"), *adjectives(item, item.attributes), noun(item))
            edges = [edge for edge in self.full_graph.relations if edge.subject == item.id]
            for edge in [edge for edge in edges if edge.object in self.graph.by_id][:1]:
                pieces += (related([edge], item, clause=False), *self._refer(edge.object))
        return Sentence(pieces, "clause")

    # Noun phrases

    def _refer(self, key: str) -> Words:
        """ "a large red cup" at first, then "the cup", or "the red cup" if there are several cups."""
        item = self.graph.by_id[key]
        if key not in self.introduced:
            self.introduced.append(key)
            texts = [text for text in item.attributes if text not in self.deferred[key]]
            return (*determiner(item), *adjectives(item, texts), noun(item))
        others = self._namesakes(item)
        unique = [text for text in item.attributes if not any(text in other.attributes for other in others)]
        return (Piece("the"), *adjectives(item, (unique[:1] or item.attributes) if others else ()), noun(item))


def _groups(edges: Sequence[Relation]) -> list[Sequence[Relation]]:
    """Each relation by itself, but two of one verb together: "wearing a hat and a coat"."""
    if len(edges) == 2 and is_same_verb(edges[0].predicate, edges[1].predicate):
        return [edges]
    return [[edge] for edge in edges]


def _can_be_coordinated(edges: Sequence[Relation]) -> bool:
    """True if two relations of a subject read well together: "on and next to a box", not "holding and on a box"."""
    return len({edge.object for edge in edges}) == len(edges) or all(map(_locates, edges))


def _locates(edge: Relation) -> bool:
    """True if a relation is a preposition other than "with"."""
    return predicate_kind(edge.predicate) == "preposition" and not is_possession(edge.predicate)
