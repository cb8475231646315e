"""Scores that were made elsewhere: ``compeval score FILE.parquet`` turns them into a result like any other.

The file has a column ``row`` (position in the split) and a column ``scores`` (list of numbers: the caption's first,
then those of the hard negatives in their order), one line for each row of the task.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from evaluators import fingerprint, plan, protocols, results
from evaluators.engine import Scored
from evaluators.models import Model
from evaluators.results import Result
from evaluators.rows import Rows, load
from evaluators.tasks import discover, select


def score_file(
    path: Path, task: str, name: str, *, data_dir: Path | None = None, output: Path = Path("results")
) -> Result:
    """Write and give the result of a task from the scores in a file. ValueError if they do not fit the task's rows."""
    chosen = select(discover(data_dir), [task])
    if len(chosen) != 1:
        raise ValueError(f"{task!r} names {len(chosen)} tasks, a file of scores is of one.")
    (rows,) = load(chosen, data_dir)
    score_NK = _read_scores(path, rows)
    model = Model(f"external:{name}", name, None, fingerprint.digest(score_NK.tobytes()).hex(), "unknown")
    planned = plan.make([rows]).tasks[0]
    scored = Scored(planned, np.arange(len(rows)), score_NK, {"": protocols.choice(score_NK)}, [])
    examples = results.examples(scored)
    result = results.compose(scored, examples, model)
    results.write(results.path_of(output, rows.source, model.spec, chosen[0].name), result, examples)
    return result


def _read_scores(path: Path, rows: Rows) -> np.ndarray:
    """float32 (N, K), in the order of the task's rows."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: not found.")
    if rows.protocol != "choice":
        raise ValueError(f"{rows.task.name}: only tasks with hard negatives can be scored from a file.")
    table = pq.read_table(path)
    for column in ("row", "scores"):
        if column not in table.column_names:
            raise ValueError(f"{path}: no column {column!r}; it has {', '.join(table.column_names)}.")
    scores = dict(zip(table["row"].to_pylist(), table["scores"].to_pylist(), strict=True))
    for row in range(len(rows)):
        if row not in scores:
            raise ValueError(f"{path}: no scores for row {row}; {rows.task.name} has rows 0 to {len(rows) - 1}.")
        if len(scores[row]) != rows.set_size:
            raise ValueError(f"{path}, row {row}: {len(scores[row])} scores, {rows.set_size} expected.")
    return np.array([scores[row] for row in range(len(rows))], dtype=np.float32)
