"""Analyse results of recovery probes (Kamath et al. 2023, arXiv:2305.14897).

Source: sections 3.1 and 3.2 (exact match by prompt type), 4.1 (Table 4), 4.4 and 4.5 (recovery is necessary for
matching images, but not sufficient), appendix A (Tables 5 to 9). Difference from the paper: a caption of
ControlledImCaps counts as recovered only if it matches exactly; the authors checked captions manually and accepted
small errors (footnote 5).

Shapes: N prompts of one model, P pairs of ControlledImCaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from compeval.evaluators.protocols import recovery
from compeval.loaders.papers.figures import figures
from compeval.loaders.papers.prompt_types import PROMPT_TYPES, is_in_table_3

PAIR_DATASETS = {
    "controlledimcaps": "ControlledImCaps",
    "controlledimcaps_photographs": "ControlledImCaps, photographs",
}
"""Dataset of image pairs -> its title. Their results are never in the same table."""
LEFT_OR_RIGHT = r"\b(?:left|right)\b"


def get_cell(config: str) -> str:
    """Return the cell of Tables 2 and 3 to which a config belongs. Two cells consist of two configs each."""
    return config.removesuffix("_first").removesuffix("_second")


@dataclass(frozen=True)
class Recovered:
    """The texts that a probe recovered from the prompts of CompPrompts."""

    name: str
    rows: pd.DataFrame
    """N rows with the columns ``cell`` (the config), ``prompt``, ``recovered``, ``hit`` and ``bleu4``."""

    @property
    def table_2_rows(self) -> pd.DataFrame:
        """The rows of the cells of Table 2: without multiples, negations and custom cells."""
        return self.rows[
            [cell in PROMPT_TYPES and not is_in_table_3(cell) for cell in self.rows["cell"]]
        ]

    def mean_by_cell(self, metric: str = "hit") -> pd.Series:
        """Return the mean of a metric per cell of Tables 2 and 3."""
        return self.rows.groupby(self.rows["cell"].map(get_cell))[metric].mean()

    def cell_mean(self, metric: str = "hit") -> float:
        """Return the unweighted mean over the cells of Table 2 (printed in Tables 1 and 5)."""
        rows = self.table_2_rows
        return float(rows.groupby(rows["cell"].map(get_cell))[metric].mean().mean())

    def prompt_mean(self, metric: str = "hit") -> float:
        """Return the mean over the prompts of Table 2."""
        return float(self.table_2_rows[metric].mean())

    def shuffled_share(self) -> float:
        """Return the share of texts in wrong word order among the texts with the right words (Table 6).

        Uses the prompts of Table 2 with two objects and an attribute. Returns NaN if no text has the right words.
        """
        rows = self.table_2_rows
        rows = rows[rows["cell"].str.startswith("obj2_")]
        return recovery.compute_shuffled_share(list(rows["recovered"]), list(rows["prompt"]))

    def exact_match_for(self, kind: str) -> float:
        """Return the exact match on prompts comparable to a type of ControlledImCaps (Figure 3), as mean over cells.

        Of the spatial prompts, only "left" and "right" count, as in Table 4. Returns NaN if there is no such prompt.
        """
        rows = self.rows[
            self.rows["cell"].isin(figures("controlledimcaps")["types"][kind]["probed_by"])
        ]
        if kind.startswith("spatial"):
            rows = rows[rows["prompt"].str.contains(LEFT_OR_RIGHT)]
        return float(rows.groupby("cell")["hit"].mean().mean()) if len(rows) else float("nan")


Scores = dict[str, Any]
"""Scores of a vision-language model on one type of ControlledImCaps: ``image`` and ``text``, and their 95 % intervals
``image_interval`` and ``text_interval``."""


def collect_scores(results: Iterable[Mapping[str, Any]]) -> dict[str, Scores]:
    """Return config -> scores, given a model's result documents on ControlledImCaps."""
    parts = [
        (kind, *part)
        for kind in ("image", "text")
        for part in (("", "metrics"), ("_interval", "intervals"))
    ]
    return {
        result["config"]: {
            f"{kind}{suffix}": result[part][f"{kind}_score"] for kind, suffix, part in parts
        }
        for result in results
    }


class Condition(NamedTuple):
    """Share of a group of pairs whose image and text scores are zero (sections 4.4 and 4.5)."""

    pairs: int
    image_zero: float
    """Share of pairs; NaN if there is no pair."""
    text_zero: float


def compute_conditions(
    recovered_P: np.ndarray, image_P: np.ndarray, text_P: np.ndarray
) -> dict[bool, Condition]:
    """Return the condition of the pairs whose captions were both recovered (True) and of all other pairs (False).

    All arguments are bool arrays (P).
    """
    pairs = pd.DataFrame({"image_zero": ~image_P, "text_zero": ~text_P})
    groups = {both: pairs[recovered_P == both] for both in (False, True)}
    return {
        both: Condition(len(group), *map(float, group.mean())) for both, group in groups.items()
    }


class Correlation(NamedTuple):
    """Correlation of exact match on CompPrompts with a score on ControlledImCaps, over types and models."""

    points: int
    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float


def compute_correlation(
    matches: Mapping[str, float], scores: Mapping[str, float]
) -> Correlation | None:
    """Correlate two values per key. Returns None if there are less than three complete pairs or a value is constant."""
    from scipy.stats import pearsonr, spearmanr

    points = pd.DataFrame({"match": dict(matches), "score": dict(scores)}, dtype=float).dropna()
    if len(points) < 3 or (points.nunique() == 1).any():
        return None
    pearson: Any = pearsonr(points["match"], points["score"])
    spearman: Any = spearmanr(points["match"], points["score"])
    return Correlation(
        len(points),
        *map(float, (pearson.statistic, pearson.pvalue, spearman.statistic, spearman.pvalue)),
    )
