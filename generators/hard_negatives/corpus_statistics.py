"""The plausibility of captions from co-occurrence statistics, as a ranker without a neural model.

CREPE (arXiv:2212.07796, section 4.1) selects the most plausible negatives with BERT (language_models.MaskedLM). These
statistics are the default. They are computed on the source's captions and never on a training corpus, so that hard
negatives do not depend on the corpus.
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
"""Weight of word pairs in one caption, relative to adjacent word pairs."""
SMOOTHING = 0.1
"""Added to the counts of word pairs."""
UNKNOWN_PENALTY = 100.0
"""Penalty per unknown word. It outweighs all known words of a caption."""


class Ranker(Protocol):
    """Scores captions by plausibility. Only the order of the scores matters; higher is more plausible."""

    def score(self, captions: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True)
class CorpusStatistics:
    """Counts of words, of adjacent words, and of word pairs in one caption.

    ``words`` and ``cooccurring`` count captions; ``adjacent`` counts occurrences. ``START`` counts as a word of every
    caption.
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
        """Return the mean log-odds of adjacent and of co-occurring words, minus the penalty for unknown words."""
        return [self._score(_tokens(caption)) for caption in captions]

    def _score(self, tokens: Sequence[str]) -> float:
        unknown = sum(token not in self.words for token in tokens)
        adjacent = [self._log_odds(self.adjacent, pair) for pair in pairwise([START, *tokens])]
        cooccurring = [self._log_odds(self.cooccurring, pair) for pair in combinations(sorted(set(tokens)), 2)]
        return _mean(adjacent) + COOCCURRENCE_WEIGHT * _mean(cooccurring) - UNKNOWN_PENALTY * unknown

    def _log_odds(self, pairs: Mapping[tuple[str, str], int], pair: tuple[str, str]) -> float:
        """Return the smoothed logarithm of the ratio between the observed and the expected count of a word pair."""
        captions = max(self.words.get(START, 0), 1)
        expected = self.words.get(pair[0], 0) * self.words.get(pair[1], 0) / captions
        return math.log((pairs.get(pair, 0) + SMOOTHING) / (expected + 1))


def _tokens(caption: str) -> list[str]:
    return WORD.findall(caption.lower())


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
