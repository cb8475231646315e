"""A grammar realiser: English captions of scene graphs, fluent at twelve atoms, and their denials.

It stands in for the language model of CREPE's appendix A.3 (arXiv:2212.07796), where no key is at hand. Graphs of four
atoms take the paper's template (generators/realising/template.py). All captions are lower-case sentences without a
final period, joined by ". ", so that neither case nor punctuation tells a negative.

Constructions, for n >= 5 (NP: "a large red cup", later "the cup", or "the red cup" beside another cup; P: a relation):

    opening     "NP P NP", "there is NP P NP", "NP is P NP"; two relations: "P NP and P NP", "P and P NP"
    embedding   "NP P NP that is P NP", "NP P NP that has NP"
    later       "the cup is P NP", "NP is P the cup", "P the cup is NP", "there is NP P the cup"
    apart       "there is also NP", "there is also NP, NP and NP"; nothing related: "NP, NP and NP"
    attributes  "the cup is red and striped" for some of three or more
    denial      "the cup is not red", "the cup is not P the table", "there is no red cup P the table" at the end;
                "it is not true that S, that S and that S" with one relation a clause, "there is no NP P NP"

The seed decides among the forms. The plan looks at the graph's ids and edges, so a graph with exchanged words is put
the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

from generators.entailment import Negated
from generators.realising import template
from generators.realising.words import (
    Piece,
    Words,
    adjectives,
    attribute,
    copula,
    determiner,
    follows_noun,
    is_plural,
    linearise,
    listed,
    noun,
    ordered,
    predicate_kind,
    related,
    words,
)
from generators.scene_graph import Mention, Relation, SceneGraph, SceneObject

Style = Literal["fragment", "existential", "clause"]


@dataclass(frozen=True)
class Realisation:
    """A caption with a mention for every place where it names an atom node, later references included."""

    caption: str
    mentions: tuple[Mention, ...]


def sayable(predicate: str) -> bool:
    """Whether the grammar has a place for a predicate."""
    return predicate_kind(predicate) is not None


def fits(graph: SceneGraph) -> bool:
    """Whether the grammar can say a graph whose predicates are sayable."""
    return graph.complexity != template.SIZE or template.fits(graph)


def realise(graph: SceneGraph, seed: str, negated: Negated | None = None) -> Realisation:
    """A caption that asserts every atom of the graph, or denies the one that is ``negated`` and asserts the others."""
    if graph.complexity == template.SIZE:
        return Realisation(*linearise(template.caption(graph, negated)))
    writer = _Writer(negated.rest(graph) if negated else graph, Random(seed), among=graph)
    sentences = writer.sentences()
    if negated:
        sentences.append(writer.denial(graph, negated))
    return Realisation(*linearise(_joined(sentences)))


def deny(graph: SceneGraph, seed: str) -> list[Realisation]:
    """Captions that deny the whole graph, one for each form that fits it."""
    if graph.complexity == template.SIZE:
        return [Realisation(*linearise(template.denial(graph)))]
    clauses = _Writer(graph, Random(seed), style="existential", plain=True).sentences()
    denials = [(*words("it is not true"), *listed([(Piece("that"), *clause.words) for clause in clauses]))]
    if len(clauses) == 1 and graph.relations:
        fragment = _Writer(graph, Random(seed), style="fragment", plain=True).sentences()[0].words
        denials.append((*words("there is no"), *fragment[1:]))
    return [Realisation(*linearise(denial)) for denial in denials]


class _Sentence(NamedTuple):
    words: Words
    style: Style


def _joined(sentences: Sequence[_Sentence]) -> Words:
    pieces = sentences[0].words
    for sentence in sentences[1:]:
        pieces += (Piece("."), *sentence.words)
    return pieces


class _Writer:
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

    def sentences(self) -> list[_Sentence]:
        """Everything the graph says, in order."""
        said: list[_Sentence] = []
        while self.pending:
            known = len(self.introduced)
            said.append(self._relate(opening=not said))
            said += self._looks(self.introduced[known:])
        apart = [item.id for item in self.graph.objects if item.id not in self.introduced]
        if apart:
            said.append(self._apart(apart, opening=not said))
            said += self._looks(apart)
        return said

    def _relate(self, *, opening: bool) -> _Sentence:
        """The next sentence that relates objects: one or two relations of one subject."""
        subject = self._next_subject()
        edges = [edge for edge in self.pending if edge.subject == subject]
        edges = self._take(edges[: 1 if self.plain or not _coordinate(edges[:2]) else 2])
        if subject in self.introduced:
            return _Sentence(self._clause(subject, edges), "clause")
        if opening or not any(edge.object in self.introduced for edge in edges):
            style = self.style if opening else "existential"
        else:
            style = self.rng.choice(("clause", "existential", "inverted"))
        if style == "inverted" and len(edges) == 1 and predicate_kind(edges[0].predicate) == "preposition":
            return _Sentence(self._inverted(edges[0]), "clause")
        if style in ("fragment", "existential") and _modifies(edges):
            phrase = self._modified(subject, edges)
            if style == "fragment":
                return _Sentence(phrase, "fragment")
            return _Sentence((*self._there(subject, also=not opening and not self._touches(edges)), *phrase), "clause")
        return _Sentence(self._clause(subject, edges), "clause")

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
        """ "NP is P NP and P NP"."""
        item = self.graph.by_id[subject]
        return (*self._refer(subject), *self._predicates(item, edges), *self._embedded(edges))

    def _modified(self, subject: str, edges: Sequence[Relation]) -> Words:
        """ "NP P NP and P NP", "NP that has NP"."""
        item = self.graph.by_id[subject]
        head = self._refer(subject)
        if predicate_kind(edges[0].predicate) == "verb":
            return (*head, Piece("that"), *self._predicates(item, edges), *self._embedded(edges))
        phrases = [(related(edge, item, clause=False),) for edge in edges]
        return (*head, *self._with_objects(edges, phrases), *self._embedded(edges))

    def _inverted(self, edge: Relation) -> Words:
        """ "behind the table is a lamp"."""
        item = self.graph.by_id[edge.subject]
        preposition = related(edge, item, clause=False)
        return (preposition, *self._refer(edge.object), Piece(copula(item)), *self._refer(edge.subject))

    def _predicates(self, item: SceneObject, edges: Sequence[Relation]) -> Words:
        """ "is on a table and next to a lamp", "is on a bench and has a beard"."""
        parts: list[Words] = []
        shared = False
        for edge in edges:
            verbal = predicate_kind(edge.predicate) == "verb" or edge.predicate == "with"
            auxiliary = () if verbal or shared else words(copula(item))
            shared = not verbal
            parts.append((*auxiliary, related(edge, item, clause=True)))
        return self._with_objects(edges, parts)

    def _with_objects(self, edges: Sequence[Relation], parts: Sequence[Words]) -> Words:
        """ "on a table and next to a lamp", "next to and to the left of a lamp"."""
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

    def _apart(self, keys: Sequence[str], *, opening: bool) -> _Sentence:
        """The objects that no relation mentions."""
        phrases = [self._refer(key) for key in keys]
        if opening and self.style == "fragment":
            return _Sentence(listed(phrases), "fragment")
        return _Sentence((*self._there(keys[0], also=not opening), *listed(phrases)), "clause")

    def _there(self, key: str, *, also: bool) -> Words:
        return words(f"there {copula(self.graph.by_id[key])}{' also' if also else ''}")

    def _looks(self, keys: Sequence[str]) -> list[_Sentence]:
        """A sentence for the attributes that were held back of each object."""
        return [
            _Sentence(
                (
                    *self._refer(key),
                    Piece(copula(item)),
                    *listed([(attribute(item, text),) for text in ordered(self.held[key])]),
                ),
                "clause",
            )
            for key in keys
            if self.held[key]
            for item in (self.graph.by_id[key],)
        ]

    def denial(self, graph: SceneGraph, negated: Negated) -> _Sentence:
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
                that = words("that") if predicate_kind(edge.predicate) == "verb" else ()
                said += (*that, related(edge, item, clause=False), *self._refer(edge.object))
        return _Sentence(said, "clause")

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


def _coordinate(edges: Sequence[Relation]) -> bool:
    """Whether two relations of a subject read well together: "on and next to a box", not "holding and on a box"."""
    if len({edge.object for edge in edges}) == len(edges):
        return True
    return all(predicate_kind(edge.predicate) == "preposition" for edge in edges)


def _modifies(edges: Sequence[Relation]) -> bool:
    """Whether the relations can follow their subject without a verb; a verb can, alone: "that has"."""
    return len(edges) == 1 or all(predicate_kind(edge.predicate) != "verb" for edge in edges)


def _denied(edge: Relation, subject: SceneObject) -> Words:
    """ "is not on", "does not wear"."""
    if predicate_kind(edge.predicate) == "verb" or edge.predicate == "with":
        auxiliary = "do not" if is_plural(subject.name) else "does not"
        return (*words(auxiliary), related(edge, subject, clause=True, bare=True))
    return (*words(f"{copula(subject)} not"), related(edge, subject, clause=True))
