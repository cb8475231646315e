"""The hard negatives of a productivity caption: from its subgraph to five captions of each kind.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The kind ``hnneg_balanced`` is our own (negation.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from generators.captioner.captioned_walks import CaptionedWalk, WalkSettings, caption_walks, sample_keyed_walks
from generators.captioner.captioner import Captioner
from generators.hard_negatives.atom import make_atom_negatives, make_one_atom_negatives
from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.language_models import EntailmentModel, drop_entailed
from generators.hard_negatives.negation import BalancedSet, make_balanced_set, make_negation_negatives
from generators.hard_negatives.ngram import fit_bigram_scores
from generators.hard_negatives.selection import POOL, Measure, measure_length, replace_rejected, select_rank_balanced
from generators.hard_negatives.source import Source
from generators.hard_negatives.swap import make_swap_negatives
from generators.schemas.annotated_image import make_id_sort_key

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
        candidates = (
            make_one_atom_negatives(*inputs, PER_TYPE, rng) if self.one_atom else make_atom_negatives(*inputs, rng)
        )
        return self._choose(self.walk.caption.text, candidates, rng)

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        rng = self._rng("hnswap")
        text = self.walk.caption.text
        return self._choose(text, drop_entailed(text, make_swap_negatives(*self._inputs, rng), self.entailment), rng)

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        candidates = make_negation_negatives(*self._inputs, self._rng("hnneg"))
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
        return make_balanced_set(*self._inputs, self.source.vocabulary, self._rng(BALANCED))

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
        chosen = select_rank_balanced(truth, pool, (measure_length, self.likelihood), PER_TYPE, rng)
        return replace_rejected(chosen, pool, self._rejected)

    def columns(self, kind: str) -> dict[str, Any]:
        """Return the columns ``caption``, ``hard_negatives`` and ``foils`` of a row of one kind."""
        negatives: tuple[HardNegative, ...] = getattr(self, kind)
        balanced_set = self._balanced if kind == BALANCED else None
        return {
            "caption": balanced_set.caption if balanced_set else self.walk.caption.text,
            "hard_negatives": [negative.caption for negative in negatives],
            "foils": [negative.foil_rows for negative in negatives],
        }


def make_examples(
    source: Source,
    complexity: int,
    captioner: Captioner,
    settings: WalkSettings,
    dropped: Counter[str],
    entailment: str | None = None,
    one_atom: bool = False,
) -> Iterator[Example]:
    """Yield the examples of one complexity in the order of their keys. ``entailment`` is the name of an NLI model."""
    walks = caption_walks(sample_keyed_walks(source.images, complexity, settings, dropped), captioner, dropped)
    model = EntailmentModel(entailment) if entailment else None
    likelihood = fit_bigram_scores([walk.caption.text for walk in walks], [walk.image_id for walk in walks])
    for walk in walks:
        yield Example(walk, source, likelihood[walk.image_id], model, one_atom)
