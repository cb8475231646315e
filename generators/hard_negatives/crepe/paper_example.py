"""The hard negatives of a productivity caption by the rules of CREPE's authors (``rules: paper``).

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. HN-Atom: a random atom is replaced, and BERT ranks its
foils. HN-Swap: any edit of A.4 whose result the image's graph does not have, filtered by RoBERTa's entailment. HN-Neg:
an atom, or the whole caption, with the checks of A.4. Nothing is proven, and no rank is balanced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from compeval.base.schemas.scene_graph import SceneGraph
from compeval.base.text_only.gaps import ScoreWords
from compeval.generators.graphs.entailment import Negated
from compeval.generators.hard_negatives.crepe.annotated import is_new, may_be_negated
from compeval.generators.hard_negatives.crepe.in_place import (
    negate_all_in_place,
    negate_in_place,
    swap_in_place,
)
from compeval.generators.hard_negatives.crepe.negation import list_atoms, make_negation_negatives
from compeval.generators.hard_negatives.crepe.paper_foils import Slot, draw_atoms, list_slots
from compeval.generators.hard_negatives.crepe.productivity import Example
from compeval.generators.hard_negatives.crepe.selection import POOL, drop_entailed, replace_rejected
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.walk_conditions import PER_TYPE
from compeval.generators.hard_negatives.hard_negative import HardNegative, drop_duplicates


@dataclass(frozen=True)
class PaperExample(Example):
    """A captioned walk and its hard negatives. ``likelihood`` is not used."""

    score_words: ScoreWords = field(kw_only=True)
    """Selects the foils of each atom: one prediction of BERT, in the paper."""

    @property
    def _image_graph(self) -> SceneGraph:
        return self.source.image.graph

    @cached_property
    def slots(self) -> list[Slot]:
        """The atoms that HN-Atom can replace."""
        return list_slots(self.walk.caption.text, self.walk.caption.mentions)

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        scores = self.score_words([slot.gap for slot in self.slots])
        return self._take_first(draw_atoms(self.slots, scores, PER_TYPE, self._rng("hnatom")))

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        return self._take_first(drop_entailed(self.walk.caption.text, self._swaps, self.entailment))

    @cached_property
    def _swaps(self) -> list[HardNegative]:
        """The swaps that state something which the image's graph does not have, in random order."""
        graph = self.walk.walk.graph
        caption = self.walk.caption
        swaps = [
            (swap_in_place(caption, edited), foil)
            for edited, foil in make_swaps(graph, strict=False)
            if is_new(edited, graph, self._image_graph)
        ]
        negatives = list(drop_duplicates(swaps, caption.text))
        return self._rng("hnswap").sample(negatives, len(negatives))

    @cached_property
    def _false_negations(self) -> list[Negated] | None:
        graph = self.walk.walk.graph
        atoms = [
            atom for atom in list_atoms(graph) if may_be_negated(atom, graph, self._image_graph)
        ]
        return atoms if len(atoms) >= PER_TYPE - 1 else None

    def _negate(self, false_negations: Sequence[Negated]) -> Iterator[HardNegative]:
        rng = self._rng("hnneg")
        return make_negation_negatives(
            false_negations, self.walk.caption, rng, negate_in_place, negate_all_in_place
        )

    def _take_first(self, candidates: Iterable[HardNegative]) -> tuple[HardNegative, ...]:
        """Return the first candidates, without those that annotators rejected."""
        pool = tuple(islice(candidates, POOL))
        return (
            replace_rejected(pool[:PER_TYPE], pool, self._rejected) if len(pool) >= PER_TYPE else ()
        )
