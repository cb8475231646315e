"""The hard negatives of a productivity caption: from its subgraph to five captions of each kind.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The kind ``hnneg_balanced`` is our own (negation.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from random import Random
from typing import Any, TypeVar

from compeval.base.storage import dataset
from compeval.base.text_only.language_models import EntailmentModel
from compeval.generators.captioner.captioned_walks import CaptionedWalk
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.graphs.assignments import keep_proven
from compeval.generators.graphs.entailment import Negated, proves_false
from compeval.generators.graphs.walks import is_redundant
from compeval.generators.hard_negatives.crepe.atom import (
    AtomFoils,
    make_atom_negatives,
    make_one_attribute_negatives,
)
from compeval.generators.hard_negatives.crepe.negation import (
    BalancedSet,
    find_negatable_atoms,
    make_balanced_set,
    make_negation_negatives,
)
from compeval.generators.hard_negatives.crepe.selection import (
    POOL,
    READ_AHEAD,
    Measure,
    drop_entailed,
    measure_length,
    replace_rejected,
    select_rank_balanced,
)
from compeval.generators.hard_negatives.crepe.source import ImageSource
from compeval.generators.hard_negatives.crepe.swap import make_orbits, make_swaps, write_swaps
from compeval.generators.hard_negatives.crepe.walk_conditions import PER_TYPE
from compeval.generators.hard_negatives.hard_negative import HardNegative

Candidate = TypeVar("Candidate")

SWAP_KINDS = frozenset({"hnswap", "hnall"})
BALANCED_KINDS = ("hnatom_balanced", "hnswap_balanced", "hnneg_balanced")
PAPER_KINDS = ("hnatom", "hnswap", "hnneg", "hnall")
KINDS = (*PAPER_KINDS, *BALANCED_KINDS)


@dataclass(frozen=True)
class Example:
    """A captioned walk and its hard negatives, which are computed on first use.

    Each kind is () if there are fewer than ``PER_TYPE`` negatives. ``entailment`` filters the swaps.
    """

    walk: CaptionedWalk
    source: ImageSource
    likelihood: Measure
    entailment: EntailmentModel | None = None
    num_undecided: Counter[str] = field(default_factory=Counter)
    """Number of candidates by kind that were dropped because a search reached its limit."""

    @property
    def complexity(self) -> int:
        return self.walk.walk.graph.complexity

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
        false_swaps = self._keep_false(
            swaps, lambda swap: self.source.facts.is_false(swap[0]), "hnswap", PER_TYPE
        )
        return (
            write_swaps(swaps, false_swaps, self.walk.caption, self._rng("hnswap"))
            if false_swaps
            else []
        )

    def list_swap_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of a premise and a hypothesis that the entailment model reads first."""
        return [(self.walk.caption.text, swap.caption) for swap in self._swaps[:READ_AHEAD]]

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        if self._false_negations is None:
            return ()
        candidates = self._negate(self._false_negations)
        chosen = tuple(islice(candidates, PER_TYPE))
        return (
            replace_rejected(chosen, candidates, self._rejected) if len(chosen) == PER_TYPE else ()
        )

    def _negate(self, false_negations: Sequence[Negated]) -> Iterator[HardNegative]:
        return make_negation_negatives(false_negations, self.walk.caption, self._rng("hnneg"))

    @cached_property
    def hnall(self) -> tuple[HardNegative, ...]:
        """All negatives of the paper's three kinds, or ().

        Swaps are computed first, because they are missing most often.
        """
        return (
            (*self.hnatom, *self.hnswap, *self.hnneg)
            if self.hnswap and self.hnneg and self.hnatom
            else ()
        )

    @cached_property
    def hnatom_balanced(self) -> tuple[HardNegative, ...]:
        """HN-Atoms that replace the same attribute, the first of a random order.

        If scores selected them (``select_rank_balanced``), the words of the family that are left out would reveal which
        of the others is true.
        """
        negatives = make_one_attribute_negatives(
            self._atoms, PER_TYPE, self._rng("hnatom_balanced")
        )
        return replace_rejected(negatives[:PER_TYPE], negatives, self._rejected)

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
                list(orbit),
                lambda swap: self.source.facts.is_false(swap[0]),
                "hnswap_balanced",
                PER_TYPE,
            )
            for caption in chain([self.walk.caption], self.walk.caption.reword()) if swaps else ():
                written = write_swaps(orbit, swaps, caption, rng)
                if len(written) == PER_TYPE and self._are_valid(caption.text, written):
                    return caption, tuple(written)
        return None

    def _are_valid(self, text: str, swaps: Sequence[HardNegative]) -> bool:
        """Return True if no swap is rejected or entailed by the caption."""
        is_rejected = not self._rejected.isdisjoint(item.caption for item in swaps)
        return not is_rejected and len(list(drop_entailed(text, swaps, self.entailment))) == len(
            swaps
        )

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

        One negation is of the whole caption, the others are of one atom each.
        """
        graph = self.walk.walk.graph
        facts = self.source.facts
        atoms = list(find_negatable_atoms(graph))
        return (
            self._keep_false(
                atoms, lambda atom: proves_false(facts, graph, atom), "hnneg", PER_TYPE - 1
            )
            or None
        )

    def _keep_false(
        self,
        candidates: list[Candidate],
        is_false: Callable[[Candidate], bool],
        kind: str,
        min_count: int,
    ) -> list[Candidate]:
        """Return the candidates that are false of the image, or [] if there are fewer than ``min_count``."""
        undecided: list[Candidate] = []
        proven = keep_proven(candidates, is_false, undecided, min_count)
        self.num_undecided[kind] += len(undecided)
        return proven

    @cached_property
    def _atoms(self) -> AtomFoils:
        graph = self.walk.walk.graph
        vocabulary = self.source.source.vocabulary
        return AtomFoils(graph, self.source.facts, self.walk.caption, vocabulary)

    @cached_property
    def _rejected(self) -> frozenset[str]:
        return self.source.source.rejections.texts(self.source.image, self.walk.walk.box)

    def _rng(self, name: str) -> Random:
        return Random(f"{self.walk.key}:{name}")

    def _choose(
        self, truth: str, candidates: Iterable[HardNegative], rng: Random
    ) -> tuple[HardNegative, ...]:
        pool = tuple(islice(candidates, POOL))
        chosen = select_rank_balanced(truth, pool, (measure_length, self.likelihood), PER_TYPE, rng)
        return replace_rejected(chosen, pool, self._rejected)

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
                self.source.image.path,
                self.walk.image_id,
                self.walk.walk.box,
                caption,
                asserted,
                {},
            )
            columns |= {
                name: row[name] for name in ("caption", "atoms", "compounds", "scene_graph")
            }
        return columns
