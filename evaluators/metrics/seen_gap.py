"""The gap between seen and unseen compounds on the same captions.

CREPE compares SC rows with UC rows (arXiv:2212.07796, section 5.1), which are different captions. Here a caption that
is SC for the corpus of one model and UC for that of another is compared with itself: same image, same caption, same
hard negatives, only the models differ. For two corpora a and b the gap is taken in both directions and averaged,

    gap(a, b) = 1/2 [ mean over SC_a and UC_b of (hit_a - hit_b) + mean over UC_a and SC_b of (hit_b - hit_a) ],

so that a general difference between the two models cancels out. The gap of a corpus is the mean over its pairs. Hits
are averaged over training seeds first. Intervals come from the Bayesian bootstrap over images, which keeps pairs with
captions in few images in every resample; p values are two-sided, from the same resamples, and Holm-corrected over the
corpora.
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
    """Captions that are SC for ``seen`` and UC for ``unseen``, and Recall@1 of the models of both corpora on them."""

    seen: str
    unseen: str
    captions: int
    images: int
    seen_recall: float
    unseen_recall: float


@dataclass(frozen=True)
class Gap:
    """A corpus' balanced gap (fraction, positive if seen compounds are easier), 95 % interval and Holm-corrected p."""

    corpus: str
    gap: float
    low: float
    high: float
    p: float


def shared(hits: Mapping[str, pd.DataFrame], seen: str, unseen: str) -> pd.DataFrame:
    """Rows ``image_id, seen_hit, unseen_hit`` of the captions that are SC for one corpus and UC for the other.

    ``hits[corpus]`` has the columns crop_id, caption, image_id, split ('sc' or 'uc') and hit (mean over seeds).
    """
    sc, uc = hits[seen].query("split == 'sc'"), hits[unseen].query("split == 'uc'")
    keys = ["crop_id", "caption", "image_id"]
    joined = sc.rename(columns={"hit": "seen_hit"}).merge(uc.rename(columns={"hit": "unseen_hit"}), on=keys)
    return joined[["image_id", "seen_hit", "unseen_hit"]]


def _all_shared(hits: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], pd.DataFrame]:
    """Shared captions of every ordered pair of corpora that has any."""
    rows = {pair: shared(hits, *pair) for pair in permutations(hits, 2)}
    return {pair: table for pair, table in rows.items() if len(table)}


def directions(hits: Mapping[str, pd.DataFrame]) -> list[Direction]:
    """Every ordered pair of corpora that shares captions."""
    return [
        Direction(*pair, len(rows), rows["image_id"].nunique(), rows["seen_hit"].mean(), rows["unseen_hit"].mean())
        for pair, rows in _all_shared(hits).items()
    ]


def gaps(hits: Mapping[str, pd.DataFrame], seed: int = 0) -> list[Gap]:
    """Each corpus' gap, and last the gap over all corpora (``all``), which is not part of Holm's family.

    Corpora without a shared caption in both directions are omitted; ValueError if no pair of corpora shares any.
    """
    tables = _all_shared(hits)
    pairs = sorted((pair for pair in tables if pair[::-1] in tables), key=" ".join)
    if not pairs:
        raise ValueError("No caption is seen in one corpus and unseen in another: there is nothing to compare.")
    rows = pd.concat([tables[pair].assign(pair=" ".join(pair)) for pair in tables if pair in pairs])
    difference_N = (rows["seen_hit"] - rows["unseen_hit"]).to_numpy(float)
    estimate_P = np.array([difference_N[rows["pair"] == " ".join(pair)].mean() for pair in pairs])
    corpora = sorted({corpus for pair in pairs for corpus in pair})
    weight_CP = np.array(
        [[corpus in pair for pair in pairs] for corpus in corpora] + [[True] * len(pairs)], dtype=float
    )
    weight_CP /= weight_CP.sum(axis=1, keepdims=True)
    pair_N, image_N = (rows[column].to_numpy().astype(str) for column in ("pair", "image_id"))
    sample_RC = group_means(difference_N, pair_N, image_N, RESAMPLES, seed) @ weight_CP.T
    low_C, high_C = np.quantile(sample_RC, [0.025, 0.975], axis=0)
    beyond_C = np.minimum((sample_RC <= 0).mean(axis=0), (sample_RC >= 0).mean(axis=0))
    p_C = np.minimum(1.0, 2 * np.maximum(beyond_C, 1 / len(sample_RC)))
    p_C[:-1] = multipletests(p_C[:-1], method="holm")[1]
    columns = ((weight_CP @ estimate_P).tolist(), low_C.tolist(), high_C.tolist(), p_C.tolist())
    return [Gap(*values) for values in zip([*corpora, "all"], *columns, strict=True)]
