"""Seen against unseen compounds on the same captions.

CREPE compares SC rows with UC rows (arXiv:2212.07796, section 5.1), which are different captions. Here a caption that
is SC for the corpus of one model and UC for that of another is compared with itself: same image, same caption, same
hard negatives, only the models differ. For two corpora a and b the gap is taken in both directions and averaged,

    gap(a, b) = 1/2 [ mean over SC_a and UC_b of (hit_a - hit_b) + mean over UC_a and SC_b of (hit_b - hit_a) ],

so that one model being better than the other on everything cancels out. A corpus' gap is the mean over its pairs. Hits
are averaged over training seeds first; intervals weight images at random (the Bayesian bootstrap, so that a pair with
captions in few images is in every resample); p values are two-sided, from the same resamples, and Holm-corrected over
the corpora.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from evaluators.metrics.statistics import group_means

RESAMPLES = 2000


@dataclass(frozen=True)
class Direction:
    """Captions that are SC for ``seen`` and UC for ``unseen``: how many, and Recall@1 of either corpus' models."""

    seen: str
    unseen: str
    captions: int
    images: int
    seen_recall: float
    unseen_recall: float


@dataclass(frozen=True)
class Gap:
    """A corpus' balanced gap (a share, positive where seen compounds are easier), its 95 % interval, and Holm's p."""

    corpus: str
    gap: float
    low: float
    high: float
    p: float


def shared(hits: Mapping[str, pd.DataFrame], seen: str, unseen: str) -> pd.DataFrame:
    """Rows ``image_id, seen_hit, unseen_hit`` of the captions that are SC for one corpus and UC for the other.

    ``hits[corpus]`` has the columns crop_id, caption, image_id, split ('sc' or 'uc') and hit (share of seeds).
    """
    keys = ["crop_id", "caption", "image_id"]
    first, second = hits[seen], hits[unseen]
    joined = first[first["split"] == "sc"].merge(
        second[second["split"] == "uc"], on=keys, suffixes=("_seen", "_unseen")
    )
    return joined[["image_id", "hit_seen", "hit_unseen"]].rename(
        columns={"hit_seen": "seen_hit", "hit_unseen": "unseen_hit"}
    )


def directions(hits: Mapping[str, pd.DataFrame]) -> list[Direction]:
    """Every ordered pair of corpora that shares captions."""
    found = []
    for seen, unseen in permutations(hits, 2):
        rows = shared(hits, seen, unseen)
        if len(rows):
            recall = rows[["seen_hit", "unseen_hit"]].mean()
            images = rows["image_id"].nunique()
            found.append(Direction(seen, unseen, len(rows), images, recall["seen_hit"], recall["unseen_hit"]))
    return found


def _differences(hits: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows ``pair, image_id, difference`` (seen minus unseen hit) of the pairs that share captions both ways."""
    rows = {(seen, unseen): shared(hits, seen, unseen) for seen, unseen in permutations(hits, 2)}
    pairs = [pair for pair in rows if len(rows[pair]) and len(rows[pair[1], pair[0]])]
    parts = [
        pd.DataFrame(
            {
                "pair": " ".join(pair),
                "image_id": rows[pair]["image_id"],
                "difference": rows[pair]["seen_hit"] - rows[pair]["unseen_hit"],
            }
        )
        for pair in pairs
    ]
    return pd.concat(parts) if parts else pd.DataFrame(columns=pd.Index(["pair", "image_id", "difference"]))


def gaps(hits: Mapping[str, pd.DataFrame], seed: int = 0) -> list[Gap]:
    """Each corpus' gap, and last the gap over all corpora (``all``), which is not part of Holm's family.

    Corpora without a shared caption in both directions are left out; ValueError if no pair of corpora shares any.
    """
    rows = _differences(hits)
    if rows.empty:
        raise ValueError("No caption is seen in one corpus and unseen in another: there is nothing to compare.")
    estimate_P = rows.groupby("pair")["difference"].mean()
    pairs = [str(pair).split() for pair in estimate_P.index]
    corpora = sorted({corpus for pair in pairs for corpus in pair})
    weight_CP = np.array(
        [[corpus in pair for pair in pairs] for corpus in corpora] + [[True] * len(pairs)], dtype=float
    )
    weight_CP /= weight_CP.sum(axis=1, keepdims=True)
    estimate_C = weight_CP @ estimate_P.to_numpy()
    difference_N, pair_N, image_N = (rows[name].to_numpy() for name in ("difference", "pair", "image_id"))
    mean_RP = group_means(difference_N, pair_N.astype(str), image_N.astype(str), RESAMPLES, seed)
    sample_RC = mean_RP @ weight_CP.T
    low_C, high_C = np.quantile(sample_RC, [0.025, 0.975], axis=0)
    beyond_C = np.minimum((sample_RC <= 0).mean(axis=0), (sample_RC >= 0).mean(axis=0))
    p_C = np.minimum(1.0, 2 * np.maximum(beyond_C, 1 / len(sample_RC)))
    corrected = multipletests(p_C[:-1], method="holm")[1]
    assert corrected is not None
    holm_C = [*corrected, p_C[-1]]
    names = [*corpora, "all"]
    return [
        Gap(name, *map(float, values)) for name, *values in zip(names, estimate_C, low_C, high_C, holm_C, strict=True)
    ]
