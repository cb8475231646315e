"""The page of all rows with hard negatives, to filter by task, kind, right and wrong, and text.

``rows.html`` reads ``rows.js`` (texts and choices) and, for the rows in view, ``rows/<number>.js`` (pictures). They are
scripts and not JSON, because a page that is opened as a file may not read other files. The rows are chosen by a hash of
their caption, as many of each task as possible.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from evaluators.engine.task_dataset import TaskDataset
from evaluators.report.examples import find_top, get_kind, hash_text, load_rows, make_data_uri, read_frames
from evaluators.report.results import Result
from generators.storage import parquet
from loaders.datasets.load import load_dataset

ROWS_PER_SCRIPT = 100
"""Number of rows whose pictures are in one script."""
SIZE = 200
"""Pixels per side of the pictures."""


@dataclass(frozen=True)
class Row:
    """A row of a task.

    ``picks`` is the candidate that each model ranks first: 0 is the true caption, -1 a model without this task.
    """

    task: str
    number: int
    captions: Sequence[str]
    kinds: Sequence[str]
    """Kind of each hard negative; empty if it is not known."""
    picks: Sequence[int]
    picture: str | None
    """Data URI."""


def collect_rows(results: Sequence[Result], data_dir: Path | None, count: int) -> tuple[list[Row], int]:
    """Return at most about ``count`` rows, and the number of all rows with hard negatives."""
    models = sorted({result.model for result in results})
    by_task: dict[str, list[Result]] = {}
    for result in results:
        if result.data["protocol"] == "choice":
            by_task.setdefault(result.data["task"], []).append(result)
    frames = {task: read_frames(members) for task, members in by_task.items()}
    sizes = {task: len(next(iter(by_model.values()))) for task, by_model in frames.items()}
    quotas = share_out(sizes, count)
    rows = [
        row
        for task, by_model in frames.items()
        if quotas[task]
        for row in _make_rows(task, by_model, models, load_rows(by_task[task][0], data_dir), quotas[task], data_dir)
    ]
    return rows, sum(sizes.values())


def share_out(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many rows of each task are shown: all of the small tasks, and equally many of the others."""
    quotas: dict[str, int] = {}
    for position, (task, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        quotas[task] = min(size, count // (len(sizes) - position))
        count -= quotas[task]
    return quotas


def _make_rows(
    task: str,
    frames: Mapping[str, pd.DataFrame],
    models: Sequence[str],
    dataset: TaskDataset | None,
    count: int,
    data_dir: Path | None,
) -> Iterator[Row]:
    texts = next(iter(frames.values()))
    chosen = sorted(texts["caption"].map(lambda text: hash_text(str(text))).sort_values().index[:count])
    kinds, read_picture = {}, lambda number: None
    if dataset is not None:
        kinds = _read_kinds(dataset, chosen)
        read_picture = _make_picture_reader(dataset, data_dir)
    scores = {model: frames[model]["scores"] for model in models if model in frames}
    for number in chosen:
        picks = [find_top(scores[model][number], 1)[0] if model in scores else -1 for model in models]
        captions = [texts["caption"][number], *texts["hard_negatives"][number]]
        yield Row(task, int(number), captions, kinds.get(number, []), picks, read_picture(int(number)))


def _read_kinds(dataset: TaskDataset, rows: Sequence[int]) -> dict[int, list[str]]:
    """Return the kind of each hard negative of some rows, {} if the dataset does not state its foils."""
    if "foils" not in dataset.schema.names:
        return {}
    batches = (batch for path in dataset.files for batch in parquet.read_batches(path, columns=["foils"]))
    foils = [foil for batch in batches for foil in batch[0]]
    return {row: [get_kind(foil) for foil in foils[row].as_py() or []] for row in rows}


def _make_picture_reader(dataset: TaskDataset, data_dir: Path | None) -> Callable[[int], str | None]:
    """Return a function that reads the picture of a row as a small JPEG data URI."""
    task, is_reference = dataset.task, "image_path" in dataset.schema.names  # crops are cut from source images
    split: Any = load_dataset(task.dataset, task.config, task.split, data_dir) if is_reference else None

    def read_picture(row: int) -> str | None:
        try:
            if is_reference:
                return make_data_uri(split[row]["image"], SIZE)
            with Image.open(io.BytesIO(dataset.read_image(row, "image"))) as image:
                image.draft("RGB", (SIZE, SIZE))  # a JPEG is decoded at about this size
                return make_data_uri(image, SIZE)
        except (OSError, ValueError):  # a row without a readable picture is shown without it
            return None

    return read_picture


def write_rows(folder: Path, prefix: str, rows: Sequence[Row], models: Sequence[str]) -> None:
    """Write the scripts that ``rows.html`` reads."""
    tasks = list(dict.fromkeys(row.task for row in rows))
    kinds = sorted({kind for row in rows for kind in row.kinds})
    task_number, kind_number = ({name: number for number, name in enumerate(names)} for names in (tasks, kinds))
    texts = [
        [task_number[row.task], row.number, row.captions, [kind_number[kind] for kind in row.kinds], row.picks]
        for row in rows
    ]
    document = {"models": models, "tasks": tasks, "kinds": kinds, "per_script": ROWS_PER_SCRIPT, "rows": texts}
    _write_script(folder / f"{prefix}rows.js", "ROWS", document)
    pictures = folder / f"{prefix}rows"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir()
    for index, start in enumerate(range(0, len(rows), ROWS_PER_SCRIPT)):
        group = rows[start : start + ROWS_PER_SCRIPT]
        _write_script(pictures / f"{index}.js", f"PICTURES[{index}]", [row.picture for row in group])


def _write_script(path: Path, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"{name} = {text};\n", encoding="utf-8")
