"""The hard negatives of a productivity caption: from its subgraph to five captions of each kind.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The kind ``hnneg_balanced`` is our own (negation.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, islice
from random import Random
from typing import Any, TypeVar

from generators.captioner.captioned_walks import ANY_WALK, CaptionedWalk, WalkFilter
from generators.captioner.captioner import EditableCaption
from generators.graphs.assignments import SearchLimitError, keep_proven
from generators.graphs.entailment import Negated, proves_false
from generators.graphs.facts import ImageFacts
from generators.graphs.walks import is_redundant
from generators.hard_negatives.crepe.atom import AtomFoils, make_atom_negatives, make_one_attribute_negatives
from generators.hard_negatives.crepe.negation import (
    BalancedSet,
    find_negatable_atoms,
    make_balanced_set,
    make_negation_negatives,
)
from generators.hard_negatives.crepe.selection import (
    POOL,
    READ_AHEAD,
    Measure,
    drop_entailed,
    measure_length,
    replace_rejected,
    select_rank_balanced,
)
from generators.hard_negatives.crepe.source import ImageSource
from generators.hard_negatives.crepe.swap import Edit, make_orbits, make_swaps, write_swaps
from generators.hard_negatives.hard_negative import HardNegative
from generators.schemas.scene_graph import SceneGraph
from generators.storage import dataset
from generators.text_only.language_models import EntailmentModel

Candidate = TypeVar("Candidate")

PER_TYPE = 5
SWAP_KINDS = frozenset({"hnswap", "hnall"})
BALANCED_KINDS = ("hnatom_balanced", "hnswap_balanced", "hnneg_balanced")
PAPER_KINDS = ("hnatom", "hnswap", "hnneg", "hnall")
KINDS = (*PAPER_KINDS, *BALANCED_KINDS)


def has_false_swaps(graph: SceneGraph, facts: ImageFacts) -> bool:
    """Return True if enough swaps of a subgraph are false of its image."""
    return _has_false(make_swaps(graph), facts)


def has_false_orbit(graph: SceneGraph, facts: ImageFacts) -> bool:
    """Return True if all other orders of some three objects are false of their image."""
    return any(_has_false(orbit, facts) for orbit in make_orbits(graph, Random(0)))


def _has_false(swaps: Iterable[Edit], facts: ImageFacts) -> bool:
    try:
        return len(list(islice((edited for edited, _ in swaps if facts.is_false(edited)), PER_TYPE))) == PER_TYPE
    except SearchLimitError:
        return False


PAPER_WALKS = (ANY_WALK, WalkFilter("swaps", "fewer than 5 false swaps", has_false_swaps, effort=8))
"""The conditions on the first walk of an image and on the second; the third has that of the first.

