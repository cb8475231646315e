"""Select the pairs of a published file on which text-only baselines are at chance (``compeval balance``).

A pair is a true caption with one of its negatives, so that baselines that compare the captions of a set with each other
have nothing to compare. Of a row with several negatives, one is drawn before any score is computed, because the pairs
of a row reveal the truth of each other. Adversarial refinement (base/text_only/refinement.py, after SugarCrepe)
selects the pairs with its own baselines; other baselines, which it never uses, judge them before and after, each
retrained on the pairs that it judges.

A baseline without training that orders a share a of the pairs correctly orders at least 1 - (1 - a) / k of any subset
with a share k of the pairs. If this is too far above chance for half of the pairs, there is no subset.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from compeval.base.text_only.baselines import HELD_OUT_BASELINES, RetrievalSets, split_pairs
from compeval.base.text_only.refinement import MIN_KEPT, REFINEMENT_BASELINES, select_rows_at_chance
from compeval.base.text_only.unseen_baselines import UNSEEN_BASELINES
from compeval.evaluators.validity.best_baselines import BASELINES, BestBaseline, choose_best
from compeval.loaders.audit import CUES
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.importing import ReadFile, read_published
from compeval.loaders.published.balanced import is_balanced, pack

SEED = 0
MAX_PAIRS = 800
"""Largest number of pairs that are tried; of more, random ones are drawn."""
MIN_PAIRS = 100
"""Fewest pairs of a subset."""
UNTRAINED_BASELINES = {
    **{name: BASELINES[name] for name in CUES},
    **{name: REFINEMENT_BASELINES[name] for name in ("longest", "shortest")},
}
MARGIN = 0.05
"""Largest distance from chance, as a share of pairs, at which a subset is balanced although an interval is above it."""


def balance_file(path: Path) -> dict[str, Any]:
    """Return the entry of a published file for loaders/published/balanced.yaml; without ``kept`` if there is no subset.

    Raises ValueError if the file has several sets, or rows without or with different numbers of negatives.
    """
    read = read_published(identify(path))
    sets = read_sets(read)
    tried = draw_pairs(sets)
    pairs = split_pairs(sets).take(tried)
    entry = {
        "file": f"{read.file.benchmark.name}: {read.counts.file}",
        "sha256": read.file.sha256,
        "baselines": sorted(REFINEMENT_BASELINES),
        "seed": SEED,
        "rows": len(sets),
        "pairs": len(sets) * (sets.size - 1),
        "pairs_tried": len(tried),
    }
    untrained = choose_best(pairs, UNTRAINED_BASELINES)
    least = 1 - (1 - untrained.recall) / MIN_KEPT
    if least > 0.5 + MARGIN:
        return entry | {"excluded_by": describe(untrained) | {"least": round(least, 4)}}
    kept = tried[select_rows_at_chance(pairs, SEED)]
    after = measure_pairs(split_pairs(sets).take(kept))
    entry |= {"pairs_kept": len(kept), "before": measure_pairs(pairs), "after": after}
    balanced = len(kept) >= MIN_PAIRS and all(map(is_at_chance, after.values()))
    return entry | ({"kept": pack(np.isin(np.arange(entry["pairs"]), kept))} if balanced else {})


def draw_pairs(sets: RetrievalSets) -> np.ndarray:
    """Return the indices in ``split_pairs(sets)`` of one random pair of each row, of at most ``MAX_PAIRS`` rows."""
    rng = np.random.default_rng(SEED)
    pair_N = np.arange(len(sets)) * (sets.size - 1) + rng.integers(sets.size - 1, size=len(sets))
    return np.sort(rng.permutation(pair_N)[:MAX_PAIRS])


def read_sets(read: ReadFile) -> RetrievalSets:
    """Return the sets of a file.

    Raises ValueError if it has several sets, no negatives, or rows with different numbers of them.
    """
    splits = [(key, rows) for key, rows in read.splits.items() if not is_balanced(key[1])]
    if len(splits) != 1:
        raise ValueError(
            f"{read.file.path}: has {len(splits)} sets; a balanced subset is of a file with one."
        )
    ((_, rows),) = splits
    sizes = {len(row.hard_negatives) for row in rows}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"{read.file.path}: rows have {sorted(sizes)} negatives; expected one positive number."
        )
    return RetrievalSets(
        [row.list_candidates() for row in rows], [row.image_id or row.images[0] for row in rows]
    )


def measure_pairs(pairs: RetrievalSets) -> dict[str, dict[str, Any]]:
    """Return the best baseline of those that refinement uses (``seen``) and of those that it never uses."""
    groups = {"seen": REFINEMENT_BASELINES, "unseen": {**HELD_OUT_BASELINES, **UNSEEN_BASELINES}}
    return {group: describe(choose_best(pairs, baselines)) for group, baselines in groups.items()}


def describe(best: BestBaseline) -> dict[str, Any]:
    interval = [round(bound, 4) for bound in best.interval]
    return {"baseline": best.name, "accuracy": round(best.recall, 4), "interval": interval}


def is_at_chance(scores: Mapping[str, Any]) -> bool:
    """Return True if chance, 1/2, is in the interval of the best baseline, or within ``MARGIN`` of its accuracy."""
    return scores["interval"][0] <= 0.5 or scores["accuracy"] - 0.5 <= MARGIN
