"""HN-Neg: captions that negate an atom of the image, and a balanced variant with negations in all captions.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The paper checks separately that the image has no other
black dog on a building, no second pair of the same objects, and no other object with the same attributes and relations.
Here one proof replaces these checks: in every reading of the rest of the caption, the graph has the negated atom
(graphs/entailment.py).
Difference from the published dataset: a negation keeps the case and punctuation of the caption, and does not also
assert the negated atom.

The balanced variant is our own. In HN-Neg, every caption with "not" or "no" is a negative, so that a text-only model
can solve it. A balanced set is a family of captions over the same atoms. Each caption denies one of them and asserts
the others. All but one of the atoms are true of the image; the other is a contrary of an annotated atom ("blue" of a
green vase), which the facts exclude (atom.py). The true caption denies the contrary ("the vase is not blue"), and a
negative asserts it. So all captions of a set have the same content words, the same number of negations and the same
constructions, and each differs from the others in the same way. The contrary is drawn by word frequency. Only atoms on
which no other atom depends are denied (attributes, relations, and objects without attributes and relations), and only
those that can be a contrary themselves: the denial of a word that is never a contrary would always be false. A set
therefore needs a caption of at least six such atoms.

A contrary is another value of an annotated attribute, the converse of an annotated relation ("below" of "above"), or an
object that is neither annotated nor mentioned in a region phrase. It is not enough that the graph lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import NamedTuple

from generators.captioner.captioner import EditableCaption
from generators.graphs.entailment import Negated, find_counterpart
from generators.graphs.facts import collect_facts
from generators.graphs.walks import is_redundant
from generators.hard_negatives.atom import AtomFoils
from generators.hard_negatives.hard_negative import Foil, HardNegative, drop_duplicates
from generators.schemas.scene_graph import Mention, SceneGraph

MAX_FAMILIES = 6
"""Families that are written for a caption until one has enough captions."""
NOT = "not"
"""The foil of a caption that is negated as a whole."""


def make_negation_negatives(
    false_negations: Sequence[Negated], caption: EditableCaption, rng: Random
) -> Iterator[HardNegative]:
    """Yield the negations of these atoms and one negation of the whole caption, in random order, without duplicates."""
    whole_negation = rng.choice(caption.negate_all())
    choices: list[Negated | None] = [None, *false_negations]  # None stands for the whole caption
    rng.shuffle(choices)
    return drop_duplicates(
        (
            (whole_negation, Foil("negation", "", NOT))
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


class BalancedSet(NamedTuple):
    """A true caption that denies an atom, the graph that it asserts, and its negatives.

    Each foil names the atom that the true caption denies and the atom that the negative denies instead.
    """

    caption: str
    asserted: SceneGraph
    negatives: tuple[HardNegative, ...]


def make_balanced_set(atoms: AtomFoils, num_negatives: int, rng: Random) -> BalancedSet | None:
    """Return the true caption and all negatives of a random family, or None if there is no large enough family."""
    mentions = {_atom_key(mention): mention for mention in atoms.mentions}
    mentioned = [
        (atom, mention)
        for atom in find_negatable_atoms(atoms.graph)
        if len(atom.remove_from(atoms.graph).atoms) == len(atoms.graph.atoms) - 1
        and (mention := mentions.get((atom.kind, atom.text, atom.object, atom.relation and atom.relation.object)))
    ]
    if len(mentioned) <= num_negatives:
        return None
    deniable = [
        (atom, edit)
        for atom, mention in rng.sample(mentioned, len(mentioned))
        for edit in islice(atoms.draw_balanced_edits(mention, 1, rng), 1)
    ]
    if len(deniable) <= num_negatives:
        return None
    for atom, (foil, edited) in deniable[:MAX_FAMILIES]:
        denials = _write_denials(atoms, [other for other, _ in deniable], edited)
        truth = denials.pop(atom, None)
        if truth is None or len(set(denials.values()) - {truth}) < num_negatives:
            continue
        denied = _describe_negation(foil.type, foil.replacement)
        candidates = (
            (text, Foil("negation", denied, _describe_negation(other.kind, other.text)))
            for other, text in rng.sample(list(denials.items()), len(denials))
        )
        return BalancedSet(truth, atom.remove_from(atoms.graph), tuple(drop_duplicates(candidates, truth)))
    return None


def _write_denials(atoms: AtomFoils, denied: Iterable[Negated], edited: SceneGraph) -> dict[Negated, str]:
    """Return, for each of these atoms, the caption that denies its counterpart in ``edited`` and asserts the rest.

    An atom that the rest of the caption excludes already is omitted: "left of a table" and "not right of the table".
    """
    texts = {}
    for atom in denied:
        counterpart = find_counterpart(atom, atoms.graph, edited)
        rest = collect_facts(_remove_boxes(counterpart.remove_from(edited)))
        is_excluded = atom.kind != "object" and rest.is_false(_extract_statement(counterpart, edited))
        text = None if is_excluded else atoms.caption.negate(atom, edited)
        if text is not None:
            texts[atom] = text
    return texts


def _atom_key(mention: Mention) -> tuple[str, str, str, str | None]:
    return mention.kind, mention.text, mention.object, mention.target


def _extract_statement(atom: Negated, graph: SceneGraph) -> SceneGraph:
    """Return the graph of an attribute or a relation alone: "a blue vase", "a cup under a table"."""
    edge = atom.relation
    if edge is None:
        return SceneGraph((replace(graph.by_id[atom.object], attributes=(atom.text,), box=None),))
    ends = (graph.by_id[edge.subject], graph.by_id[edge.object])
    return SceneGraph(tuple(replace(end, attributes=(), box=None) for end in ends), (edge,))


def _remove_boxes(graph: SceneGraph) -> SceneGraph:
    return replace(graph, objects=tuple(replace(item, box=None) for item in graph.objects))
