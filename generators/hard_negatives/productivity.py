"""The hard negatives of a productivity caption, from its subgraph to five captions of each type.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. ``hnneg_balanced`` is ours (negation.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from generators.captioner.captioned_walks import CaptionedWalk, WalkSettings, captioned, keyed_walks
from generators.captioner.captioner import Captioner
from generators.hard_negatives.atom import atom_negatives, one_atom_negatives
from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.language_models import EntailmentModel, not_entailed
from generators.hard_negatives.negation import BalancedSet, balanced_negation, negation_negatives
from generators.hard_negatives.ngram import likelihoods
from generators.hard_negatives.selection import POOL, Measure, length, rank_balanced, replace_rejected
from generators.hard_negatives.source import Source
from generators.hard_negatives.swap import swap_negatives
from generators.schemas.annotated_image import make_id_sort_key

PER_TYPE = 5
BALANCED = "hnneg_balanced"
KINDS = ("hnatom", "hnswap", "hnneg", BALANCED, "hnall")


@dataclass(frozen=True)
class Example:
    """A captioned walk with its hard negatives, computed on first use; each kind is () if there are too few.

    ``entailment`` filters the swaps. ``one_atom`` takes all foils of an HN-Atom set from one atom.
    """

    walk: CaptionedWalk
    source: Source
    likelihood: Measure
    entailment: EntailmentModel | None = None
    one_atom: bool = False

    @property
    def order(self) -> tuple[int, str, str]:
        """The sort key of rows: by image, then by key."""
        return (*make_id_sort_key(self.walk.image_id), self.walk.key)

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnatom")
        inputs = *self._inputs, self.source.vocabulary
        candidates = one_atom_negatives(*inputs, PER_TYPE, rng) if self.one_atom else atom_negatives(*inputs, rng)
        return self._choose(self.walk.caption.text, candidates, rng)

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnswap")
        text = self.walk.caption.text
        return self._choose(text, not_entailed(text, swap_negatives(*self._inputs, rng), self.entailment), rng)

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        candidates = negation_negatives(*self._inputs, self._rng("hnneg"))
        chosen = tuple(islice(candidates, PER_TYPE))
        return replace_rejected(chosen, candidates, self._rejected) if len(chosen) == PER_TYPE else ()

    @cached_property
    def hnneg_balanced(self) -> tuple[HardNegative, ...]:
        if self._balanced is None:
            return ()
        return self._choose(self._balanced.caption, self._balanced.negatives, self._rng(f"{BALANCED}:ranks"))

    @cached_property
    def hnall(self) -> tuple[HardNegative, ...]:
        """All of the paper's types, or (). Swaps are computed first, because they fail most often."""
        return (*self.hnatom, *self.hnswap, *self.hnneg) if self.hnswap and self.hnneg and self.hnatom else ()

    @cached_property
    def _balanced(self) -> BalancedSet | None:
        return balanced_negation(*self._inputs, self.source.vocabulary, self._rng(BALANCED))

    @cached_property
    def _inputs(self):
        return self.walk.walk.graph, self.source.facts(self.walk.image_id), self.walk.caption

    @cached_property
    def _rejected(self) -> frozenset[str]:
        return self.source.rejections.texts(self.source.image(self.walk.image_id), self.walk.walk.box)

    def _rng(self, name: str) -> Random:
        return Random(f"{self.walk.key}:{name}")

    def _choose(self, truth: str, candidates: Iterable[HardNegative], rng: Random) -> tuple[HardNegative, ...]:
        pool = tuple(islice(candidates, POOL))
        chosen = rank_balanced(truth, pool, (length, self.likelihood), PER_TYPE, rng)
        return replace_rejected(chosen, pool, self._rejected)

    def columns(self, kind: str) -> dict[str, Any]:
        """Return the columns ``caption``, ``hard_negatives`` and ``foils`` of a row of one kind."""
        negatives: tuple[HardNegative, ...] = getattr(self, kind)
        caption = self._balanced if kind == BALANCED else None
        return {
            "caption": caption.caption if caption else self.walk.caption.text,
            "hard_negatives": [negative.caption for negative in negatives],
            "foils": [negative.foil_rows for negative in negatives],
        }


def examples(
    source: Source,
    complexity: int,
    captioner: Captioner,
    settings: WalkSettings,
    dropped: Counter[str],
    entailment: str | None = None,
    one_atom: bool = False,
) -> Iterator[Example]:
    """Yield the examples of one complexity in the order of their keys; ``entailment`` is the name of an NLI model."""
    walks = captioned(keyed_walks(source.images, complexity, settings, dropped), captioner, dropped)
    model = EntailmentModel(entailment) if entailment else None
    likelihood = likelihoods([walk.caption.text for walk in walks], [walk.image_id for walk in walks])
    for walk in walks:
        yield Example(walk, source, likelihood[walk.image_id], model, one_atom)
