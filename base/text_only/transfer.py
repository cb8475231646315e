"""Text-only baselines that are trained elsewhere than on the sets that they score.

Cross-fitting within a refined set is biased towards less than chance: rows were removed until a word is true as often
as false, so that a word that is true too often in one fold is false too often in the others. A reader of the released
rows has other texts as well: the rows that refinement removed, the other sets of a benchmark, and captions of any
corpus.

Shapes are those of baselines.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compeval.base.text_only.baselines import Baseline, RetrievalSets
from compeval.base.text_only.ngram import FOLDS, NgramModel, assign_folds


@dataclass(frozen=True, eq=False)
class TransferSets(RetrievalSets):
    """Retrieval sets to train on, and then the sets that are scored."""

    num_first: int = 0
    """Number of sets to train on."""

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the first sets as training and the others as test rows.

        If only some rows may be trained on, they are also the test rows of models of each other, fold by fold, because
        a feature of training rows must not come from a model that has seen them.
        """
        rows = np.arange(len(self))
        yield rows[: self.num_first], rows[self.num_first :]
        if self.trainable_N is not None:
            fold_of = assign_folds(self.images[: self.num_first])
            fold_N = np.array([fold_of.get(image, -1) for image in self.images])
            for fold in range(FOLDS):
                train_N = self.trainable_N & (fold_N != fold)
                yield np.flatnonzero(train_N), np.flatnonzero(fold_N == fold)


def join_sets(parts: Sequence[RetrievalSets]) -> RetrievalSets:
    """Return the sets of all parts, in order."""
    captions = [candidates for sets in parts for candidates in sets.captions]
    images = [image for sets in parts for image in sets.images]
    return RetrievalSets(captions, images)


def score_transferred(
    sets: RetrievalSets, baseline: Baseline, training: RetrievalSets
) -> np.ndarray:
    """Return the scores (N, K) of a baseline that is trained on other sets of K captions."""
    both = join_sets([training, sets])
    transfer = TransferSets(both.captions, both.images, num_first=len(training))
    return baseline(transfer)[len(training) :]


def score_removed(sets: RetrievalSets, baseline: Baseline) -> np.ndarray:
    """Return the scores (N, K) of a baseline that is trained on the sets of other images that are not ``trainable_N``.

    While rows are selected, ``trainable_N`` are those that are kept. If none is removed, all scores are 0.
    """
    kept_N = np.ones(len(sets), dtype=bool) if sets.trainable_N is None else sets.trainable_N
    return baseline(replace(sets, trainable_N=~kept_N))


def score_by_siblings(
    sets: RetrievalSets, baseline: Baseline, siblings: RetrievalSets
) -> np.ndarray:
    """Return the scores (N, K) of a baseline that is trained on the sets of other images in ``siblings``."""
    both = join_sets([siblings, sets])
    is_sibling_N = np.arange(len(both)) < len(siblings)
    return baseline(replace(both, trainable_N=is_sibling_N))[len(siblings) :]


def score_by_corpus(sets: RetrievalSets, model: NgramModel) -> np.ndarray:
    """Return the mean log-probability per word (N, K) of an n-gram model of captions of a corpus."""
    return np.array(model.score(sets.texts)).reshape(len(sets), sets.size)


def train_corpus_models(captions: Iterable[str], orders: Sequence[int]) -> dict[str, NgramModel]:
    """Return n-gram models of a corpus by name."""
    texts = list(captions)
    names = {1: "unigram model", 2: "bigram model", 3: "trigram model"}
    return {
        names.get(order, f"{order}-gram model"): NgramModel.of(texts, order) for order in orders
    }
