"""Scores that were made elsewhere: ``compeval score FILE.parquet`` turns them into a result like any other.

The file has a column ``row`` (position in the split) and a column ``scores``, one line for each row of the task: a list
of numbers, those of the first image with each text of the row (the caption, then the hard negatives), then of the next.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluators.engine import plan
from evaluators.engine.encode import Scored
from evaluators.engine.plan import TaskPlan
from evaluators.engine.rows import load
from evaluators.engine.tasks import discover, select
from evaluators.models import Model, fingerprint
from evaluators.protocols.base import RowProtocol
from evaluators.results import documents as results
from evaluators.results.documents import Result
from generators.storage import parquet


def score_file(
    path: Path, task: str, name: str, *, data_dir: Path | None = None, output: Path = Path("results")
) -> Result:
    """Write and give the result of a task from the scores in a file. ValueError if they do not fit the task's rows."""
    known = discover(data_dir)
    chosen = [one for one in known if one.name == task] or select(known, [task])  # the task itself, not its variants
    if len(chosen) != 1:
        raise ValueError(f"{task!r} names {len(chosen)} tasks, a file of scores is of one.")
    (rows,) = load(chosen, data_dir)
    planned = plan.make([rows]).tasks[0]
    score_NIT = _read_scores(path, planned)
    protocol = rows.protocol
    assert isinstance(protocol, RowProtocol)
    model = Model(f"external:{name}", name, None, fingerprint.digest(score_NIT.tobytes()).hex(), "unknown")
    scored = Scored(planned, np.arange(len(rows)), score_NIT, protocol.answers(score_NIT), [])
    examples = results.examples(scored)
    result = results.compose(scored, examples, model)
    results.write(results.path_of(output, rows.source, model.spec, chosen[0].name), result, examples)
    return result


def _read_scores(path: Path, planned: TaskPlan) -> np.ndarray:
    """float32 (N, I, T), in the order of the task's rows; NaN where a row has no such text."""
    rows = planned.rows
    if not path.is_file():
        raise FileNotFoundError(f"{path}: not found.")
    if not isinstance(rows.protocol, RowProtocol):
        raise ValueError(f"{rows.task.name}: only tasks whose rows are scored one by one can be scored from a file.")
    table = parquet.read_table(path)
    for column in ("row", "scores"):
        if column not in table.column_names:
            raise ValueError(f"{path}: no column {column!r}; it has {', '.join(table.column_names)}.")
    found = table["row"].to_pylist()
    given, wanted = Counter(found), Counter(range(len(rows)))
    for row in (given - wanted) + (wanted - given):
        raise ValueError(
            f"{path}: row {row} is there {given[row]} times; {rows.task.name} has rows 0 to {len(rows) - 1}, each is "
            "expected once."
        )
    try:
        scores = dict(zip(found, table["scores"].cast(pa.list_(pa.float32())).to_pylist(), strict=True))
    except pa.ArrowException as error:
        raise ValueError(f"{path}: the column 'scores' is not lists of numbers ({error}).") from None
    score_NIT = np.full((len(rows), planned.crop_NI.shape[1], planned.text_NT.shape[1]), np.nan, dtype=np.float32)
    for row, there_T in enumerate(planned.text_NT >= 0):
        expected = score_NIT.shape[1] * int(there_T.sum())
        if len(scores[row] or ()) != expected:
            raise ValueError(f"{path}, row {row}: {len(scores[row] or ())} scores, {expected} expected.")
        score_NIT[row, :, there_T] = np.reshape(scores[row], (score_NIT.shape[1], -1)).T
    return score_NIT
