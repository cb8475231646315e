"""HN-Neg: captions that negate an atom of the image, and a balanced variant in which the true caption negates as well.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The paper's checks against G (no other black dog on a
building, no second pair of the same objects, no other object with the same attributes and relations) are one proof
here: in every reading of the rest of the caption, the graph has the negated atom (graphs/entailment.py). Differs from
the published set in: a negation keeps the caption's case and punctuation, and does not also assert the negated atom.

The balanced variant is ours. In HN-Neg every caption with "not" or "no" is a negative, so a text-only model can solve
it. In the balanced variant each of the six captions contains exactly one negation. A negative negates an atom of the
image ("the vase is not green"). The true caption replaces one atom by the negation of a contrary ("the vase is not
blue", for a green vase), so it asserts n - 1 atoms. Its atom is drawn from those that a negative could negate, and both
are written with the same constructions, so that type, number and position of negations have the same distribution; the
contrary is drawn by word frequency (atom.py).

A contrary must be contradicted by the graph, not only be absent from it: another value of an annotated attribute, a
relation that excludes the annotated one, or an object that is neither annotated nor mentioned in a region phrase.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

from generators.captioner import template
from generators.captioner.captioner import EditableCaption
from generators.graphs.entailment import Negated, counterpart, proves_false
from generators.graphs.facts import ImageFacts, image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.graphs.walks import redundant
from generators.hard_negatives.atom import Edit, first_mentions, foil_edits
from generators.hard_negatives.hard_negative import Foil, HardNegative, distinct
from generators.schemas.scene_graph import Mention, SceneGraph

NOT = "not"
"""The foil of a caption that is negated as a whole."""


def negation_negatives(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, rng: Random
) -> Iterator[HardNegative]:
    """Yield every negation of the caption that the image's graph proves false, in random order, each caption once."""
    whole = caption.negate_all()
    choices: list[Negated | None] = [*(None for _ in whole), *negatable_atoms(graph)]  # None: the whole caption
    rng.shuffle(choices)
    return distinct(
        (
            (whole.pop(), Foil("negation", "", NOT))
            if atom is None
            else (caption.negate(atom), Foil("negation", atom.text, _negation(atom.kind, atom.text)))
            for atom in choices
            if atom is None or proves_false(image, graph, atom)
        ),
        caption.text,
    )


def negatable_atoms(graph: SceneGraph) -> Iterator[Negated]:
    """Yield every atom whose negation leaves a graph that is not empty and in which no two objects are alike."""
    for item in graph.objects:
        for atom in (
            Negated("object", item.id, item.name),
            *(Negated("attribute", item.id, text) for text in item.attributes),
        ):
            rest = atom.rest(graph)
            if rest.objects and not redundant(rest):
                yield atom
    for edge in graph.relations:
        yield Negated("relation", edge.subject, edge.predicate, edge)


def _negation(kind: str, text: str) -> str:
    return f"{'no' if kind == 'object' else NOT} {text}"


class NegationPair(NamedTuple):
    """Two captions with a negation at one position, and the negations ("not green", "no cup").

    ``false`` negates an atom of the image, ``true`` a contrary of that atom.
    """

    false: str
    true: str
    false_negation: str
    true_negation: str


class BalancedSet(NamedTuple):
    """A true caption with a negation, and all its negatives; each foil names both negations."""

    caption: str
    negatives: tuple[HardNegative, ...]


def balanced_negation(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary, rng: Random
) -> BalancedSet | None:
    """Return the true caption and every negative, in random order, or None if no atom has both negations."""
    pairs = list({pair.false: pair for pair in _pairs(graph, image, caption, vocabulary, rng)}.values())
    if not pairs:
        return None
    chosen = rng.choice(pairs)
    negatives = (
        HardNegative(pair.false, (Foil("negation", chosen.true_negation, pair.false_negation),))
        for pair in rng.sample(pairs, len(pairs))
        if pair.false != chosen.true
    )
    return BalancedSet(chosen.true, tuple(negatives))


def _pairs(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary, rng: Random
) -> Iterator[NegationPair]:
    mentions = {_identity(mention): mention for mention in first_mentions(caption.mentions)}
    first_edits: list[Edit] = []
    for atom in negatable_atoms(graph):
        mention = mentions.get((atom.kind, atom.text, atom.object, atom.relation and atom.relation.object))
        if mention is None:
            continue
        edits = foil_edits(mention, graph, image, caption, vocabulary, rng)
        first_edits += edits[:1]
        pair = _atom_pair(graph, caption, atom, edits)
        if pair is not None and proves_false(image, graph, atom):
            yield pair
    if first_edits and not _is_negated_by_part(graph):
        _, edited = rng.choice(first_edits)
        for false, true in zip(caption.negate_all(), caption.negate_all(edited), strict=False):
            yield NegationPair(false, true, NOT, NOT)


def _is_negated_by_part(graph: SceneGraph) -> bool:
    """True if the template negates each part: "no cup on table and no vase" is false if one of the two is there."""
    related = {end for edge in graph.relations for end in (edge.subject, edge.object)}
    parts = bool(related) + sum(item.id not in related for item in graph.objects)
    return graph.complexity == template.SIZE and parts > 1


def _identity(mention: Mention) -> tuple[str, str, str, str | None]:
    return mention.kind, mention.text, mention.object, mention.target


def _atom_pair(graph: SceneGraph, caption: EditableCaption, atom: Negated, edits: list[Edit]) -> NegationPair | None:
    """The atom negated, and the first of its foils that the rest of the caption does not already rule out."""
    rest = image_facts(_without_boxes(atom.rest(graph)))
    false = caption.negate(atom)
    for foil, edited in edits:
        if atom.kind != "object" and rest.is_false(_statement(counterpart(atom, graph, edited), edited)):
            continue  # "left of a table and not right of it" is true of every image
        true = caption.negate(atom, edited)
        if false is not None and true is not None:
            negations = _negation(atom.kind, atom.text), _negation(foil.type, foil.replacement)
            return NegationPair(false, true, *negations)
    return None


def _statement(atom: Negated, graph: SceneGraph) -> SceneGraph:
    """The graph of an attribute or a relation by itself: "a blue vase", "a cup under a table"."""
    edge = atom.relation
    if edge is None:
        return SceneGraph((replace(graph.by_id[atom.object], attributes=(atom.text,), box=None),))
    ends = (graph.by_id[edge.subject], graph.by_id[edge.object])
    return SceneGraph(tuple(replace(end, attributes=(), box=None) for end in ends), (edge,))


def _without_boxes(graph: SceneGraph) -> SceneGraph:
    return replace(graph, objects=tuple(replace(item, box=None) for item in graph.objects))
