"""The text of a graph, sentence by sentence: what to speak of next, and how (realiser.py lists the forms)."""

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
LISTED = 4
"""Objects that one sentence lists, at most."""


class Sentence(NamedTuple):
    words: Words
    style: Style


class Writer:
    """Says a graph, edge by edge.

    ``introduced`` are the objects that "the" can refer to, ``among`` has those that a reference must tell apart. A
    ``plain`` text has one relation a sentence: to deny one that can be read in two ways may say something true.
    """

    def __init__(
        self,
        graph: SceneGraph,
        rng: Random,
        style: Style | None = None,
        among: SceneGraph | None = None,
        plain: bool = False,
    ) -> None:
        self.graph, self.rng, self.among, self.plain = graph, rng, among or graph, plain
        self.style: Style = rng.choice(("fragment", "existential", "clause"))
        self.style = style or self.style
        self.pending = list(graph.relations)
        self.introduced: list[str] = []
        self.held = {item.id: self._hold(item) for item in graph.objects}

    # Planning

    def sentences(self) -> list[Sentence]:
        """Everything the graph says, in order."""
        said: list[Sentence] = []
        while self.pending:
            known = len(self.introduced)
            said.append(self._relate(said))
            said += self._looks(self.introduced[known:])
        apart = [item.id for item in self.graph.objects if item.id not in self.introduced]
        for keys in _portions(apart):
            said.append(self._apart(keys, said))
            said += self._looks(keys)
        return said

    def _relate(self, said: Sequence[Sentence]) -> Sentence:
        """The next sentence that relates objects: one or two relations of one subject."""
        subject = self._next_subject()
        edges = [edge for edge in self.pending if edge.subject == subject]
        edges = self._take(edges[: 1 if self.plain or not _coordinate(edges[:2]) else 2])
        if subject in self.introduced:
            return Sentence(self._clause(subject, edges), "clause")
        style = self._opening_style(said, edges)
        if style == "inverted":
            return Sentence(self._inverted(edges[0]), "clause")
        if style != "clause" and _modifies(edges):
            also = bool(said) and not self.plain and not self._touches(edges)
            there = () if style == "fragment" else self._there(subject, also=also)
            return Sentence((*there, *self._modified(subject, edges)), style)
        return Sentence(self._clause(subject, edges), "clause")

    def _opening_style(self, said: Sequence[Sentence], edges: Sequence[Relation]) -> Style | Literal["inverted"]:
        """How a sentence about a newcomer begins: not with "there is" twice in a row."""
        if not said or self.plain:
            return self.style
        styles: list[Style | Literal["inverted"]] = ["clause"]
        if said[-1].style != "existential":
            styles.append("existential")
        if self._touches(edges) and len(edges) == 1 and _locates(edges[0]):
            styles.append("inverted")
        return self.rng.choice(styles)

    def _touches(self, edges: Sequence[Relation]) -> bool:
        return any(edge.object in self.introduced for edge in edges)

    def _next_subject(self) -> str:
        """Who to speak of next: someone just introduced, else a newcomer related to one, else a new start."""
        subjects = list(dict.fromkeys(edge.subject for edge in self.pending))
        for key in reversed(self.introduced):
            if key in subjects:
                return key
        newcomers = [edge.subject for edge in self.pending if edge.object in self.introduced]
        if newcomers:
            return newcomers[0]
        degrees = {key: sum(edge.subject == key for edge in self.pending) for key in subjects}
        return self.rng.choice([key for key in subjects if degrees[key] == max(degrees.values())])

    def _take(self, edges: list[Relation]) -> list[Relation]:
        for edge in edges:
            self.pending.remove(edge)
        return edges

    def _hold(self, item: SceneObject) -> tuple[str, ...]:
        """The attributes of an object that a sentence of their own says."""
        held = [text for text in item.attributes if follows_noun(text)]
        others = [text for text in item.attributes if text not in held]
        crowded = len(others) >= 3 and self.rng.random() < 0.7
        if crowded and not self.plain and not self._namesakes(item):
            held += self.rng.sample(others, len(others) - 1)
        return tuple(held)

    def _namesakes(self, item: SceneObject) -> list[SceneObject]:
        return [other for other in self.among.objects if other.name == item.name and other.id != item.id]

    # Sentences

    def _clause(self, subject: str, edges: Sequence[Relation]) -> Words:
        """ "NP is P NP and P NP"; "NP with NP is P NP" of a newcomer that has something."""
        item = self.graph.by_id[subject]
        owned = [edge for edge in edges if is_possession(edge.predicate)]
        if len(owned) == 1 and len(edges) == 2 and subject not in self.introduced:
            edges = [edge for edge in edges if edge not in owned]
            head = (*self._refer(subject), related(owned, item, clause=False), *self._refer(owned[0].object))
            return (*head, *self._predicates(item, edges))
        return (*self._refer(subject), *self._predicates(item, edges), *self._embedded(edges))

    def _modified(self, subject: str, edges: Sequence[Relation]) -> Words:
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
        shared = False
        for group in _groups(edges):
            finite = is_finite(group[0].predicate)
            auxiliary = () if finite or shared else words(copula(item))
            shared = not finite
            parts.append((*auxiliary, related(group, item, clause=True)))
        return self._with_objects(edges, parts)

    def _with_objects(self, edges: Sequence[Relation], parts: Sequence[Words]) -> Words:
        """ "on a table and next to a lamp", "next to and to the left of a lamp", "wearing a hat and a coat"."""
        if len(parts) < len(edges):
            return (*parts[0], *listed([self._refer(edge.object) for edge in edges]))
        said = [
            part if edge.object == following else (*part, *self._refer(edge.object))
            for edge, part, following in zip(edges, parts, (*(edge.object for edge in edges[1:]), None), strict=True)
        ]
        return listed(said)

    def _embedded(self, edges: Sequence[Relation]) -> Words:
        """ "that is P NP" about the object that ends a sentence of one relation, if it has just one more to tell."""
        if len(edges) != 1 or self.plain:
            return ()
        host = self.graph.by_id[edges[0].object]
        more = [edge for edge in self.pending if edge.subject == host.id]
        if len(more) != 1 or self.held[host.id] or self.introduced[-1] != host.id or self.rng.random() < 0.3:
            return ()
        return (Piece("that"), *self._predicates(host, self._take(more)))

    def _apart(self, keys: Sequence[str], said: Sequence[Sentence]) -> Sentence:
        """Objects that no relation mentions."""
        phrases = listed([self._refer(key) for key in keys])
        if not said and self.style == "fragment":
            return Sentence(phrases, "fragment")
        if said and said[-1].style == "existential" and not self.plain:
            verb = copula(self.graph.by_id[keys[0]]) if len(keys) == 1 else "are"
            return Sentence((*phrases, *words(f"{verb} also visible")), "clause")
        also = bool(said) and not self.plain
        return Sentence((*self._there(keys[0], also=also), *phrases), "existential")

    def _there(self, key: str, *, also: bool) -> Words:
        return words(f"there {copula(self.graph.by_id[key])}{' also' if also else ''}")

    def _looks(self, keys: Sequence[str]) -> list[Sentence]:
        """A sentence for the attributes that were held back of each object."""
        return [
            Sentence(
                (
                    *self._refer(key),
                    Piece(copula(item)),
                    *listed([(attribute(item, text),) for text in in_adjective_order(self.held[key])]),
                ),
                "clause",
            )
            for key in keys
            if self.held[key]
            for item in (self.graph.by_id[key],)
        ]

    def denial(self, graph: SceneGraph, negated: Negated) -> Sentence:
        """The sentence that denies one atom of ``graph``, after all the others were said."""
        item = graph.by_id[negated.object]
        if negated.kind == "attribute":
            said = (*self._refer(item.id), *words(f"{copula(item)} not"), attribute(item, negated.text))
        elif negated.relation is not None:
            said = (*self._refer(item.id), *_denied(negated.relation, item), *self._refer(negated.relation.object))
        else:
            edges = [edge for edge in graph.relations if edge.subject == item.id and edge.object in self.graph.by_id]
            said = (*words(f"there {copula(item)} no"), *adjectives(item, item.attributes), noun(item))
            for edge in edges[:1]:
                said += (related([edge], item, clause=False), *self._refer(edge.object))
        return Sentence(said, "clause")

    # Noun phrases

    def _refer(self, key: str) -> Words:
        """ "a large red cup" at first, then "the cup" or, beside another cup, "the red cup"."""
        item = self.graph.by_id[key]
        if key not in self.introduced:
            self.introduced.append(key)
            told = [text for text in item.attributes if text not in self.held[key]]
            return (*determiner(item), *adjectives(item, told), noun(item))
        others = self._namesakes(item)
        telling = [text for text in item.attributes if not any(text in other.attributes for other in others)]
        return (Piece("the"), *adjectives(item, (telling[:1] or item.attributes) if others else ()), noun(item))


