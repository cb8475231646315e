"""The page of all rows with hard negatives, to filter by task, kind, right and wrong, and text.

``rows.html`` reads ``rows.js`` (texts and choices) and, for the rows in view, ``rows/<number>.js`` (pictures). They are
scripts and not JSON, because a page that is opened as a file may not read other files. The rows are chosen by a hash of
their caption, as many of each task as possible.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compeval.evaluators.report.examples import (
    Example,
    load_split,
    make_choice_examples,
    read_frames,
    sort_by_hash,
)
from compeval.evaluators.report.results import Result

ROWS_PER_SCRIPT = 100
"""Number of rows whose pictures are in one script."""
SIZE = 200
"""Pixels per side of the pictures."""


def collect_rows(
    results: Sequence[Result], data_dir: Path | None, count: int
) -> tuple[list[Example], int]:
    """Return at most about ``count`` rows with small pictures, and the number of all rows with hard negatives."""
    by_task: dict[str, list[Result]] = {}
    for result in results:
        if result.data["protocol"] == "choice":
            by_task.setdefault(result.data["task"], []).append(result)
    frames = {task: read_frames(members) for task, members in by_task.items()}
    sizes = {task: len(next(iter(by_model.values()))) for task, by_model in frames.items()}
    quotas = allocate(sizes, count)
    rows = list[Example]()
    for task, members in by_task.items():
        if quotas[task]:
            chosen = sorted(
                sort_by_hash(next(iter(frames[task].values()))["caption"])[: quotas[task]]
            )
            rows += make_choice_examples(
                task, frames[task], chosen, load_split(members[0], data_dir), SIZE
            )
    return rows, sum(sizes.values())


def allocate(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many rows of each task are shown: all of the small tasks, and equally many of the others."""
    quotas: dict[str, int] = {}
    for position, (task, size) in enumerate(
        sorted(sizes.items(), key=lambda item: (item[1], item[0]))
    ):
        quotas[task] = min(size, count // (len(sizes) - position))
        count -= quotas[task]
    return quotas


def write_rows(folder: Path, prefix: str, rows: Sequence[Example], models: Sequence[str]) -> None:
    """Write the scripts that ``rows.html`` reads."""
    tasks = list(dict.fromkeys(row.task for row in rows))
    kinds = sorted({candidate.kind for row in rows for candidate in row.candidates} - {""})
    task_number, kind_number = (
        {name: number for number, name in enumerate(names)} for names in (tasks, kinds)
    )
    texts = []
    for row in rows:
        picks = {
            name: number
            for number, candidate in enumerate(row.candidates)
            for name in candidate.picked_by
        }
        candidate_kinds = [
            kind_number[candidate.kind] for candidate in row.candidates if candidate.kind
        ]
        captions = [candidate.caption for candidate in row.candidates]
        # -1 is the pick of a model without this task.
        texts.append(
            [
                task_number[row.task],
                row.row,
                captions,
                candidate_kinds,
                [picks.get(model, -1) for model in models],
                [find_changes(candidate.parts) for candidate in row.candidates],
            ]
        )
    document = {
        "models": models,
        "tasks": tasks,
        "kinds": kinds,
        "per_script": ROWS_PER_SCRIPT,
        "rows": texts,
    }
    _write_script(folder / f"{prefix}rows.js", "ROWS", document)
    pictures = folder / f"{prefix}rows"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir()
    for index, start in enumerate(range(0, len(rows), ROWS_PER_SCRIPT)):
        group = rows[start : start + ROWS_PER_SCRIPT]
        _write_script(pictures / f"{index}.js", f"PICTURES[{index}]", [row.image for row in group])


def find_changes(parts: Sequence[tuple[str, bool]]) -> list[list[int]]:
    """Return where the changed parts of a caption begin and end, in UTF-16 code units, which JavaScript counts."""
    changes: list[list[int]] = []
    position = 0
    for text, is_changed in parts:
        end = position + len(text.encode("utf-16-le")) // 2
        if is_changed:
            changes.append([position, end])
        position = end + 1  # parts are joined by a space
    return changes


def _write_script(path: Path, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"{name} = {text};\n", encoding="utf-8")
