"""The plausibility of captions from co-occurrence statistics, as a ranker without a neural model.

CREPE (arXiv:2212.07796, section 4.1) selects the most plausible negatives with BERT (language_models.MaskedLM). These
statistics are the default. They are computed on the source's captions and never on a training corpus, so that hard
negatives do not depend on the corpus.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Protocol

import numpy as np

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
START = "<s>"
COOCCURRENCE_WEIGHT = 0.5
"""Weight of word pairs in one caption, relative to adjacent word pairs."""
SMOOTHING = 0.1
"""Added to the counts of word pairs."""
UNKNOWN_PENALTY = 100.0
"""Penalty per unknown word. It outweighs all known words of a caption."""
BUFFERED_PAIRS = 1 << 20
"""Occurrences of pairs that are held until they are added to the sorted counts."""
Pair = tuple[str, str]


class Ranker(Protocol):
    """Scores captions by plausibility. Only the order of the scores matters; higher is more plausible."""

    def score(self, captions: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of pairs of numbers, sorted: 12 bytes per distinct pair, where a dictionary needs 250.

    ``keys`` has 64 bits per pair, the first number in the upper half.
    """

    keys: np.ndarray
    counts: np.ndarray

    def get(self, keys: Sequence[int]) -> list[int]:
        """Return the count of each key, 0 for unknown keys."""
        wanted = np.array(keys, np.uint64)
        if not len(self.keys):
            return [0] * len(wanted)
        positions = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[positions] == wanted, self.counts[positions], 0).tolist()


class PairCounter:
    """Counts pairs of numbers in memory that follows the number of distinct pairs."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.uint32)
        self._buffer = array("Q")

    def update(self, keys: Iterable[int]) -> None:
        self._buffer.extend(keys)
        if len(self._buffer) >= BUFFERED_PAIRS:
            self._merge()

    def result(self) -> PairCounts:
        self._merge()
        return PairCounts(self._keys, self._counts)

    def _merge(self) -> None:
        keys, counts = np.unique(np.array(self._buffer, np.uint64), return_counts=True)
        keys = np.concatenate([self._keys, keys])
        counts = np.concatenate([self._counts, counts.astype(np.uint32)])
        self._keys, first = np.unique(keys, return_inverse=True)
        self._counts = np.zeros(len(self._keys), np.uint32)
        np.add.at(self._counts, first, counts)
        self._buffer = array("Q")


@dataclass(frozen=True, eq=False)
class CorpusStatistics:
    """Counts of words, of adjacent words, and of word pairs in one caption.

    ``words`` and ``cooccurring`` count captions; ``adjacent`` counts occurrences. ``START`` counts as a word of every
    caption. Pairs consist of the positions of words in ``words``.
    """

    words: Mapping[str, int]
    adjacent: PairCounts
    cooccurring: PairCounts

    @classmethod
    def of(cls, captions: Iterable[str]) -> CorpusStatistics:
        words = {START: 0}
        adjacent = PairCounter()
        cooccurring = PairCounter()
        numbers = {START: 0}
        for caption in captions:
            tokens = _tokens(caption)
            types = sorted(set(tokens))
            for word in (START, *types):
                words[word] = words.get(word, 0) + 1
                numbers.setdefault(word, len(numbers))
            adjacent.update(_make_keys(numbers, pairwise([START, *tokens])))
            cooccurring.update(_make_keys(numbers, combinations(types, 2)))
        return cls(words, adjacent.result(), cooccurring.result())

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def score(self, captions: Sequence[str]) -> list[float]:
        """Return the mean log-odds of adjacent and of co-occurring words, minus the penalty for unknown words."""
        tokens = [_tokens(caption) for caption in captions]
        adjacent = self._log_odds(
            self.adjacent, [list(pairwise([START, *words])) for words in tokens]
        )
        pairs = [list(combinations(sorted(set(words)), 2)) for words in tokens]
        cooccurring = self._log_odds(self.cooccurring, pairs)
        unknown = [sum(token not in self.words for token in words) for words in tokens]
        return [
            _mean(first) + COOCCURRENCE_WEIGHT * _mean(second) - UNKNOWN_PENALTY * count
            for first, second, count in zip(adjacent, cooccurring, unknown, strict=True)
        ]

    def _log_odds(self, counts: PairCounts, pairs: Sequence[Sequence[Pair]]) -> list[list[float]]:
        """Return the smoothed logarithm of the ratio between the observed and the expected count of each word pair."""
        num_captions = max(self.words.get(START, 0), 1)
        distinct = list(dict.fromkeys(pair for caption_pairs in pairs for pair in caption_pairs))

        def log_odds(pair: Pair, observed: int) -> float:
            expected = self.words.get(pair[0], 0) * self.words.get(pair[1], 0) / num_captions
            return math.log((observed + SMOOTHING) / (expected + 1))

        observed = counts.get(list(_make_keys(self._numbers, distinct)))
        values = {
            pair: log_odds(pair, count) for pair, count in zip(distinct, observed, strict=True)
        }
        return [[values[pair] for pair in caption_pairs] for caption_pairs in pairs]


def _make_keys(numbers: Mapping[str, int], pairs: Iterable[Pair]) -> Iterable[int]:
    """Return the keys of pairs in PairCounts. An unknown word has a number that no pair has."""
    unknown = len(numbers)
    return (
        (numbers.get(first, unknown) << 32) + numbers.get(second, unknown)
        for first, second in pairs
    )


def _tokens(caption: str) -> list[str]:
    return WORD.findall(caption.lower())


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