def _portions(keys: Sequence[str]) -> list[Sequence[str]]:
    """The keys in as few runs of at most LISTED as there can be, as even as they can be."""
    count = -(-len(keys) // LISTED)
    return [keys[len(keys) * at // count : len(keys) * (at + 1) // count] for at in range(count)]


def _groups(edges: Sequence[Relation]) -> list[Sequence[Relation]]:
    """Each relation by itself, but two of one verb together: "wearing a hat and a coat"."""
    if len(edges) == 2 and is_same_verb(edges[0].predicate, edges[1].predicate):
        return [edges]
    return [[edge] for edge in edges]


def _coordinate(edges: Sequence[Relation]) -> bool:
    """Whether two relations of a subject read well together: "on and next to a box", not "holding and on a box"."""
    if len({edge.object for edge in edges}) == len(edges):
        return True
    return all(_locates(edge) for edge in edges)


def _locates(edge: Relation) -> bool:
    """Whether a relation is a preposition other than "with"."""
    return predicate_kind(edge.predicate) == "preposition" and not is_possession(edge.predicate)


def _modifies(edges: Sequence[Relation]) -> bool:
    """Whether the relations can follow their subject without a verb: not "with a hat and on a bench"."""
    return len(edges) == 1 or sum(is_possession(edge.predicate) for edge in edges) != 1


def _denied(edge: Relation, subject: SceneObject) -> Words:
    """ "is not on", "does not have"."""
    if is_finite(edge.predicate):
        auxiliary = "do not" if is_plural(subject.name) else "does not"
        return (*words(auxiliary), related([edge], subject, clause=True, bare=True))
    return (*words(f"{copula(subject)} not"), related([edge], subject, clause=True))
