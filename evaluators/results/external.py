"""Make a result from scores that another program computed (``compeval score FILE.parquet``).

The file has one line per row of the task and two columns. ``row`` is the index of the row in the split. ``scores`` is a
list of numbers: the scores of the first image with each text of the row (the caption, then the hard negatives), then of
the next image.
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
from evaluators.results.compose import compose, make_examples
from evaluators.results.documents import Result
from generators.storage import parquet


def score_file(
    path: Path, task: str, name: str, *, data_dir: Path | None = None, output: Path = Path("results")
) -> Result:
    """Make, write and return the result of a task. Raises ValueError if the scores do not fit the rows of the task."""
    tasks = select(discover(data_dir), task)
    if len(tasks) != 1:
        raise ValueError(f"{task!r} matches {len(tasks)} tasks; a file contains the scores of one task.")
    (rows,) = load(tasks, data_dir)
    protocol = rows.protocol
    if not isinstance(protocol, RowProtocol):
        raise ValueError(f"{rows.task.name}: only tasks whose rows are scored independently can be scored from a file.")
    (planned,) = plan.make([rows]).tasks
    score_NIT = _read_scores(path, planned)
    model = Model(f"external:{name}", name, None, fingerprint.digest(score_NIT.tobytes()).hex(), "unknown")
    scored = Scored(planned, np.arange(len(rows)), score_NIT, protocol.evaluate(score_NIT), [])
    table = make_examples(scored)
    result = compose(scored, table, model)
    documents.check_owner(documents.get_model_folder(output, rows.source, name), model)
    documents.write(documents.get_result_path(output, rows.source, name, rows.task.name), result, table)
    return result


def _read_scores(path: Path, planned: TaskPlan) -> np.ndarray:
    """Read scores (N, I, T) float32 in the order of the task's rows, padded with NaN for rows with fewer texts."""
    name, count = planned.rows.task.name, len(planned.rows)
    table = parquet.read_table(path)
    for column in ("row", "scores"):
        if column not in table.column_names:
            raise ValueError(f"{path}: no column {column!r}; it has {', '.join(table.column_names)}.")
    rows = table["row"].to_pylist()
    counts, expected_counts = Counter(rows), Counter(range(count))
    for row in (counts - expected_counts) + (expected_counts - counts):
        raise ValueError(
            f"{path}: row {row} occurs {counts[row]} times; {name} has rows 0 to {count - 1}, and each must occur once."
        )
    try:
        scores = dict(zip(rows, table["scores"].cast(pa.list_(pa.float32())).to_pylist(), strict=True))
    except pa.ArrowException as error:
        raise ValueError(f"{path}: the column 'scores' does not contain lists of numbers ({error}).") from None
    num_images, num_texts = planned.crop_NI.shape[1], planned.text_NT.shape[1]
    score_NIT = np.full((count, num_images, num_texts), np.nan, dtype=np.float32)
    for row, is_text_T in enumerate(planned.text_NT >= 0):
        expected = num_images * int(is_text_T.sum())
        if len(scores[row] or ()) != expected:
            raise ValueError(f"{path}, row {row}: {len(scores[row] or ())} scores; expected {expected}.")
        score_NIT[row, :, is_text_T] = np.reshape(scores[row], (num_images, -1)).T
    return score_NIT
