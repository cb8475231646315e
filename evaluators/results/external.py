"""Make a result from scores that another program computed (``compeval score``).

The file is in Parquet, CSV, TSV or JSON Lines. It has one line per row of the task and two columns. ``row`` is the
index of the row in the split. ``scores`` is a list of numbers (in CSV and TSV ``[0.31, 0.27]`` or ``0.31 0.27``): the
scores of the first image with each text of the row (the caption, then the hard negatives), then of the next image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compeval.base.files import csv_tables, json_lines
from compeval.evaluators.engine import plan
from compeval.evaluators.engine.plan import TaskPlan
from compeval.evaluators.engine.score import Scored, evaluate_scores
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import discover, select
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.protocols.base import RowProtocol
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import compose, describe, make_examples
from compeval.evaluators.results.documents import Result


def score_file(
    path: Path,
    task: str,
    name: str,
    *,
    data_dir: Path | None = None,
    output: Path = Path("results"),
) -> Result:
    """Make, write and return the result of a task. Raises ValueError if the scores do not fit the rows of the task."""
    tasks = select(discover(data_dir), task)
    if len(tasks) != 1:
        raise ValueError(
            f"{task!r} matches {len(tasks)} tasks; a file contains the scores of one task."
        )
    dataset = load(tasks[0], data_dir)
    if not isinstance(dataset.protocol, RowProtocol):
        raise ValueError(
            f"{dataset.task.name}: only tasks whose rows are scored independently can be scored from a file."
        )
    (planned,) = plan.build_plan([dataset]).tasks
    score_NIT = _read_scores(path, planned)
    model = Model(
        f"external:{name}", name, None, fingerprint.digest(score_NIT.tobytes()).hex(), "unknown"
    )
    scored = Scored(
        planned,
        np.arange(len(dataset)),
        score_NIT,
        evaluate_scores(dataset, score_NIT, planned.label_N),
        [],
    )
    table = make_examples(scored)
    result = compose(describe(dataset, model), scored, table, model)
    folder = documents.get_model_folder(output, dataset.source, name)
    documents.check_owner(folder, model)
    documents.write(documents.get_result_path(folder, dataset.task.name), result, table)
    return result


def _read_scores(path: Path, planned: TaskPlan) -> np.ndarray:
    """Read scores (N, I, T) float64 in the order of the task's rows, padded with NaN for rows with fewer texts."""
    name = planned.dataset.task.name
    count = len(planned.dataset)
    pairs = read_pairs(path)
    counts = Counter(row for row, _ in pairs)
    expected_counts = Counter(range(count))
    for row in (counts - expected_counts) + (expected_counts - counts):
        raise ValueError(
            f"{path}: row {row} occurs {counts[row]} times; {name} has rows 0 to {count - 1}, and each must occur once."
        )
    scores = dict(pairs)
    num_images = planned.crop_NI.shape[1]
    num_texts = planned.text_NT.shape[1]
    score_NIT = np.full((count, num_images, num_texts), np.nan)
    for row, is_text_T in enumerate(planned.text_NT >= 0):
        expected = num_images * int(is_text_T.sum())
        if len(scores[row]) != expected:
            raise ValueError(f"{path}, row {row}: {len(scores[row])} scores; expected {expected}.")
        score_NIT[row, :, is_text_T] = np.reshape(scores[row], (num_images, -1)).T
    return score_NIT


def read_pairs(path: Path) -> list[tuple[int, np.ndarray]]:
    """Return the row numbers and scores of a file. Raises ValueError, with the line, if a value is not valid."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    if path.suffix not in READERS:
        raise ValueError(f"{path}: unknown file type; supported: {', '.join(READERS)}.")
    pairs: list[tuple[int, np.ndarray]] = []
    for number, record in READERS[path.suffix](path):
        for column in ("row", "scores"):
            if column not in record:
                raise ValueError(
                    f"{path}: no column {column!r}; it has {', '.join(map(str, record)) or 'none'}."
                )
        try:
            pairs.append((_parse_row(record["row"]), _parse_scores(record["scores"])))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: {error}.") from None
    return pairs


def _parse_row(value: Any) -> int:
    """Return a row number. A column with a missing value may have been written as floats ("2.0")."""
    text = str(value).strip().removesuffix(".0")
    if isinstance(value, bool) or not text.isdecimal():
        raise ValueError(f"row {value!r} is not a whole number")
    return int(text)


def _parse_scores(value: Any) -> np.ndarray:
    """Return scores (K,) of a list or a text. Raises ValueError if it is not a list of finite numbers."""
    if isinstance(value, str):
        value = value.strip().strip("[]()").replace(",", " ").replace(";", " ").split()
    if not isinstance(value, list) or any(isinstance(score, bool | None) for score in value):
        raise ValueError(f"scores {str(value)[:80]!r} are not a list of numbers")
    try:
        scores = np.array(value, dtype=np.float64)
    # A text or a nested list; an integer beyond the range of a float.
    except (
        ValueError,
        OverflowError,
    ):
        scores = None
    if scores is None or scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(f"scores {str(value)[:80]!r} are not a list of finite numbers")
    return scores


def _read_parquet(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        records = pq.read_table(path).to_pylist()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: contains a text that is not in UTF-8.") from None
    except (pa.ArrowException, OSError):
        raise ValueError(
            f"{path}: not in Parquet format. Other formats: .csv, .tsv and .jsonl."
        ) from None
    yield from enumerate(records, 1)


def _read_json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, record in json_lines.read_numbered(path):
        if not isinstance(record, dict):
            raise ValueError(f"{path}, line {number}: not a JSON object with `row` and `scores`.")
        yield number, record


READERS: dict[str, Callable[[Path], Iterator[tuple[int, Mapping[str, Any]]]]] = {
    ".parquet": _read_parquet,
    ".csv": lambda path: csv_tables.read_numbered(path, ("row", "scores")),
    ".tsv": lambda path: csv_tables.read_numbered(path, ("row", "scores"), "\t"),
    ".jsonl": _read_json_lines,
}
"""Function that yields the line number and the columns of each line, by the suffix of the file."""
