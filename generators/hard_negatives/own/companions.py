"""Find nouns that captions of one image mention together, from counts of pairs of nouns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Self

from compeval.base.text_only.corpus_statistics import PairCounter, PairCounts

MIN_IMAGES = 20
"""Nouns of fewer images say nothing about their companions."""


@dataclass(frozen=True)
class Companions:
    """The number of images that mention each noun, and each pair of nouns. Memory follows the vocabulary."""

    counts: Mapping[str, int]
    pairs: PairCounts
    """Pairs of positions in ``counts``."""

    @classmethod
    def of(cls, nouns_by_image: Iterable[Iterable[str]]) -> Self:
        counts = dict[str, int]()
        numbers = dict[str, int]()
        pairs = PairCounter()
        for nouns in (sorted(set(nouns)) for nouns in nouns_by_image):
            for noun in nouns:
                counts[noun] = counts.get(noun, 0) + 1
                numbers.setdefault(noun, len(numbers))
            pairs.update(
                numbers[first] << 32 | numbers[second] for first, second in permutations(nouns, 2)
            )
        return cls(counts, pairs.result())

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {noun: number for number, noun in enumerate(self.counts)}

    def share(self, noun: str, others: Iterable[str]) -> float:
        """Return the largest share of the images with one of the other nouns that mention this noun."""
        frequent = [other for other in others if self.counts.get(other, 0) >= MIN_IMAGES]
        if noun not in self._numbers or not frequent:
            return 0.0
        together = self.pairs.get(
            [self._numbers[other] << 32 | self._numbers[noun] for other in frequent]
        )
        return max(
            count / self.counts[other] for count, other in zip(together, frequent, strict=True)
        )
