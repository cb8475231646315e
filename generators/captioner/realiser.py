"""A grammar that realises scene graphs of up to twelve atoms as fluent English captions, and negates them.

It replaces the language model of CREPE's appendix A.3 (arXiv:2212.07796) where there is no key. Graphs of four atoms
take the paper's template (template.py). All captions are lower-case sentences joined by ". " without a final period, so
that neither case nor punctuation distinguishes a negative.

Constructions for n >= 5 (NP: "a large red cup", later "the cup", or "the red cup" if there are several; P: a relation):

    opening     "NP P NP", "there is NP P NP", "NP is P NP"; two relations: "P NP and P NP", "P and P NP"
    embedding   "NP P NP that is P NP", "NP P NP that has NP"
    later       "the cup is P NP", "NP is P the cup", "P the cup is NP", "there is NP P the cup"
    possession  "NP with NP is P NP"
    unrelated   "there is also NP and NP", "NP, NP and NP are also visible"; no relation at all: "NP, NP and NP"
    attributes  "the cup is red and striped" for some of three or more
    negation    "the cup is not red", "the cup is not P the table", "there is no red cup P the table" at the end;
                "it is not true that S, that S and that S" with one relation per clause, "there is no NP P NP"

The seed selects among the forms. Planning depends on the ids and edges of the graph only, so that a graph with other
words is phrased in the same way.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from generators.captioner import template
from generators.captioner.words import Piece, copula, determiner, linearise, listed, words
from generators.captioner.writer import Writer
from generators.graphs.entailment import Negated
from generators.language.grammar import predicate_kind
from generators.schemas.scene_graph import Mention, SceneGraph


class Realisation(NamedTuple):
    """A caption, and a mention for every position at which it names an atom, later references included."""

    text: str
    mentions: tuple[Mention, ...]


def supports_predicate(predicate: str) -> bool:
    """True if the grammar has a construction for the predicate."""
    return predicate_kind(predicate) is not None


def supports(graph: SceneGraph) -> bool:
    """True if the grammar can realise a graph whose predicates it supports."""
    return graph.complexity != template.SIZE or template.supports(graph)


def realise(graph: SceneGraph, seed: str, negated: Negated | None = None) -> Realisation:
    """Return a caption that asserts every atom of the graph, except for ``negated``, which it negates."""
    if graph.complexity == template.SIZE:
        return Realisation(*linearise(template.caption(graph, negated)))
    writer = Writer(negated.rest(graph) if negated else graph, Random(seed), full_graph=graph)
    first, *others = writer.sentences() + ([writer.negation(negated)] if negated else [])
    pieces = first.words
    for sentence in others:
        pieces += (Piece("."), *sentence.words)
    return Realisation(*linearise(pieces))


def negate_all(graph: SceneGraph, seed: str) -> list[str]:
    """Return the captions that negate the whole graph, one per suitable construction."""
    if graph.complexity == template.SIZE:
        return [linearise(template.negate_all(graph))[0]]
    clauses = Writer(graph, Random(seed), style="existential", plain=True).sentences()
    negations = [(*words("it is not true"), *listed([(Piece("that"), *clause.words) for clause in clauses]))]
    if len(clauses) == 1 and graph.relations:
        subject = graph.by_id[graph.relations[0].subject]
        fragment = Writer(graph, Random(seed), style="fragment", plain=True).sentences()[0].words
        negations.append((*words(f"there {copula(subject)} no"), *fragment[len(determiner(subject)) :]))
    return [linearise(negation)[0] for negation in negations]
