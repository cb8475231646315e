"""Select the pairs of a published file on which text-only baselines are at chance (``compeval balance``).

A pair is a true caption with one of its negatives, so that rules that compare the captions of a set with each other
have nothing to compare. Adversarial refinement (generators/text_only/refinement.py, after SugarCrepe) selects the pairs
with its own baselines; other baselines, which it never uses, judge them before and after, each retrained on the pairs
that it judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.metrics.intervals import compute_share_interval
from generators.text_only.baselines import HELD_OUT_BASELINES, Baseline, RetrievalSets, recall_at_1
from generators.text_only.refinement import REFINEMENT_BASELINES, select_rows_at_chance
from generators.text_only.unseen_baselines import UNSEEN_BASELINES
from loaders.importing.identify import identify
from loaders.importing.importing import ReadFile, read_published
from loaders.published.balanced import is_balanced, pack

SEED = 0
MARGIN = 0.05
"""Largest distance from chance, as a share of pairs, at which a subset is balanced although an interval is above it."""


def balance_file(path: Path) -> dict[str, Any]:
    """Return the entry of a published file for loaders/published/balanced.yaml; without ``kept`` if there is no subset.

    Raises ValueError if the file has several sets, or rows without or with several negatives.
    """
    read = read_published(identify(path))
    pairs = read_sets(read)
    if pairs.size > 2:
        raise ValueError(
            f"{read.file.path}: rows have {pairs.size - 1} negatives; a balanced subset is of rows with one."
        )
    keep_P = select_rows_at_chance(pairs, SEED)
    before, after = measure_pairs(pairs), measure_pairs(pairs.select(keep_P))
    entry = {
        "file": f"{read.file.benchmark.name}: {read.counts.file}",
        "sha256": read.file.sha256,
        "rules": sorted(REFINEMENT_BASELINES),
        "seed": SEED,
        "rows": len(pairs),
        "pairs": len(pairs),
        "pairs_kept": int(keep_P.sum()),
        "before": before,
        "after": after,
    }
    balanced = all(is_at_chance(scores) for scores in after.values())
    return entry | ({"kept": pack(keep_P)} if balanced else {})


def read_sets(read: ReadFile) -> RetrievalSets:
    """Return the sets of a file.

    Raises ValueError if it has several sets, no negatives, or rows with different numbers of them.
    """
    splits = [(key, rows) for key, rows in read.splits.items() if not is_balanced(key[1])]
    if len(splits) != 1:
        raise ValueError(f"{read.file.path}: has {len(splits)} sets; a balanced subset is of a file with one.")
    ((_, rows),) = splits
    sizes = {len(row.hard_negatives) for row in rows}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"{read.file.path}: rows have {sorted(sizes)} negatives; expected one positive number.")
    return RetrievalSets([row.list_candidates() for row in rows], [row.image_id or row.images[0] for row in rows])


def measure_pairs(pairs: RetrievalSets) -> dict[str, dict[str, Any]]:
    """Return the baseline farthest above chance, of those that refinement uses and of those that it never uses."""
    groups = {"seen": REFINEMENT_BASELINES, "unseen": {**HELD_OUT_BASELINES, **UNSEEN_BASELINES}}
    return {group: find_farthest(pairs, baselines) for group, baselines in groups.items()}


def find_farthest(pairs: RetrievalSets, baselines: Mapping[str, Baseline]) -> dict[str, Any]:
    """Return the baseline with the highest accuracy on pairs (a fraction of 1), with its 95 % interval over images."""
    hits = {name: recall_at_1(baseline(pairs)) for name, baseline in baselines.items()}
    best = max(hits, key=lambda name: hits[name].mean())
    interval = compute_share_interval(hits[best], pairs.images)
    share = round(float(np.mean(hits[best])), 4)
    return {"baseline": best, "accuracy": share, "interval": [round(bound, 4) for bound in interval]}


def is_at_chance(scores: Mapping[str, Any]) -> bool:
    """Return True if chance, 1/2, is in the interval of the best baseline, or within ``MARGIN`` of its accuracy."""
    return scores["interval"][0] <= 0.5 or scores["accuracy"] - 0.5 <= MARGIN
