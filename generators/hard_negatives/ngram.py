"""A word n-gram language model of captions, cross-fitted over images.

A model never scores a caption of an image on which it was trained.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

FOLDS = 5
"""Number of cross-fitting folds."""
TOKEN = re.compile(r"\w+|[^\w\s]")
PRIOR = 10.0
"""Weight of the next lower order, expressed as a number of occurrences of the context."""


def assign_folds(images: Iterable[str]) -> dict[str, int]:
    """Return the fold of each image. Images are sorted by their hashes and assigned to the folds in turn."""
    ordered = sorted(set(images), key=lambda image: hashlib.sha256(image.encode()).digest())
    return {image: index % FOLDS for index, image in enumerate(ordered)}


def fit_bigram_scores(
    captions: Sequence[str], images: Sequence[str]
) -> dict[str, Callable[[Sequence[str]], list[float]]]:
    """Return for each image the score function of a bigram model that is trained on the captions of all other folds."""
    fold_of = assign_folds(images)
    models = {
        fold: NgramModel.of([text for text, image in zip(captions, images, strict=True) if fold_of[image] != fold], 2)
        for fold in set(fold_of.values())
    }
    return {image: models[fold].score for image, fold in fold_of.items()}


@dataclass(frozen=True)
class NgramModel:
    """A word n-gram model.

    Each order is interpolated with the next lower order (Jelinek and Mercer 1980), and unigrams with the uniform
    distribution 1/V.
    """

    order: int
    grams: Mapping[tuple[str, ...], int]
    contexts: Mapping[tuple[str, ...], int]
    """Number of words that follow each context."""
    vocabulary_size: int
    """Vocabulary size V, including one unknown word."""
    _log_probabilities: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Cache, since the captions of a retrieval set share most of their n-grams."""

    @classmethod
    def of(cls, texts: Sequence[str], order: int) -> NgramModel:
        grams, contexts = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        vocabulary = set[str]()
        for text in texts:
            tokens = tokenize(text, order)
            vocabulary.update(tokens)
            for end in range(order, len(tokens) + 1):
                for length in range(1, order + 1):
                    gram = tokens[end - length : end]
                    grams[gram] += 1
                    contexts[gram[:-1]] += 1
        return cls(order, grams, contexts, len(vocabulary) + 1)

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


def tokenize(text: str, order: int) -> tuple[str, ...]:
    """Return the lower-case words and punctuation marks, padded for n-grams of the given order."""
    return (*["<s>"] * (order - 1), *TOKEN.findall(text.lower()), "</s>")
