"""The grammar captioner: captions of scene graphs of four to twelve atoms in fluent English, and their negations.

It replaces the template and the language model of CREPE's appendix A.3 (arXiv:2212.07796). All captions are lower-case
sentences joined by ". ", without a final period, so that case and punctuation do not distinguish hard negatives.

Constructions. NP is a noun phrase: "a large red cup", after its first mention "the cup", or "the
red cup" if there are several cups. P is the predicate of a relation. S is a sentence.

    first sentence   "NP P NP", "there is NP P NP", "NP is P NP"
                     with two relations: "NP P NP and P NP", "NP P and P NP"
    relative clause  "NP P NP that is P NP", "NP P NP that has NP"
    later sentences  "the cup is P NP", "NP is P the cup", "P the cup is NP", "there is NP P the cup"
    possession       "NP with NP is P NP"
    without relation "there is also NP and NP", "NP, NP and NP are also visible"
                     if the graph has no relations: "NP, NP and NP"
    attributes       "the cup is red and striped", for some of the objects with three or more attributes
    negated atom     as the last sentence: "the cup is not red", "the cup is not P the table", "there is no NP P NP"
                     several: "the cup is not red and is not P the table", "the cup is not red, and there is no NP"
    negated caption  "it is not true that S, that S and that S" with one relation per S, "there is no NP P NP"

The seed selects among the constructions. The selection depends only on the graph's ids and edges, so that a graph with
replaced words gets the same sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, SceneGraph
from compeval.generators.captioner.words import (
    Piece,
    Words,
    choose_copula,
    choose_determiner,
    join_pieces,
    join_text,
    join_with_and,
    to_pieces,
)
from compeval.generators.captioner.writer import Writer
from compeval.generators.graphs.entailment import Negated, remove_atoms
from compeval.generators.language.grammar import predicate_kind


class CaptionWithMentions(NamedTuple):
    """A caption, and a mention for each position at which it names an atom, including later references."""

    text: str
    mentions: tuple[Mention, ...]


def can_express_predicate(predicate: str) -> bool:
    """Return True if the grammar has a construction for the predicate."""
    return predicate_kind(predicate) is not None


def write_caption(graph: SceneGraph, seed: str) -> CaptionWithMentions:
    """Return a caption that asserts every atom of the graph, with its mentions."""
    return CaptionWithMentions(*join_pieces(_write_pieces(graph, seed, ())))


def write_text(graph: SceneGraph, seed: str, negated: Sequence[Negated] = ()) -> str:
    """Return a caption that asserts every atom of the graph except ``negated``, and negates these."""
    return join_text(_write_pieces(graph, seed, negated))


def _write_pieces(graph: SceneGraph, seed: str, negated: Sequence[Negated]) -> Words:
    writer = Writer(remove_atoms(graph, negated), Random(seed), full_graph=graph)
    first, *later_sentences = writer.write_sentences() + (
        [writer.write_negations(negated)] if negated else []
    )
    pieces = first.words
    for sentence in later_sentences:
        pieces += (Piece("."), *sentence.words)
    return pieces


def negate_all(graph: SceneGraph, seed: str) -> list[str]:
    """Return the captions that negate the whole graph, one per suitable construction; they have the same meaning."""
    clauses = Writer(graph, Random(seed), style="existential", negatable=True).write_sentences()
    negations = [
        (
            *to_pieces("it is not true"),
            *join_with_and([(Piece("that"), *clause.words) for clause in clauses]),
        )
    ]
    if len(clauses) == 1 and graph.relations:
        subject = graph.by_id[graph.relations[0].subject]
        fragment = (
            Writer(graph, Random(seed), style="fragment", negatable=True).write_sentences()[0].words
        )
        negations.append(
            (
                *to_pieces(f"there {choose_copula(subject)} no"),
                *fragment[len(choose_determiner(subject)) :],
            )
        )
    return list(map(join_text, negations))
