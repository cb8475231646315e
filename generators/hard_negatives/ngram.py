"""A word n-gram language model of captions, cross-fitted over images: no caption is scored by a model of its image."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

FOLDS = 5
TOKEN = re.compile(r"\w+|[^\w\s]")
PRIOR = 10.0
"""Weight of the lower order, as a number of occurrences of the context."""


def assign_folds(images: Iterable[str]) -> dict[str, int]:
    """Return the fold of each image: images in the order of their hashes, folds in turn."""
    ordered = sorted(set(images), key=lambda image: hashlib.sha256(image.encode()).digest())
    return {image: place % FOLDS for place, image in enumerate(ordered)}


def likelihoods(captions: Sequence[str], images: Sequence[str]) -> dict[str, Callable[[Sequence[str]], list[float]]]:
    """Return for each image the score of a bigram model of the captions of all other folds."""
    fold_of = assign_folds(images)
    models = {
        fold: NgramModel.of([text for text, image in zip(captions, images, strict=True) if fold_of[image] != fold], 2)
        for fold in set(fold_of.values())
    }
    return {image: models[fold].score for image, fold in fold_of.items()}


@dataclass(frozen=True)
class NgramModel:
    """Word n-grams, each order interpolated with the next lower one (Jelinek and Mercer 1980), unigrams with 1/V."""

    order: int
    grams: Mapping[tuple[str, ...], int]
    contexts: Mapping[tuple[str, ...], int]
    """Number of words that follow each context."""
    words: int
    _log_probabilities: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Memoised, since the captions of a retrieval set share most of their n-grams."""

    @classmethod
    def of(cls, texts: Sequence[str], order: int) -> NgramModel:
        grams, contexts = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        words = set[str]()
        for text in texts:
            tokens = tokenize(text, order)
            words.update(tokens)
            for end in range(order, len(tokens) + 1):
                for length in range(1, order + 1):
                    gram = tokens[end - length : end]
                    grams[gram] += 1
                    contexts[gram[:-1]] += 1
        return cls(order, grams, contexts, len(words) + 1)

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
        """The probability of the last word given the others."""
        probability = 1 / self.words
        for start in reversed(range(self.order)):
            seen = self.contexts.get(gram[start:-1], 0)
            share = self.grams.get(gram[start:], 0) / max(seen, 1)
            probability = (seen * share + PRIOR * probability) / (seen + PRIOR)
        return probability


def tokenize(text: str, order: int) -> tuple[str, ...]:
    """Return the lower-cased words and punctuation marks, padded for n-grams of an order."""
    return (*["<s>"] * (order - 1), *TOKEN.findall(text.lower()), "</s>")
