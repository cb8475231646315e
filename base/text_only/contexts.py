"""Text-only baselines that read the context of a set as well, such as the box of its crop.

A crop follows the objects of its true caption: it is wide for a truck and small for a hat. So the box and the words
that differ between the captions tell something about the truth without a pixel. A word counts only together with a bin
of the box, because other baselines read the words alone. Shapes are those of baselines.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    score_words,
    score_words_naive_bayes,
)
from compeval.base.text_only.ngram import TOKEN

BOX_COLUMNS = ("x", "y", "width", "height")
BINS = 4
"""Number of bins of each measure of a box."""


def bin_boxes(boxes: Sequence[Sequence[float]], bins: int = BINS) -> list[list[str]]:
    """Return the bins of the measures of each box, such as ``width3``. The bins of a measure are equally frequent.

    A box has the values of ``BOX_COLUMNS``.
    """
    x_N, y_N, width_N, height_N = np.array(boxes, dtype=float).reshape(-1, 4).T
    value_by_measure = {
        "x": x_N + width_N / 2,
        "y": y_N + height_N / 2,
        "width": width_N,
        "height": height_N,
        "area": width_N * height_N,
        "aspect": width_N / height_N,
    }
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    bins_by_measure = {
        measure: np.searchsorted(np.quantile(value_N, shares), value_N) if len(value_N) else value_N
        for measure, value_N in value_by_measure.items()
    }
    return [
        [f"{measure}{place_N[row]}" for measure, place_N in bins_by_measure.items()]
        for row in range(len(x_N))
    ]


def list_differing_words(captions: Sequence[str]) -> list[set[str]]:
    """Return the words of each caption that not all captions have."""
    words = [set(TOKEN.findall(text.lower())) for text in captions]
    return [own - set.intersection(*words) for own in words]


def write_contexts(sets: RetrievalSets) -> RetrievalSets:
    """Return sets whose texts are the pairs of a differing word and a context: "hat_width3 hat_area2"."""
    captions = [
        [
            " ".join(f"{word}_{context}" for word in sorted(own) for context in contexts)
            for own in list_differing_words(texts)
        ]
        for texts, contexts in zip(sets.captions, sets.contexts, strict=True)
    ]
    return replace(sets, captions=captions)


def pair_contexts(sets: RetrievalSets) -> RetrievalSets:
    """Return the sets with the pairs of their contexts: "width3_height0"."""
    pairs = [["_".join(pair) for pair in combinations(contexts, 2)] for contexts in sets.contexts]
    return replace(sets, contexts=pairs)


def score_with_contexts(sets: RetrievalSets, baseline: Baseline) -> np.ndarray:
    """Return the scores (N, K) of a baseline that reads the differing words together with the contexts."""
    return baseline(write_contexts(sets))


def score_with_pairs_of_contexts(sets: RetrievalSets, baseline: Baseline) -> np.ndarray:
    return baseline(write_contexts(pair_contexts(sets)))


CONTEXT_BASELINES: Mapping[str, Baseline] = {
    "words_and_contexts": partial(score_with_contexts, baseline=score_words),
    "words_and_pairs_of_contexts": partial(score_with_pairs_of_contexts, baseline=score_words),
    "naive_bayes_of_words_and_contexts": partial(
        score_with_contexts, baseline=score_words_naive_bayes
    ),
}
TRAINED_ON_ALL_ROWS: Mapping[str, Baseline] = {
    **CONTEXT_BASELINES,
    "naive_bayes_of_words_and_pairs_of_contexts": partial(
        score_with_pairs_of_contexts, baseline=score_words_naive_bayes
    ),
}
"""Baselines that refinement trains on all rows, as a reader of unrefined sets of another world would."""
