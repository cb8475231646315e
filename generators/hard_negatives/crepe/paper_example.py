"""The hard negatives of a productivity caption by the rules of CREPE's authors (``rules: paper``).

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. HN-Atom: a random atom is replaced, and BERT ranks its
foils. HN-Swap: any edit of A.4 whose result the image's graph does not have, filtered by RoBERTa's entailment. HN-Neg:
an atom, or the whole caption, with the checks of A.4. Nothing is proven, and no rank is balanced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random

from compeval.base.schemas.scene_graph import Parse, SceneGraph
from compeval.generators.graphs.entailment import Negated
from compeval.generators.hard_negatives.crepe.annotated import is_new, may_be_negated
from compeval.generators.hard_negatives.crepe.in_place import negate_in_place, swap_in_place
from compeval.generators.hard_negatives.crepe.negation import list_atoms, make_negation_negatives
from compeval.generators.hard_negatives.crepe.paper_foils import (
    draw_atom_pools,
    draw_atoms_at_random,
)
from compeval.generators.hard_negatives.crepe.productivity import Example
from compeval.generators.hard_negatives.crepe.selection import POOL, replace_rejected
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.walk_conditions import PER_TYPE
from compeval.generators.hard_negatives.hard_negative import HardNegative, drop_duplicates


@dataclass(frozen=True)
class PaperExample(Example):
    """A captioned walk and its hard negatives. ``likelihood`` ranks the HN-Atoms: BERT's score, in the paper."""

    @property
    def _image_graph(self) -> SceneGraph:
        return self.source.image.graph

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        rng, caption = self._rng("hnatom"), self.walk.caption
        parse = Parse(caption.text, caption.graph, caption.mentions)
        pools = draw_atom_pools(parse, self._image_graph, rng)
        texts = [negative.caption for pool in pools for negative in pool]
        scores = dict(zip(texts, self.likelihood(texts), strict=True)) if texts else {}
        return self._choose(caption.text, draw_atoms_at_random(pools, scores, rng), rng)

    @cached_property
    def _swaps(self) -> list[HardNegative]:
        """The swaps that state something which the image's graph does not have, in random order."""
        graph, caption = self.walk.walk.graph, self.walk.caption
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
        return make_negation_negatives(
            false_negations, self.walk.caption, self._rng("hnneg"), negate_in_place
        )

    def _choose(
        self, truth: str, candidates: Iterable[HardNegative], rng: Random
    ) -> tuple[HardNegative, ...]:
        """Return the first candidates, without those that annotators rejected."""
        pool = tuple(islice(candidates, POOL))
        return (
            replace_rejected(pool[:PER_TYPE], pool, self._rejected) if len(pool) >= PER_TYPE else ()
        )
