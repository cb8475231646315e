"""Select the rows of a kind on which text-only baselines are near chance.

The first selection is that of the other balanced sets (base/text_only/refinement.py), which keeps at least a half of
the rows. If a baseline is still better than chance by more than ``MARGIN``, rows are selected again from those that are
left, and the baselines that `compeval make` prints take part, trained on the rows that are kept and on those that were
removed. What is measured afterwards on the same baselines is therefore no proof; `compeval inspect` measures others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from compeval.base.text_only.baselines import Baseline, RetrievalSets, recall_at_1
from compeval.base.text_only.judges import name_judge, select_audited, select_transferable
from compeval.base.text_only.refinement import REFINEMENT_BASELINES, select_rows_at_chance
from compeval.base.text_only.transfer import score_removed

MIN_ROWS, MAX_ROWS = 100, 20_000
"""Rows from which a balanced set is made: fewer say nothing of a baseline, and more take hours."""
MAX_MEASURED = 2_000
"""Rows of a config on which text-only baselines are measured, the first ones."""
MARGIN = 0.03
"""How much better than chance the best baseline may be on a balanced set."""
MAX_SELECTIONS = 4


class BestBaseline(NamedTuple):
    """The text-only baseline that selects the true caption of a config most often."""

    name: str
    share: float
    chance: float
    rows: int


def find_best_baseline(sets: RetrievalSets) -> BestBaseline:
    """Return the text-only baseline that selects the true caption of the first rows most often."""
    part = sets.take(np.arange(min(len(sets), MAX_MEASURED)))
    judges = select_audited(with_slow=False)
    shares = {name: float(recall_at_1(score(part)).mean()) for name, score in judges.items()}
    best = max(shares, key=lambda name: shares[name])
    return BestBaseline(name_judge(best), shares[best], sets.chance, len(sets))


def select_balanced(sets: RetrievalSets) -> tuple[np.ndarray | None, str]:
    """Return a mask of the rows (N) of the balanced variant, or None and the reason why there is none."""
    if len(sets) < MIN_ROWS:
        return None, f"it has {len(sets):,} rows; {MIN_ROWS} are needed"
    kept = np.arange(len(sets))
    best = find_best_baseline(sets)
    for number in range(MAX_SELECTIONS):
        if best.share <= sets.chance + MARGIN:
            keep_N = np.zeros(len(sets), dtype=bool)
            keep_N[kept] = True
            return keep_N, ""
        if len(kept) < MIN_ROWS:
            break
        part = sets.take(kept)
        kept = kept[select_rows_at_chance(part, 0, _list_baselines(is_first=not number))]
        best = find_best_baseline(sets.take(kept))
    return None, (
        f"{best.name} still selects {best.share:.1%} of the {len(kept):,} rows that were left after {number + 1} "
        f"selections of {len(sets):,}; at most {sets.chance + MARGIN:.1%} are allowed"
    )


def _list_baselines(*, is_first: bool) -> Mapping[str, Baseline]:
    """Return the baselines of a selection: those of refinement, and later all that are measured as well."""
    if is_first:
        return REFINEMENT_BASELINES
    audited, transferable = select_audited(with_slow=False), select_transferable()
    removed = {
        f"{name}, trained on removed rows": partial(score_removed, baseline=score)
        for name, score in audited.items()
        if name in transferable
    }
    return {**REFINEMENT_BASELINES, **audited, **removed}
