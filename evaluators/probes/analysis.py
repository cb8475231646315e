"""Analyses of recovery probes (Kamath et al. 2023, arXiv:2305.14897).

Source: sections 3.1 and 3.2 (exact match by prompt type), 4.1 (Table 4), 4.4 and 4.5 (recovery is necessary for
matching images, not sufficient), appendix A (Tables 5 to 9). Differs from it in: a caption of ControlledImCaps counts
as recovered if it matches exactly; the authors judged each by eye and accepted small faults (footnote 5).
Shapes: N prompts of one model, P pairs of ControlledImCaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evaluators.protocols import recovery
from loaders.papers.figures import figures
from loaders.papers.prompt_types import PROMPT_TYPES, is_table_3

LEFT_OR_RIGHT = r"\b(?:left|right)\b"


def cell_of(config: str) -> str:
    """The cell of Tables 2 and 3 that a config belongs to; two cells are two configs each."""
    return config.removesuffix("_first").removesuffix("_second")


@dataclass(frozen=True)
class Recovered:
    """The texts that one probe recovered of CompPrompts."""

    name: str
    rows: pd.DataFrame
    """N rows with ``cell`` (the config), ``prompt``, ``recovered``, ``hit`` and ``bleu4``."""

    @property
    def of_tables_1_and_2(self) -> pd.DataFrame:
        """The rows without multiples, negations and custom cells."""
        return self.rows[[cell in PROMPT_TYPES and not is_table_3(cell) for cell in self.rows["cell"]]]

    def by_cell(self, metric: str = "hit") -> pd.Series:
        """Mean per cell of Tables 2 and 3."""
        return self.rows.groupby(self.rows["cell"].map(cell_of))[metric].mean()

    def cell_mean(self, metric: str = "hit") -> float:
        """Unweighted mean over the cells of Table 2 (Tables 1 and 5)."""
        rows = self.of_tables_1_and_2
        return float(rows.groupby(rows["cell"].map(cell_of))[metric].mean().mean())

    def prompt_mean(self, metric: str = "hit") -> float:
        """Mean over the prompts of Table 2's cells."""
        return float(self.of_tables_1_and_2[metric].mean())

    def shuffled(self) -> float:
        """Share of texts with the right words in a wrong order (Table 6); NaN if no text has the right words.

        Over the prompts of Table 2 with two nouns and an attribute, which belongs to one of the nouns.
        """
        rows = self.of_tables_1_and_2
        rows = rows[rows["cell"].str.startswith("obj2_")]
        return recovery.shuffled(list(rows["recovered"]), list(rows["prompt"]))

    def of_type(self, kind: str) -> float:
        """Exact match on the prompts comparable to a type of ControlledImCaps (Figure 3), as mean over their cells.

        Spatial prompts: only those about left and right, as in Table 4. NaN if there is no such prompt.
        """
        rows = self.rows[self.rows["cell"].isin(figures("controlledimcaps")["types"][kind]["probed_by"])]
        if kind.startswith("spatial"):
            rows = rows[rows["prompt"].str.contains(LEFT_OR_RIGHT)]
        return float(rows.groupby("cell")["hit"].mean().mean()) if len(rows) else float("nan")


class Scores(NamedTuple):
    """A vision-language model on one type of ControlledImCaps: shares with their 95 % intervals."""

    image: float
    image_interval: tuple[float, float]
    text: float
    text_interval: tuple[float, float]


def scores_by_type(results: Iterable[Mapping[str, Any]]) -> dict[str, Scores]:
    """Config -> scores, from a model's result documents on ControlledImCaps."""
    return {
        result["config"]: Scores(
            result["metrics"]["image_score"],
            result["intervals"]["image_score"],
            result["metrics"]["text_score"],
            result["intervals"]["text_score"],
        )
        for result in results
    }


class Condition(NamedTuple):
    """How often a score is zero, over the pairs whose captions were both recovered or were not (sections 4.4, 4.5)."""

    pairs: int
    image_zero: float
    """Share; NaN if there is no pair."""
    text_zero: float


def conditions(recovered_P: np.ndarray, image_P: np.ndarray, text_P: np.ndarray) -> dict[bool, Condition]:
    """Conditions by whether both captions of a pair were recovered; all arguments are bool, P."""
    pairs = pd.DataFrame({"image_zero": ~image_P, "text_zero": ~text_P})
    groups = {both: pairs[recovered_P == both] for both in (False, True)}
    return {both: Condition(len(group), *map(float, group.mean())) for both, group in groups.items()}


class Correlation(NamedTuple):
    """Exact match on CompPrompts against a score on ControlledImCaps, over types and models."""

    points: int
    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float


def correlation(matches: Mapping[str, float], scores: Mapping[str, float]) -> Correlation | None:
    """Correlation over the keys with two finite values; None below three keys or if one side is constant."""
    from scipy.stats import pearsonr, spearmanr

    points = pd.DataFrame({"match": dict(matches), "score": dict(scores)}, dtype=float).dropna()
    if len(points) < 3 or (points.nunique() == 1).any():
        return None
    pearson: Any = pearsonr(points["match"], points["score"])
    spearman: Any = spearmanr(points["match"], points["score"])
    return Correlation(
        len(points), *map(float, (pearson.statistic, pearson.pvalue, spearman.statistic, spearman.pvalue))
    )
