"""A grammar realiser: English captions of scene graphs, fluent at twelve atoms, and their denials.

It stands in for the language model of CREPE's appendix A.3 (arXiv:2212.07796), where no key is at hand. Graphs of four
atoms take the paper's template (generators/captioner/template.py). All captions are lower-case sentences without a
final period, joined by ". ", so that neither case nor punctuation tells a negative.

Constructions, for n >= 5 (NP: "a large red cup", later "the cup", or "the red cup" beside another cup; P: a relation):

    opening     "NP P NP", "there is NP P NP", "NP is P NP"; two relations: "P NP and P NP", "P and P NP"
    embedding   "NP P NP that is P NP", "NP P NP that has NP"
    later       "the cup is P NP", "NP is P the cup", "P the cup is NP", "there is NP P the cup"
    owning      "NP with NP is P NP"
    apart       "there is also NP and NP", "NP, NP and NP are also visible"; nothing related: "NP, NP and NP"
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

from generators.captioner import template
from generators.captioner.words import Piece, Words, copula, determiner, linearise, listed, words
from generators.captioner.writer import Sentence, Writer
from generators.graphs.entailment import Negated
from generators.language.grammar import predicate_kind
from generators.schemas.scene_graph import Mention, SceneGraph


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
    writer = Writer(negated.rest(graph) if negated else graph, Random(seed), among=graph)
    sentences = writer.sentences()
    if negated:
        sentences.append(writer.denial(graph, negated))
    return Realisation(*linearise(_joined(sentences)))


def deny(graph: SceneGraph, seed: str) -> list[Realisation]:
    """Captions that deny the whole graph, one for each form that fits it."""
    if graph.complexity == template.SIZE:
        return [Realisation(*linearise(template.denial(graph)))]
    clauses = Writer(graph, Random(seed), style="existential", plain=True).sentences()
    denials = [(*words("it is not true"), *listed([(Piece("that"), *clause.words) for clause in clauses]))]
    if len(clauses) == 1 and graph.relations:
        subject = graph.by_id[graph.relations[0].subject]
        fragment = Writer(graph, Random(seed), style="fragment", plain=True).sentences()[0].words
        denials.append((*words(f"there {copula(subject)} no"), *fragment[len(determiner(subject)) :]))
    return [Realisation(*linearise(denial)) for denial in denials]


def _joined(sentences: Sequence[Sentence]) -> Words:
    pieces = sentences[0].words
    for sentence in sentences[1:]:
        pieces += (Piece("."), *sentence.words)
    return pieces
