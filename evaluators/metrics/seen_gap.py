"""Measure the gap between seen and unseen compounds on the same captions.

SC: all compounds of the caption were seen in the training corpus. UC: all atoms were seen, but not all compounds. CREPE
compares SC rows with UC rows (arXiv:2212.07796, section 5.1), which are different captions. Here a caption that is SC
for the corpus of one model and UC for the corpus of another model is compared with itself: image, caption and hard
negatives are the same, only the models differ. For two corpora a and b, the gap is the mean over both directions,

    gap(a, b) = 1/2 [ mean over SC_a and UC_b of (hit_a - hit_b) + mean over UC_a and SC_b of (hit_b - hit_a) ],

so that a general difference between the two models cancels out. The gap of a corpus is the mean over its pairs with
other corpora. Hits are averaged over training seeds first. Confidence intervals come from the Bayesian bootstrap over
images, in which every resample contains every pair of corpora. p-values are two-sided, come from the same resamples,
and are Holm-corrected over the corpora.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from compeval.evaluators.metrics.statistics import bootstrap_group_means, correct_by_holm

NUM_RESAMPLES = 2000


@dataclass(frozen=True)
class Direction:
    """Recall@1 of the models of two corpora on the captions that are SC for ``seen`` and UC for ``unseen``.

    ``captions``, ``images``: numbers of captions and images.
    """

    seen: str
    unseen: str
    captions: int
    images: int
    seen_recall: float
    unseen_recall: float


@dataclass(frozen=True)
class Gap:
    """The gap of a corpus as a fraction of 1, its 95 % interval and its Holm-corrected p-value.

    The gap is positive if seen compounds are easier.
    """

    corpus: str
    gap: float
    low: float
    high: float
    p: float


def join_shared_captions(hits: Mapping[str, pd.DataFrame], seen: str, unseen: str) -> pd.DataFrame:
    """Return the captions that are SC for ``seen`` and UC for ``unseen``: columns image_id, seen_hit, unseen_hit.

    ``hits[corpus]`` has the columns crop_id, caption, image_id, split ('sc' or 'uc') and hit (mean over seeds).
    """
    sc = hits[seen].query("split == 'sc'")
    uc = hits[unseen].query("split == 'uc'")
    keys = ["crop_id", "caption", "image_id"]
    joined = sc.rename(columns={"hit": "seen_hit"}).merge(
        uc.rename(columns={"hit": "unseen_hit"}), on=keys
    )
    return joined[["image_id", "seen_hit", "unseen_hit"]]


def _join_all_pairs(hits: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], pd.DataFrame]:
    """Return (seen, unseen) -> shared captions, without pairs of corpora that share no caption."""
    rows = {pair: join_shared_captions(hits, *pair) for pair in permutations(hits, 2)}
    return {pair: table for pair, table in rows.items() if len(table)}


def compute_directions(hits: Mapping[str, pd.DataFrame]) -> list[Direction]:
    """Compute the recalls for every ordered pair of corpora that shares captions."""
    return [
        Direction(
            *pair,
            len(rows),
            rows["image_id"].nunique(),
            rows["seen_hit"].mean(),
            rows["unseen_hit"].mean(),
        )
        for pair, rows in _join_all_pairs(hits).items()
    ]


def compute_gaps(hits: Mapping[str, pd.DataFrame], seed: int = 0) -> list[Gap]:
    """Compute the gap of each corpus and, as the last item, over all corpora ("all", excluded from Holm's correction).

    Pairs of corpora that do not share captions in both directions are ignored. Raises ValueError if no pair remains.
    """
    tables = _join_all_pairs(hits)
    pairs = sorted((pair for pair in tables if pair[::-1] in tables), key=" ".join)
    if not pairs:
        raise ValueError(
            "No caption is seen in one corpus and unseen in another, so there is nothing to compare."
        )
    rows = pd.concat([tables[pair].assign(pair=" ".join(pair)) for pair in tables if pair in pairs])
    difference_N = (rows["seen_hit"] - rows["unseen_hit"]).to_numpy(float)
    estimate_P = np.array([difference_N[rows["pair"] == " ".join(pair)].mean() for pair in pairs])
    corpora = sorted({corpus for pair in pairs for corpus in pair})
    weight_CP = np.array(
        [[corpus in pair for pair in pairs] for corpus in corpora] + [[True] * len(pairs)],
        dtype=float,
    )
    weight_CP /= weight_CP.sum(axis=1, keepdims=True)
    pair_N, image_N = (rows[column].to_numpy().astype(str) for column in ("pair", "image_id"))
    sample_RC = (
        bootstrap_group_means(difference_N, pair_N, image_N, NUM_RESAMPLES, seed) @ weight_CP.T
    )
    low_C, high_C = np.quantile(sample_RC, [0.025, 0.975], axis=0)
    beyond_C = np.minimum((sample_RC <= 0).mean(axis=0), (sample_RC >= 0).mean(axis=0))
    p_C = np.minimum(1.0, 2 * np.maximum(beyond_C, 1 / len(sample_RC)))
    p_C[:-1] = correct_by_holm(p_C[:-1])
    columns = ((weight_CP @ estimate_P).tolist(), low_C.tolist(), high_C.tolist(), p_C.tolist())
    return [Gap(*values) for values in zip([*corpora, "all"], *columns, strict=True)]
