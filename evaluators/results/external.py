"""Scores computed elsewhere: ``compeval score FILE.parquet`` makes a result of them.

The file has a column ``row`` (position in the split) and a column ``scores``, one line per row of the task: a list of
numbers, those of the first image with each text of the row (the caption, then the hard negatives), then of the next.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluators.engine import plan
from evaluators.engine.plan import TaskPlan
from evaluators.engine.rows import load
from evaluators.engine.score import Scored
from evaluators.engine.tasks import discover, select
from evaluators.models import Model, fingerprint
from evaluators.protocols.base import RowProtocol
from evaluators.results import documents
from evaluators.results.compose import compose, examples
from evaluators.results.documents import Result
from generators.storage import parquet


def score_file(
    path: Path, task: str, name: str, *, data_dir: Path | None = None, output: Path = Path("results")
) -> Result:
    """Write and return the result of a task from the scores in a file. ValueError if they do not fit its rows."""
    known = discover(data_dir)
    tasks = [one for one in known if one.name == task] or select(known, [task])  # the task itself, not its variants
    if len(tasks) != 1:
        raise ValueError(f"{task!r} names {len(tasks)} tasks, a file of scores is of one.")
    (rows,) = load(tasks, data_dir)
    protocol = rows.protocol
    if not isinstance(protocol, RowProtocol):
        raise ValueError(f"{rows.task.name}: only tasks whose rows are scored one by one can be scored from a file.")
    (planned,) = plan.make([rows]).tasks
    score_NIT = _read_scores(path, planned)
    model = Model(f"external:{name}", name, None, fingerprint.digest(score_NIT.tobytes()).hex(), "unknown")
    scored = Scored(planned, np.arange(len(rows)), score_NIT, protocol.evaluate(score_NIT), [])
    table = examples(scored)
    result = compose(scored, table, model)
    documents.write(documents.path_of(output, rows.source, model.spec, rows.task.name), result, table)
    return result


def _read_scores(path: Path, planned: TaskPlan) -> np.ndarray:
    """float32 (N, I, T), in the order of the task's rows; NaN where a row has fewer texts."""
    name, count = planned.rows.task.name, len(planned.rows)
    table = parquet.read_table(path)
    for column in ("row", "scores"):
        if column not in table.column_names:
            raise ValueError(f"{path}: no column {column!r}; it has {', '.join(table.column_names)}.")
    rows = table["row"].to_pylist()
    times, expected_times = Counter(rows), Counter(range(count))
    for row in (times - expected_times) + (expected_times - times):
        raise ValueError(
            f"{path}: row {row} occurs {times[row]} times; {name} has rows 0 to {count - 1}, each is expected once."
        )
    try:
        scores = dict(zip(rows, table["scores"].cast(pa.list_(pa.float32())).to_pylist(), strict=True))
    except pa.ArrowException as error:
        raise ValueError(f"{path}: the column 'scores' is not lists of numbers ({error}).") from None
    images, texts = planned.crop_NI.shape[1], planned.text_NT.shape[1]
    score_NIT = np.full((count, images, texts), np.nan, dtype=np.float32)
    for row, is_text_T in enumerate(planned.text_NT >= 0):
        expected = images * int(is_text_T.sum())
        if len(scores[row] or ()) != expected:
            raise ValueError(f"{path}, row {row}: {len(scores[row] or ())} scores, {expected} expected.")
        score_NIT[row, :, is_text_T] = np.reshape(scores[row], (images, -1)).T
    return score_NIT
