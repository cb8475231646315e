"""The plausibility of a caption, as co-occurrence statistics of a source's captions: a ranker without weights.

CREPE (arXiv:2212.07796, section 4.1) selects the most plausible negatives with BERT (language_models.MaskedLM). These
statistics are the default. They are of the source's captions, never of a training corpus, so that negatives do not
depend on the corpus.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Protocol

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
START = "<s>"
COOCCURRENCE_WEIGHT = 0.5
"""Weight of words that occur in one caption, relative to adjacent words."""
SMOOTHING = 0.1
UNKNOWN_PENALTY = 100.0
"""Subtracted per unknown word: more than known words can add."""


class Ranker(Protocol):
    """Scores captions by plausibility; a higher score is more plausible, and only the order counts."""

    def score(self, captions: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True)
class CorpusStatistics:
    """The number of captions with each word, of each pair of adjacent words, and of captions with each pair of words.

    ``START`` counts as a word of every caption.
    """

    words: Mapping[str, int]
    adjacent: Mapping[tuple[str, str], int]
    cooccurring: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, captions: Iterable[str]) -> CorpusStatistics:
        words, adjacent, cooccurring = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for caption in captions:
            tokens = _tokens(caption)
            types = sorted(set(tokens))
            words.update([START, *types])
            adjacent.update(pairwise([START, *tokens]))
            cooccurring.update(combinations(types, 2))
        return cls(words, adjacent, cooccurring)

    def score(self, captions: Sequence[str]) -> list[float]:
        """Return the mean log-odds of adjacent and of co-occurring words, minus the penalty of unknown words."""
        return [self._score(_tokens(caption)) for caption in captions]

    def _score(self, tokens: Sequence[str]) -> float:
        unknown = sum(token not in self.words for token in tokens)
        adjacent = [self._log_odds(self.adjacent, pair) for pair in pairwise([START, *tokens])]
        cooccurring = [self._log_odds(self.cooccurring, pair) for pair in combinations(sorted(set(tokens)), 2)]
        return _mean(adjacent) + COOCCURRENCE_WEIGHT * _mean(cooccurring) - UNKNOWN_PENALTY * unknown

    def _log_odds(self, pairs: Mapping[tuple[str, str], int], pair: tuple[str, str]) -> float:
        """The smoothed logarithm of how much more often two words go together than by chance."""
        captions = max(self.words.get(START, 0), 1)
        expected = self.words.get(pair[0], 0) * self.words.get(pair[1], 0) / captions
        return math.log((pairs.get(pair, 0) + SMOOTHING) / (expected + 1))


def _tokens(caption: str) -> list[str]:
    return WORD.findall(caption.lower())


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