Most short walks do not have five false swaps. With random walks only, HN-Swap has 9 rows with four atoms, and 27 in the
authors' files.
"""
BALANCED_WALKS = (
    ANY_WALK,
    WalkFilter("orders", "no three objects of which all other orders are false", has_false_orbit, effort=8),
)
"""The same for the balanced sets."""


@dataclass(frozen=True)
class Example:
    """A captioned walk and its hard negatives, which are computed on first use.

    Each kind is () if there are fewer than ``PER_TYPE`` negatives. ``entailment`` filters the swaps.
    """

    walk: CaptionedWalk
    source: ImageSource
    likelihood: Measure
    entailment: EntailmentModel | None = None
    _num_undecided: Counter[str] = field(default_factory=Counter)
    """Number of candidates by kind that were dropped because a search reached its limit."""

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnatom")
        return self._choose(self.walk.caption.text, make_atom_negatives(self._atoms, rng), rng)

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        text = self.walk.caption.text
        negatives = drop_entailed(text, self._swaps, self.entailment)
        return self._choose(text, negatives, self._rng("hnswap:choice"))

    @cached_property
    def _swaps(self) -> list[HardNegative]:
        """The swaps that the facts of the image prove false, or [] if there are too few."""
        swaps = list(make_swaps(self.walk.walk.graph))
        false_swaps = self._keep_false(swaps, lambda facts, swap: facts.is_false(swap[0]), "hnswap", PER_TYPE)
        return write_swaps(swaps, false_swaps, self.walk.caption, self._rng("hnswap")) if false_swaps else []

    def list_swap_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of a premise and a hypothesis that the entailment model reads first."""
        return [(self.walk.caption.text, swap.caption) for swap in self._swaps[:READ_AHEAD]]

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        if self._false_negations is None:
            return ()
        candidates = make_negation_negatives(self._false_negations, self.walk.caption, self._rng("hnneg"))
        chosen = tuple(islice(candidates, PER_TYPE))
        return replace_rejected(chosen, candidates, self._rejected) if len(chosen) == PER_TYPE else ()

    @cached_property
    def hnall(self) -> tuple[HardNegative, ...]:
        """All negatives of the paper's three kinds, or ().

        Swaps are computed first, because they are missing most often.
        """
        return (*self.hnatom, *self.hnswap, *self.hnneg) if self.hnswap and self.hnneg and self.hnatom else ()

    @cached_property
    def hnatom_balanced(self) -> tuple[HardNegative, ...]:
        """HN-Atoms that replace the same attribute."""
        rng = self._rng("hnatom_balanced")
        return self._choose(self.walk.caption.text, make_one_attribute_negatives(self._atoms, PER_TYPE, rng), rng)

    @property
    def hnswap_balanced(self) -> tuple[HardNegative, ...]:
        """The five other orders of three objects, all of them false of the image."""
        return self._balanced_swaps[1] if self._balanced_swaps else ()

    @cached_property
    def _balanced_swaps(self) -> tuple[EditableCaption, tuple[HardNegative, ...]] | None:
        """The true caption and the other orders.

        All orders have the same words only if the caption names each of the three objects once. If it does not, the
        graph gets another caption: "a hat above a horse that is left of a dog" for "a hat above a horse. the horse is
        left of a dog".
        """
        rng = self._rng("hnswap_balanced")
        for orbit in make_orbits(self.walk.walk.graph, rng):
            if any(is_redundant(edited) for edited, _ in orbit):
                continue
            swaps = self._keep_false(
                list(orbit), lambda facts, swap: facts.is_false(swap[0]), "hnswap_balanced", PER_TYPE
            )
            for caption in chain([self.walk.caption], self.walk.caption.reword()) if swaps else ():
                written = write_swaps(orbit, swaps, caption, rng)
                if len(written) == PER_TYPE and self._are_valid(caption.text, written):
                    return caption, tuple(written)
        return None

    def _are_valid(self, text: str, swaps: Sequence[HardNegative]) -> bool:
        """Return True if no swap is rejected or entailed by the caption."""
        is_rejected = not self._rejected.isdisjoint(item.caption for item in swaps)
        return not is_rejected and len(list(drop_entailed(text, swaps, self.entailment))) == len(swaps)

    @cached_property
    def hnneg_balanced(self) -> tuple[HardNegative, ...]:
        negatives = self._balanced_negations.negatives if self._balanced_negations else ()
        return negatives if self._rejected.isdisjoint(item.caption for item in negatives) else ()

    @cached_property
    def _balanced_negations(self) -> BalancedSet | None:
        return make_balanced_set(self._atoms, self._rng("hnneg_balanced"))

    @cached_property
    def _false_negations(self) -> list[Negated] | None:
        """The atoms whose negation is false of the image, or None if there are fewer than ``PER_TYPE`` negations.

        One negation is of the whole caption, the others are of one atom each. The region phrases are parsed only if the
        scene graph proves enough negations false.
        """
        graph = self.walk.walk.graph
        atoms = list(find_negatable_atoms(graph))
        false_negations = self._keep_false(
            atoms, lambda facts, atom: proves_false(facts, graph, atom), "hnneg", PER_TYPE - 1
        )
        return false_negations or None

    def _keep_false(
        self, candidates: list[Candidate], is_false: Callable[[ImageFacts, Candidate], bool], kind: str, min_count: int
    ) -> list[Candidate]:
        """Return the candidates that are false of the image, or [] if there are fewer than ``min_count``.

        The region phrases prove nothing false that the scene graph does not prove false. Therefore they are parsed only
        if the scene graph proves enough candidates false.
        """
        undecided: list[Candidate] = []
        for get_facts in (lambda: self.source.annotated_facts, lambda: self.source.facts):
            if len(candidates) >= min_count:
                candidates = keep_proven(candidates, partial(is_false, get_facts()), undecided, min_count)
        self._num_undecided[kind] += len(undecided)
        return candidates if len(candidates) >= min_count else []

    @cached_property
    def _atoms(self) -> AtomFoils:
        graph, vocabulary = self.walk.walk.graph, self.source.source.vocabulary
        return AtomFoils(graph, self.source.facts, self.walk.caption, vocabulary)

    @cached_property
    def _rejected(self) -> frozenset[str]:
        return self.source.source.rejections.texts(self.source.image, self.walk.walk.box)

    def _rng(self, name: str) -> Random:
        return Random(f"{self.walk.key}:{name}")

    def _choose(self, truth: str, candidates: Iterable[HardNegative], rng: Random) -> tuple[HardNegative, ...]:
        pool = tuple(islice(candidates, POOL))
        chosen = select_rank_balanced(truth, pool, (measure_length, self.likelihood), PER_TYPE, rng)
        return replace_rejected(chosen, pool, self._rejected)

    def count_undecided(self, kind: str) -> int:
        """Return the number of candidates of one kind that were dropped because a search reached its limit."""
        return self._num_undecided[kind]

    def columns(self, kind: str) -> dict[str, Any] | None:
        """Return the columns in which a row of one kind differs from the row without negatives, or None."""
        negatives: tuple[HardNegative, ...] = getattr(self, kind)
        if not negatives:
            return None
        columns = {
            "caption": self.walk.caption.text,
            "hard_negatives": [negative.caption for negative in negatives],
            "foils": [negative.foil_rows for negative in negatives],
        }
        if kind == "hnswap_balanced" and self._balanced_swaps is not None:
            columns["caption"] = self._balanced_swaps[0].text
        if kind == "hnneg_balanced" and self._balanced_negations is not None:
            caption, asserted, _ = self._balanced_negations
            row = dataset.make_raw_row(
                self.source.image.path, self.walk.image_id, self.walk.walk.box, caption, asserted, {}
            )
            columns |= {name: row[name] for name in ("caption", "atoms", "compounds", "scene_graph")}
        return columns
