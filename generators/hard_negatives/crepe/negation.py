"""HN-Neg: captions that negate an atom of the image, and a balanced variant with negations in all captions.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The paper checks separately that the image has no other
black dog on a building, no second pair of the same objects, and no other object with the same attributes and relations.
Here one proof replaces these checks: in every reading of the rest of the caption, the graph has the negated atom
(graphs/entailment.py).
Difference from the published dataset: a negation keeps the case and punctuation of the caption, and does not also
assert the negated atom.

The balanced variant is our own. In HN-Neg, every caption with "not" or "no" is a negative, so that a text-only model
can solve it. A balanced set is made from three atoms of the caption. Its six captions deny one or two of the three,
each in another way, and assert the others:

    {1} - {1, 2} - {2} - {2, 3} - {3} - {1, 3} - {1}

One of the six patterns, drawn at random, is the true one. Where it denies an atom, all six captions have a contrary of
the annotated atom instead ("blue" of a green vase), which the facts exclude (atom.py). The true caption denies exactly
the contraries ("the vase is not blue"). Each of the others asserts a contrary, or denies a true atom. So all captions
have the same content words, each atom is denied in three of six captions, and all captions have the same distances to
their neighbours. Neither the number of negations nor the denied words show the true caption.

The contrary is drawn by word frequency. Only atoms on which no other atom depends are denied (attributes, relations,
and objects without attributes and relations), and only those that can be a contrary themselves: the denial of a word
that is never a contrary would always be false. A denial of a true atom must be false even if one of the other atoms is
denied as well. This is proven as above, for each pair of the three atoms and independently of the true pattern.
Otherwise, words that are easy to prove would show the pattern.

A contrary is another value of an annotated attribute, the converse of an annotated relation ("below" of "above"), or an
object that is neither annotated nor mentioned in a region phrase. It is not enough that the graph lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice, permutations
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, SceneGraph
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.graphs.assignments import keep_proven
from compeval.generators.graphs.entailment import (
    Negated,
    find_counterpart,
    proves_false,
    remove_atoms,
)
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.walks import is_redundant
from compeval.generators.hard_negatives.crepe.atom import AtomFoils, replace_atom
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative, drop_duplicates

Pattern = tuple[int, ...]
"""The numbers of the atoms that a caption of a balanced set denies."""

NUM_SLOTS = 3
PATTERNS: tuple[Pattern, ...] = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
MAX_TRIPLES = 20
"""Maximum number of triples of atoms that are tried for a caption."""
NOT = "not"
"""The foil of a caption that is negated as a whole."""


def make_negation_negatives(
    false_negations: Sequence[Negated],
    caption: EditableCaption,
    rng: Random,
    negate: Callable[[EditableCaption, Negated], str | None] = lambda caption, atom: caption.negate(
        atom
    ),
    negate_all: Callable[[EditableCaption], list[str]] = lambda caption: caption.negate_all(),
) -> Iterator[HardNegative]:
    """Yield the negations of these atoms and one of the whole caption if it has any, in random order, each once."""
    whole_negations = negate_all(caption)
    whole_negation = rng.choice(whole_negations) if whole_negations else None
    choices: list[Negated | None] = [None, *false_negations]  # None stands for the whole caption
    rng.shuffle(choices)
    return drop_duplicates(
        (
            (whole_negation, Foil("negation", "", NOT))
            if atom is None
            else (
                negate(caption, atom),
                Foil("negation", atom.text, _describe_negation(atom.kind, atom.text)),
            )
            for atom in choices
        ),
        caption.text,
    )


def find_negatable_atoms(graph: SceneGraph) -> Iterator[Negated]:
    """Yield all atoms that can be negated.

    The graph without the atom must not be empty, and must not have redundant objects.
    """
    for atom in list_atoms(graph):
        rest = atom.remove_from(graph)
        if atom.kind == "relation" or (rest.objects and not is_redundant(rest)):
            yield atom


def list_atoms(graph: SceneGraph) -> Iterator[Negated]:
    """Yield all atoms: each object followed by its attributes, then the relations."""
    for item in graph.objects:
        yield Negated("object", item.id, item.name)
        yield from (Negated("attribute", item.id, text) for text in item.attributes)
    for edge in graph.relations:
        yield Negated("relation", edge.subject, edge.predicate, edge)


def _describe_negation(kind: str, text: str) -> str:
    return f"{'no' if kind == 'object' else NOT} {text}"


class BalancedSet(NamedTuple):
    """A true caption, the graph that it asserts, and its five negatives in random order.

    Each foil names an atom that the true caption denies and the negative asserts, or vice versa.
    """

    caption: str
    asserted: SceneGraph
    negatives: tuple[HardNegative, ...]


class Slot(NamedTuple):
    """An atom that a balanced set denies or asserts, and its contrary, which the true caption may deny instead."""

    atom: Negated
    mention: Mention
    contrary: str


def make_balanced_set(atoms: AtomFoils, rng: Random) -> BalancedSet | None:
    """Return the balanced set of three random atoms, or None if none is found."""
    slots = _draw_slots(atoms, rng)
    triples = list(combinations(slots, NUM_SLOTS))
    true_pattern = rng.choice(PATTERNS)
    for triple in rng.sample(triples, min(len(triples), MAX_TRIPLES)):
        if (captions := _write_captions(atoms, triple, true_pattern)) and _are_denials_false(
            atoms, triple
        ):
            negatives = [
                HardNegative(text, tuple(_list_foils(triple, true_pattern, pattern)))
                for pattern, text in captions.items()
                if pattern != true_pattern
            ]
            asserted = remove_atoms(atoms.graph, [triple[index].atom for index in true_pattern])
            return BalancedSet(
                captions[true_pattern], asserted, tuple(rng.sample(negatives, len(negatives)))
            )
    return None


def _draw_slots(atoms: AtomFoils, rng: Random) -> list[Slot]:
    """Return the atoms on which no other atom depends and that have a contrary."""
    mentions = {mention.atom_key: mention for mention in atoms.mentions}
    deniable = [
        (atom, mention)
        for atom in find_negatable_atoms(atoms.graph)
        if len(atom.remove_from(atoms.graph).atoms) == len(atoms.graph.atoms) - 1
        and (mention := mentions.get(atom.atom_key))
    ]
    if len(deniable) < NUM_SLOTS:
        return []
    return [
        Slot(atom, mention, foil.replacement)
        for atom, mention in deniable
        for foil, _ in islice(atoms.draw_balanced_edits(mention, 1, rng), 1)
    ]


def _are_denials_false(atoms: AtomFoils, slots: Sequence[Slot]) -> bool:
    """Return True if the denial of each atom is false of the image, also if one of the others is denied as well."""
    pairs = list(permutations((slot.atom for slot in slots), 2))
    proven = keep_proven(
        pairs,
        lambda pair: proves_false(atoms.image, pair[0].remove_from(atoms.graph), pair[1]),
        [],
        len(pairs),
    )
    return bool(proven)


def _write_captions(
    atoms: AtomFoils, slots: Sequence[Slot], true_pattern: Pattern
) -> dict[Pattern, str] | None:
    """Return the captions by pattern, or None if a caption cannot be written, contradicts itself or is redundant.

    A caption is redundant if what it asserts excludes what it denies: "left of a table" and "not right of the table".
    """
    edited: SceneGraph | None = atoms.graph
    for index in true_pattern:
        edited = edited and replace_atom(edited, slots[index].mention, slots[index].contrary)
    if edited is None or is_redundant(edited):
        return None
    captions: dict[Pattern, str] = {}
    for pattern in PATTERNS:
        denied = [slots[index].atom for index in pattern]
        counterparts = [find_counterpart(atom, atoms.graph, edited) for atom in denied]
        rest = remove_atoms(edited, counterparts)
        is_sound = (
            rest.objects
            and rest.complexity == edited.complexity - len(pattern)
            and not is_redundant(rest)
        )
        text = atoms.caption.negate(*denied, edited=edited) if is_sound else None
        if text is None or any(_excludes(rest, atom, edited) for atom in counterparts):
            return None
        captions[pattern] = text
    return captions if len(set(captions.values())) == len(PATTERNS) else None


def _excludes(rest: SceneGraph, denied: Negated, graph: SceneGraph) -> bool:
    """Return True if the rest of a caption excludes a denied attribute or relation of ``graph``."""
    without_boxes = replace(rest, objects=tuple(replace(item, box=None) for item in rest.objects))
    return denied.kind != "object" and collect_facts(without_boxes).is_false(
        _extract_statement(denied, graph)
    )


def _list_foils(slots: Sequence[Slot], true_pattern: Pattern, pattern: Pattern) -> Iterator[Foil]:
    for index, (atom, _, contrary) in enumerate(slots):
        if index in true_pattern and index not in pattern:
            yield Foil("negation", _describe_negation(atom.kind, contrary), contrary)
        elif index in pattern and index not in true_pattern:
            yield Foil("negation", atom.text, _describe_negation(atom.kind, atom.text))


def _extract_statement(atom: Negated, graph: SceneGraph) -> SceneGraph:
    """Return the graph of an attribute or a relation alone: "a blue vase", "a cup under a table"."""
    edge = atom.relation
    if edge is None:
        return SceneGraph((replace(graph.by_id[atom.object], attributes=(atom.text,), box=None),))
    ends = (graph.by_id[edge.subject], graph.by_id[edge.object])
    return SceneGraph(tuple(replace(end, attributes=(), box=None) for end in ends), (edge,))
