"""What a recovery probe gives back, and what its model makes of images: the analyses of Kamath et al. 2023.

Source: sections 3.1, 3.2 (exact match by prompt type), 4.1 (Table 4), 4.4 and 4.5 (necessary, not sufficient),
appendix A (Tables 5 to 9). Differs from it in: a caption of ControlledImCaps counts as recovered where it matches
exactly; the authors looked at each and let small faults pass (footnote 5).
Shapes: N prompts of one model, P pairs of ControlledImCaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from evaluators.protocols import recovery
from loaders.cards.compprompts import PROMPT_TYPES, is_table_3
from loaders.cards.controlledimcaps import PROBED_BY

ABOUT_SIDES = r"\b(?:left|right)\b"


def cell_of(config: str) -> str:
    """The cell of Tables 2 and 3 that a config is of: two cells show two examples and are two configs."""
    return config.removesuffix("_first").removesuffix("_second")


@dataclass(frozen=True)
class Recovered:
    """What one probe made of CompPrompts."""

    name: str
    rows: pd.DataFrame
    """N rows with ``cell`` (the config), ``prompt``, ``recovered``, ``hit`` and ``bleu4``."""

    @property
    def of_tables_1_and_2(self) -> pd.DataFrame:
        """Without multiples, negations and a user's own cells."""
        return self.rows[[cell in PROMPT_TYPES and not is_table_3(cell) for cell in self.rows["cell"]]]

    def by_cell(self, metric: str = "hit") -> pd.Series:
        """The mean of each cell of Tables 2 and 3."""
        return self.rows.groupby(self.rows["cell"].map(cell_of))[metric].mean()

    def cell_mean(self, metric: str = "hit") -> float:
        """The mean over the cells of Table 2 (Tables 1 and 5)."""
        rows = self.of_tables_1_and_2
        return float(rows.groupby(rows["cell"].map(cell_of))[metric].mean().mean())

    def prompt_mean(self, metric: str = "hit") -> float:
        """The mean over the prompts of Table 2's cells."""
        return float(self.of_tables_1_and_2[metric].mean())

    def shuffled(self) -> float:
        """Table 6: where the words are right, how often their order is not, as a share.

        Over Table 2's prompts with two nouns and an attribute, which must go with the right one. NaN where the words
        are never right.
        """
        rows = self.of_tables_1_and_2
        rows = rows[rows["cell"].str.startswith("obj2_")]
        return recovery.shuffled(list(rows["recovered"]), list(rows["prompt"]))

    def of_type(self, kind: str) -> float:
        """Exact match on the prompts comparable to a type of ControlledImCaps (Figure 3): the mean over their cells.

        Of spatial prompts only those about left and right, as Table 4 has it. NaN where no such prompt was run.
        """
        rows = self.rows[self.rows["cell"].isin(PROBED_BY[kind])]
        if kind.startswith("spatial"):
            rows = rows[rows["prompt"].str.contains(ABOUT_SIDES)]
        return float(rows.groupby("cell")["hit"].mean().mean()) if len(rows) else float("nan")


class Condition(NamedTuple):
    """Of the pairs whose captions were both recovered, or not: how often a score is zero (sections 4.4, 4.5)."""

    pairs: int
    image_zero: float
    """Share; NaN where there is no pair."""
    text_zero: float


def conditions(recovered_P: np.ndarray, image_P: np.ndarray, text_P: np.ndarray) -> dict[bool, Condition]:
    """By whether both captions of a pair were recovered; all bool, P."""
    found = {}
    for both in (False, True):
        chosen_P = recovered_P == both
        zero = [float((~hit_P[chosen_P]).mean()) if chosen_P.any() else float("nan") for hit_P in (image_P, text_P)]
        found[both] = Condition(int(chosen_P.sum()), *zero)
    return found


class Correlation(NamedTuple):
    """Over types and models: exact match on CompPrompts against a score on ControlledImCaps."""

    points: int
    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float


def correlation(matches: Mapping[str, float], scores: Mapping[str, float]) -> Correlation | None:
    """Of the keys that both have and know; None for fewer than three, or where one side is constant."""
    from scipy.stats import pearsonr, spearmanr

    keys = sorted(key for key in matches.keys() & scores.keys() if np.isfinite([matches[key], scores[key]]).all())
    pairs = np.array([[matches[key], scores[key]] for key in keys]).reshape(-1, 2)
    if len(pairs) < 3 or (pairs == pairs[0]).all(axis=0).any():
        return None
    known, scored = pairs.T
    linear, ranked = pearsonr(known, scored), spearmanr(known, scored)
    return Correlation(
        len(pairs),
        float(linear.statistic),  # pyright: ignore[reportAttributeAccessIssue]
        float(linear.pvalue),  # pyright: ignore[reportAttributeAccessIssue]
        float(ranked.statistic),  # pyright: ignore[reportAttributeAccessIssue]
        float(ranked.pvalue),  # pyright: ignore[reportAttributeAccessIssue]
    )
