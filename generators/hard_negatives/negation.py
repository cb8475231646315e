"""HN-Neg: captions that negate an atom of the image, and a balanced variant with negations in all captions.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The paper checks separately that the image has no other
black dog on a building, no second pair of the same objects, and no other object with the same attributes and relations.
Here one proof replaces these checks: in every reading of the rest of the caption, the graph has the negated atom
(graphs/entailment.py).
Difference from the published dataset: a negation keeps the case and punctuation of the caption, and does not also
assert the negated atom.

The balanced variant is our own. In HN-Neg, every caption with "not" or "no" is a negative, so that a text-only model
can solve it. In the balanced variant, each of the six captions contains exactly one negation. A negative negates an
atom of the image ("the vase is not green"). The true caption replaces one atom by the negation of a contrary ("the vase
is not blue" for a green vase), so it asserts n - 1 atoms. The atom is drawn from the atoms that a negative could
negate, and both captions use the same constructions, so that type, number and position of negations have the same
distribution. The contrary is drawn by word frequency (atom.py).

The graph must contradict the contrary. It is not enough that the contrary is absent from the graph. A contrary is
another value of an annotated attribute, a relation that excludes the annotated relation, or an object that is neither
annotated nor mentioned in a region phrase.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from random import Random
from typing import NamedTuple

from generators.captioner import template
from generators.captioner.captioner import EditableCaption
from generators.graphs.entailment import Negated, find_counterpart
from generators.graphs.facts import collect_facts
from generators.graphs.walks import is_redundant
from generators.hard_negatives.atom import AtomFoils, Edit
from generators.hard_negatives.hard_negative import Foil, HardNegative, drop_duplicates
from generators.schemas.scene_graph import Mention, SceneGraph

NOT = "not"
"""The foil of a caption that is negated as a whole."""


def make_negation_negatives(
    false_negations: Sequence[Negated], caption: EditableCaption, rng: Random
) -> Iterator[HardNegative]:
    """Yield the negations of these atoms and of the whole caption, in random order, without duplicates."""
    whole_negations = caption.negate_all()
    # None stands for a negation of the whole caption.
    choices: list[Negated | None] = [*(None for _ in whole_negations), *false_negations]
    rng.shuffle(choices)
    return drop_duplicates(
        (
            (whole_negations.pop(), Foil("negation", "", NOT))
            if atom is None
            else (caption.negate(atom), Foil("negation", atom.text, _describe_negation(atom.kind, atom.text)))
            for atom in choices
        ),
        caption.text,
    )


def find_negatable_atoms(graph: SceneGraph) -> Iterator[Negated]:
    """Yield all atoms that can be negated.

    The graph without the atom must not be empty, and must not have redundant objects.
    """
    for item in graph.objects:
        for atom in (
            Negated("object", item.id, item.name),
            *(Negated("attribute", item.id, text) for text in item.attributes),
        ):
            rest = atom.remove_from(graph)
            if rest.objects and not is_redundant(rest):
                yield atom
    for edge in graph.relations:
        yield Negated("relation", edge.subject, edge.predicate, edge)


def _describe_negation(kind: str, text: str) -> str:
    return f"{'no' if kind == 'object' else NOT} {text}"


class NegationPair(NamedTuple):
    """Two captions with a negation at the same position, and the negations ("not green", "no cup").

    ``false`` negates an atom of the image, and ``true`` negates a contrary of that atom.
    """

    false: str
    true: str
    false_negation: str
    true_negation: str


class BalancedSet(NamedTuple):
    """A true caption with a negation, and its negatives. Each foil names both negations."""

    caption: str
    negatives: tuple[HardNegative, ...]


def make_balanced_set(false_negations: Sequence[Negated], atoms: AtomFoils, rng: Random) -> BalancedSet | None:
    """Return the true caption and all negatives in random order, or None if no atom has both negations.

    ``false_negations`` are the atoms whose negation is false of the image.
    """
    pairs = list({pair.false: pair for pair in _make_pairs(set(false_negations), atoms, rng)}.values())
    if not pairs:
        return None
    chosen = rng.choice(pairs)
    negatives = (
        HardNegative(pair.false, (Foil("negation", chosen.true_negation, pair.false_negation),))
        for pair in rng.sample(pairs, len(pairs))
        if pair.false != chosen.true
    )
    return BalancedSet(chosen.true, tuple(negatives))


def _make_pairs(false_negations: Collection[Negated], atoms: AtomFoils, rng: Random) -> Iterator[NegationPair]:
    graph, caption = atoms.graph, atoms.caption
    mentions = {_atom_key(mention): mention for mention in atoms.mentions}
    first_edits: list[Edit] = []
    for atom in find_negatable_atoms(graph):
        mention = mentions.get((atom.kind, atom.text, atom.object, atom.relation and atom.relation.object))
        if mention is None:
            continue
        edits = atoms.draw_edits(mention, rng)
        first_edits += (first := list(islice(edits, 1)))
        pair = _make_atom_pair(graph, caption, atom, chain(first, edits)) if atom in false_negations else None
        if pair is not None:
            yield pair
    if first_edits and not _is_negated_by_part(graph):
        _, edited = rng.choice(first_edits)
        for false, true in zip(caption.negate_all(), caption.negate_all(edited), strict=False):
            yield NegationPair(false, true, NOT, NOT)


def _is_negated_by_part(graph: SceneGraph) -> bool:
    """Return True if the template negates each part of the graph separately.

    "no cup on table and no vase" is false if one of the two parts is present.
    """
    related_ids = {end for edge in graph.relations for end in (edge.subject, edge.object)}
    num_parts = bool(related_ids) + sum(item.id not in related_ids for item in graph.objects)
    return graph.complexity == template.COMPLEXITY and num_parts > 1


def _atom_key(mention: Mention) -> tuple[str, str, str, str | None]:
    return mention.kind, mention.text, mention.object, mention.target


def _make_atom_pair(
    graph: SceneGraph, caption: EditableCaption, atom: Negated, edits: Iterable[Edit]
) -> NegationPair | None:
    """Return the pair of an atom's negation and the negation of its first suitable foil, or None.

    A foil is suitable if the rest of the caption does not exclude it already.
    """
    false = caption.negate(atom)
    if false is None:
        return None
    rest = collect_facts(_remove_boxes(atom.remove_from(graph)))
    for foil, edited in edits:
        if atom.kind != "object" and rest.is_false(_extract_statement(find_counterpart(atom, graph, edited), edited)):
            continue  # "left of a table" and "not right of the table" would be redundant
        true = caption.negate(atom, edited)
        if true is not None:
            negations = _describe_negation(atom.kind, atom.text), _describe_negation(foil.type, foil.replacement)
            return NegationPair(false, true, *negations)
    return None


def _extract_statement(atom: Negated, graph: SceneGraph) -> SceneGraph:
    """Return the graph of an attribute or a relation alone: "a blue vase", "a cup under a table"."""
    edge = atom.relation
    if edge is None:
        return SceneGraph((replace(graph.by_id[atom.object], attributes=(atom.text,), box=None),))
    ends = (graph.by_id[edge.subject], graph.by_id[edge.object])
    return SceneGraph(tuple(replace(end, attributes=(), box=None) for end in ends), (edge,))


def _remove_boxes(graph: SceneGraph) -> SceneGraph:
    return replace(graph, objects=tuple(replace(item, box=None) for item in graph.objects))
