"""A word n-gram language model of captions.

A model should never score a caption of an image on which it was trained: baselines.py splits images into folds,
and :meth:`NgramModel.leave_out` removes the captions of one image from a model.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

FOLDS = 5
"""Number of cross-fitting folds."""
TOKEN = re.compile(r"\w+|[^\w\s]")
PRIOR = 10.0
"""Weight of the next lower order, expressed as a number of occurrences of the context."""


def assign_folds(images: Iterable[str]) -> dict[str, int]:
    """Return the fold of each image. Images are sorted by their hashes and assigned to the folds in turn."""
    ordered = sorted(set(images), key=lambda image: hashlib.sha256(image.encode()).digest())
    return {image: index % FOLDS for index, image in enumerate(ordered)}


class Counts(Protocol):
    """Numbers of occurrences of n-grams."""

    def get(self, gram: tuple[str, ...], default: int, /) -> int: ...


@dataclass(frozen=True)
class NgramModel:
    """A word n-gram model.

    Each order is interpolated with the next lower order (Jelinek and Mercer 1980), and unigrams with the uniform
    distribution 1/V.
    """

    order: int
    grams: Counts
    contexts: Counts
    """Number of words that follow each context."""
    vocabulary_size: int
    """Vocabulary size V, including one unknown word."""
    _log_probabilities: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Cache, since the captions of a retrieval set share most of their n-grams."""

    @classmethod
    def of(cls, texts: Sequence[str], order: int) -> NgramModel:
        grams, contexts = _count_grams(texts, order)
        words = sum(len(gram) == 1 for gram in grams)
        return cls(order, grams, contexts, words + (order > 1) + 1)  # with <s> and one unknown word

    def leave_out(self, texts: Sequence[str]) -> NgramModel:
        """Return the model of the remaining texts; ``texts`` are some of the texts on which this model was trained."""
        grams, contexts = _count_grams(texts, self.order)
        words = sum(
            len(gram) == 1 and self.grams.get(gram, 0) == count for gram, count in grams.items()
        )
        return NgramModel(
            self.order,
            _Difference(self.grams, grams),
            _Difference(self.contexts, contexts),
            self.vocabulary_size - words,
        )

    def score(self, texts: Sequence[str]) -> list[float]:
        """Return the mean log-probability per word of each text."""
        return [self._score(tokenize(text, self.order)) for text in texts]

    def _score(self, tokens: tuple[str, ...]) -> float:
        grams = [tokens[end - self.order : end] for end in range(self.order, len(tokens) + 1)]
        for gram in grams:
            if gram not in self._log_probabilities:
                self._log_probabilities[gram] = math.log(self._probability(gram))
        return math.fsum(self._log_probabilities[gram] for gram in grams) / len(grams)

    def _probability(self, gram: tuple[str, ...]) -> float:
        """Return the probability of the last word given the other words."""
        probability = 1 / self.vocabulary_size
        for start in reversed(range(self.order)):
            seen = self.contexts.get(gram[start:-1], 0)
            share = self.grams.get(gram[start:], 0) / max(seen, 1)
            probability = (seen * share + PRIOR * probability) / (seen + PRIOR)
        return probability


class _Difference(NamedTuple):
    """The difference of two counters, without a copy of the larger one."""

    total: Counts
    removed: Mapping[tuple[str, ...], int]

    def get(self, gram: tuple[str, ...], default: int = 0) -> int:
        return self.total.get(gram, default) - self.removed.get(gram, 0)


def _count_grams(
    texts: Iterable[str], order: int
) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """Return the number of occurrences of each n-gram up to an order, and of its context."""
    grams = Counter[tuple[str, ...]]()
    contexts = Counter[tuple[str, ...]]()
    for text in texts:
        tokens = tokenize(text, order)
        for end in range(order, len(tokens) + 1):
            for length in range(1, order + 1):
                gram = tokens[end - length : end]
                grams[gram] += 1
                contexts[gram[:-1]] += 1
    return grams, contexts


def tokenize(text: str, order: int) -> tuple[str, ...]:
    """Return the lower-case words and punctuation marks, padded for n-grams of the given order."""
    return (*["<s>"] * (order - 1), *TOKEN.findall(text.lower()), "</s>")
