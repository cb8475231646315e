"""A published score, our score of the same model and task, and whether they agree.

A score that is marked in ``published_columns.csv`` (``apart``) neither agrees nor disagrees, and is ranked with no
other. If several sources have a score for the same number and they differ, ``published_differences.csv`` has the cause.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from compeval.evaluators.results.scores import PublishedScore, read_csv

TOLERANCE = 1.0
"""Tolerated difference in percentage points. Libraries decode and resize images differently, and precisions vary."""
SHUFFLE_TOLERANCE = 2.0
"""Tolerance for ARO's order tasks, whose published shuffles are not available."""
ROWS_TOLERANCE = 0.001
"""Share of the rows that may be missing or added before a result counts as one on other rows: 0.1 point at most."""
VERDICTS = {
    "yes": "",
    "no": "",
    "not comparable": "not comparable",
    "other rows": "on other rows",
    "other source": "of another source, which differs from the one that agrees or is nearer",
    "other activation": "of another activation",
}
"""Verdict of a comparison -> how it is counted."""


def get_tolerance(score: PublishedScore, num_rows: int) -> float:
    """Return the tolerance in percentage points. It is at least the weight of one row."""
    return max(
        SHUFFLE_TOLERANCE if fnmatchcase(score.task, "*_order") else TOLERANCE, 100 / num_rows
    )


class Cause(NamedTuple):
    """A cause of a disagreement: its kind and a sentence that describes it."""

    kind: str
    text: str


class Match(NamedTuple):
    """A published score and our score for the same model and task, in percent."""

    score: PublishedScore
    ours: float
    rows: int
    causes: tuple[Cause, ...] = ()
    """Known causes of a difference that apply to this one."""
    nearest: str = ""
    """Another source with a nearer score, if this one is outside the tolerance."""
    tasks: tuple[str, ...] = ()
    """The tasks that the score is over."""

    @property
    def difference(self) -> float:
        return self.ours - self.score.percent

    @property
    def tolerance(self) -> float:
        return get_tolerance(self.score, self.rows)

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.tolerance

    @property
    def is_on_other_rows(self) -> bool:
        return has_other_rows(self.score, self.rows)

    @property
    def verdict(self) -> str:
        """One of VERDICTS. A published model with another activation than its weights is another model."""
        if any(cause.kind == "activation" for cause in self.causes):
            return "other activation"
        if self.score.apart:
            return "not comparable"
        if self.is_on_other_rows:
            return "other rows"
        return "yes" if self.agrees else "other source" if self.nearest else "no"

    @property
    def is_comparable(self) -> bool:
        """True if the result agrees or disagrees with the score."""
        return self.verdict in ("yes", "no")

    @property
    def metric(self) -> str:
        """The metric, with the category of the rows if it is of a part of them."""
        return (
            f"{self.score.metric} ({self.score.category})"
            if self.score.category
            else self.score.metric
        )

    @property
    def explanation(self) -> str:
        """The known causes of a difference, one per line; "unknown" if it has none."""
        texts = [cause.text for cause in self.causes]
        if self.verdict == "not comparable":
            texts.append(self.score.apart)
        if self.verdict == "other source":
            texts.append(find_difference(self.score) or f"{self.nearest} has a nearer score")
        return "\n".join(texts) or ("" if self.agrees else "unknown")

    def to_json(self) -> dict[str, Any]:
        facts = self.score._asdict() | {"mean": self.score.mean, "published_rows": self.score.rows}
        ours = {
            "ours": self.ours,
            "rows": self.rows,
            "agrees": self.agrees,
            "verdict": self.verdict,
        }
        return facts | ours | {"causes": [cause.text for cause in self.causes]}

    def describe(self) -> dict[str, Any]:
        """Return the fields of a table of matches (evaluators/report/tables.yaml)."""
        texts = {"metric": self.metric, "causes": self.explanation}
        return self.to_json() | texts | {"difference": self.difference, "tolerance": self.tolerance}


def has_other_rows(score: PublishedScore, rows: int) -> bool:
    """Return True if a result on this number of rows is not on the rows of the score."""
    return bool(score.subset) or (
        score.rows is not None and abs(rows - score.rows) > ROWS_TOLERANCE * score.rows
    )


@cache
def _read_differences() -> list[dict[str, str]]:
    return read_csv("differences")


def find_difference(first: PublishedScore, other: PublishedScore | None = None) -> str:
    """Return why two sources differ on a metric of a task, or a source from all others; "" if it is not known."""
    if apart := first.apart or (other.apart if other else ""):
        return apart
    rows = _read_differences()
    causes = (
        row["cause"]
        for row in rows
        if fnmatchcase(first.task, row["task"]) and row["metric"] == first.metric
    )
    return next(causes, "")
