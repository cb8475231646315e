"""The hard negatives of a productivity caption: from its subgraph to five captions of each kind.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The kind ``hnneg_balanced`` is our own (negation.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from generators.captioner.captioned_walks import CaptionedWalk
from generators.graphs.entailment import Negated
from generators.hard_negatives.atom import AtomFoils, make_atom_negatives, make_one_atom_negatives
from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.language_models import EntailmentModel, drop_entailed
from generators.hard_negatives.negation import (
    BalancedSet,
    find_false_negations,
    find_negatable_atoms,
    make_balanced_set,
    make_negation_negatives,
)
from generators.hard_negatives.selection import POOL, Measure, measure_length, replace_rejected, select_rank_balanced
from generators.hard_negatives.source import ImageSource
from generators.hard_negatives.swap import Edit, find_false_swaps, make_swaps, write_swaps
from generators.schemas.scene_graph import SceneGraph

PER_TYPE = 5
BALANCED = "hnneg_balanced"
KINDS = ("hnatom", "hnswap", "hnneg", BALANCED, "hnall")


@dataclass(frozen=True)
class Example:
    """A captioned walk and its hard negatives, which are computed on first use.

    Each kind is () if there are fewer than ``PER_TYPE`` negatives. ``entailment`` filters the swaps. With ``one_atom``,
    all foils of an HN-Atom set replace the same atom.
    """

    walk: CaptionedWalk
    source: ImageSource
    likelihood: Measure
    entailment: EntailmentModel | None = None
    one_atom: bool = False
    _undecided_swaps: list[SceneGraph] = field(default_factory=list)
    _undecided_negations: list[Negated] = field(default_factory=list)

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnatom")
        candidates = (
            make_one_atom_negatives(self._atoms, PER_TYPE, rng)
            if self.one_atom
            else make_atom_negatives(self._atoms, rng)
        )
        return self._choose(self.walk.caption.text, candidates, rng)

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnswap")
        swaps = list(make_swaps(self.walk.walk.graph))
        false_swaps = self._find_false_swaps(swaps)
        negatives = write_swaps(swaps, false_swaps, self.walk.caption, rng) if false_swaps else []
        text = self.walk.caption.text
        return self._choose(text, drop_entailed(text, negatives, self.entailment), rng)

    def _find_false_swaps(self, swaps: list[Edit]) -> list[Edit]:
        """Return the swaps that are false of the image, or [] if there are fewer than ``PER_TYPE``.

        The region phrases are parsed only if the scene graph proves enough swaps false.
        """
        if len(swaps) >= PER_TYPE:
            swaps = find_false_swaps(swaps, self.source.annotated_facts, self._undecided_swaps)
        if len(swaps) >= PER_TYPE:
            swaps = find_false_swaps(swaps, self.source.facts, self._undecided_swaps)
        return swaps if len(swaps) >= PER_TYPE else []

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        if not self._may_have_negations:
            return ()
        candidates = make_negation_negatives(self._false_negations, self.walk.caption, self._rng("hnneg"))
        chosen = tuple(islice(candidates, PER_TYPE))
        return replace_rejected(chosen, candidates, self._rejected) if len(chosen) == PER_TYPE else ()

    @cached_property
    def hnneg_balanced(self) -> tuple[HardNegative, ...]:
        if self._balanced is None:
            return ()
        return self._choose(self._balanced.caption, self._balanced.negatives, self._rng(f"{BALANCED}:ranks"))

    @cached_property
    def hnall(self) -> tuple[HardNegative, ...]:
        """All negatives of the paper's three kinds, or ().

        Swaps are computed first, because they are missing most often.
        """
        return (*self.hnatom, *self.hnswap, *self.hnneg) if self.hnswap and self.hnneg and self.hnatom else ()

    @cached_property
    def _balanced(self) -> BalancedSet | None:
        if not self._may_have_negations:
            return None
        return make_balanced_set(self._false_negations, self._atoms, self._rng(BALANCED))

    @cached_property
    def _may_have_negations(self) -> bool:
        """True if there are ``PER_TYPE`` negations, each of one atom or of the whole caption.

        The atoms are counted before the region phrases of the image are parsed.
        """
        num_whole = len(self.walk.caption.negate_all())
        negatable = list(find_negatable_atoms(self.walk.walk.graph))
        return num_whole + len(negatable) >= PER_TYPE and num_whole + len(self._false_negations) >= PER_TYPE

    @cached_property
    def _atoms(self) -> AtomFoils:
        graph, vocabulary = self.walk.walk.graph, self.source.source.vocabulary
        return AtomFoils(graph, self.source.facts, self.walk.caption, vocabulary)

    @cached_property
    def _false_negations(self) -> list[Negated]:
        return find_false_negations(self.walk.walk.graph, self.source.facts, self._undecided_negations)

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
        if kind == "hnswap":
            return len(self._undecided_swaps)
        return len(self._undecided_negations) if kind in ("hnneg", BALANCED) else 0

    def columns(self, kind: str) -> dict[str, Any] | None:
        """Return the columns ``caption``, ``hard_negatives`` and ``foils`` of a row of one kind, or None."""
        negatives: tuple[HardNegative, ...] = getattr(self, kind)
        if not negatives:
            return None
        balanced_set = self._balanced if kind == BALANCED else None
        return {
            "caption": balanced_set.caption if balanced_set else self.walk.caption.text,
            "hard_negatives": [negative.caption for negative in negatives],
            "foils": [negative.foil_rows for negative in negatives],
        }
