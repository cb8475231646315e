"""A model's Recall@1 with and without malformed texts (loaders/malformed.py), from the scores of its results.

Shapes: N rows of K candidates, with the true caption in column 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compeval.base.schemas.texts import Texts
from compeval.evaluators.inspection.predictability import read_choices
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.protocols.choice import rank_truth
from compeval.evaluators.results.compose import get_clusters
from compeval.loaders.malformed import find_malformed, list_available_kinds


def score_without_malformed(folder: Path, datasets: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the scores of a model on each task that has malformed texts, given the folder of its results.

    ``all``: on all rows; ``rows``: on the rows without a malformed text; ``negatives``: on all rows, without their
    malformed negatives; a row whose caption is malformed, or that has no other negative, is left out. Each is a dict of
    ``rows``, ``recall@1``, ``interval`` and ``chance``.
    """
    for result, table in read_choices(folder, datasets):
        captions = table["caption"].to_pylist()
        negatives = table["hard_negatives"].to_pylist()
        texts = [
            Texts(caption, row, [False] * len(row))
            for caption, row in zip(captions, negatives, strict=True)
        ]
        score_NK = np.array(table["scores"].to_pylist())
        malformed_NK = np.zeros(score_NK.shape, dtype=bool)
        for finding in find_malformed(texts, list_available_kinds()):
            malformed_NK[finding.row, finding.candidate] = True
        if malformed_NK.any():
            masks = {
                "all": np.zeros_like(malformed_NK),
                "rows": malformed_NK | malformed_NK.any(axis=1, keepdims=True),
            }
            scores = {
                name: score_candidates(score_NK, dropped_NK, get_clusters(table))
                for name, dropped_NK in (masks | {"negatives": malformed_NK}).items()
            }
            yield {"task": result["task"], "model": result["model"]["name"], **scores}


def score_candidates(
    score_NK: np.ndarray, dropped_NK: np.ndarray, cluster_N: np.ndarray
) -> dict[str, Any]:
    """Return Recall@1 without some candidates; rows without their caption or without a negative do not count."""
    size_N = np.sum(~dropped_NK, axis=1)
    kept_N = ~dropped_NK[:, 0] & (size_N > 1)
    lowest_NK = np.where(dropped_NK, score_NK.min() - 1, score_NK)[kept_N]
    hit_N = (rank_truth(lowest_NK).rank_N == 1).astype(float)
    if not len(hit_N):
        return {"rows": 0}
    interval = compute_share_interval(hit_N, cluster_N[kept_N])
    chance = float((1 / size_N[kept_N]).mean())
    return {
        "rows": len(hit_N),
        "recall@1": float(hit_N.mean()),
        "interval": interval,
        "chance": chance,
    }
