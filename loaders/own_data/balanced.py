"""Select the rows of a kind on which text-only baselines are near chance.

The first selection is that of the other balanced sets (base/text_only/refinement.py). If a baseline that `compeval
make` prints is still better than chance by more than ``MARGIN``, trained on the rows that are kept or on those that are
removed, rows are selected again out of all, and these baselines take part; if that is not enough, once more out of the
rows that are left. Each selection keeps at least a half of its rows, so a quarter may remain. Baselines that took part
are no proof any more; `compeval inspect` measures others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from compeval.base.text_only.baselines import Baseline, RetrievalSets, recall_at_1
from compeval.base.text_only.judges import name_judge, select_audited, select_transferable
from compeval.base.text_only.refinement import REFINEMENT_BASELINES, select_rows_at_chance
from compeval.base.text_only.transfer import score_removed

MIN_ROWS = 100
MAX_ROWS = 20_000
"""Rows from which a balanced set is made: fewer say nothing of a baseline, and more take hours."""
MAX_MEASURED = 2_000
"""Rows of a config on which text-only baselines are measured, the first ones."""
MARGIN = 0.03
"""The largest accuracy above chance that the best baseline may have on a balanced set."""


class MeasuredBaseline(NamedTuple):
    """The text-only baseline that selects the true caption of a config most often."""

    name: str
    share: float
    chance: float
    rows: int


def find_best_baseline(sets: RetrievalSets) -> MeasuredBaseline:
    """Return the text-only baseline that selects the true caption of the first rows most often."""
    part = sets.take(np.arange(min(len(sets), MAX_MEASURED)))
    judges = select_audited(with_slow=False)
    shares = {name: float(recall_at_1(score(part)).mean()) for name, score in judges.items()}
    best = max(shares, key=lambda name: shares[name])
    return MeasuredBaseline(name_judge(best), shares[best], sets.chance, len(sets))


def select_balanced(sets: RetrievalSets) -> tuple[np.ndarray | None, str]:
    """Return a mask of the rows (N) of the balanced variant, or None and the reason why there is none."""
    if len(sets) < MIN_ROWS:
        return None, f"it has {len(sets):,} rows; {MIN_ROWS} are needed"
    all_rows = np.arange(len(sets))
    rows = all_rows
    limit = sets.chance + MARGIN
    best = find_best_baseline(sets)
    number = 0
    more_baselines = _list_baselines()
    for begins_again, baselines in (
        (True, REFINEMENT_BASELINES),
        (True, more_baselines),
        (False, more_baselines),
    ):
        if best.share <= limit or len(rows) < MIN_ROWS:
            break
        if begins_again:
            rows = all_rows
        part = sets.take(rows)
        keep_N = select_rows_at_chance(part, 0, baselines)
        rows = rows[keep_N]
        best_of_kept = find_best_baseline(sets.take(rows))
        best = max(best_of_kept, _find_best_removed(part, keep_N), key=_share)
        number += 1
    if best.share > limit or len(rows) < MIN_ROWS:
        return None, (
            f"{best.name} selects {best.share:.1%} of the {len(rows):,} rows that {number} selections left of "
            f"{len(sets):,}; at most {limit:.1%} of at least {MIN_ROWS} are allowed"
        )
    keep_N = np.zeros(len(sets), dtype=bool)
    keep_N[rows] = True
    return keep_N, ""


def _share(best: MeasuredBaseline) -> float:
    return best.share


def _find_best_removed(sets: RetrievalSets, keep_N: np.ndarray) -> MeasuredBaseline:
    """Return the baseline that selects the truth of the rows that are kept most often, trained on the removed ones."""
    divided = replace(sets, trainable_N=keep_N)
    shares = {
        name: float(recall_at_1(score(divided))[keep_N].mean())
        for name, score in _list_removed().items()
    }
    best = max(shares, key=lambda name: shares[name])
    return MeasuredBaseline(best, shares[best], sets.chance, int(keep_N.sum()))


def _list_removed() -> Mapping[str, Baseline]:
    """Return the baselines that are trained on the rows that are not kept."""
    audited = select_audited(with_slow=False)
    transferable = select_transferable()
    return {
        f"{name_judge(name)}, trained on removed rows,": partial(score_removed, baseline=score)
        for name, score in audited.items()
        if name in transferable
    }


def _list_baselines() -> Mapping[str, Baseline]:
    """Return the baselines of a selection: those of refinement, and all that are measured."""
    return {**REFINEMENT_BASELINES, **select_audited(with_slow=False), **_list_removed()}
