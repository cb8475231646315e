"""Read annotators' answers from completed forms and store them next to the sample, in one table per annotator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compeval.base.files import csv_tables
from compeval.base.files.listing import list_files
from compeval.evaluators.annotations.forms import ANSWERS, CONTROL
from compeval.evaluators.annotations.items import CAPTION, Item, read_items
from compeval.evaluators.annotations.items import FILE as SAMPLE
from compeval.generators.hard_negatives.rejections import FILE as REJECTED

FOLDER = "answers"
COLUMNS = ("id", "answer")
Answers = dict[str, dict[str, str]]
"""Annotator -> item id -> answer."""


def read_form(path: Path, items: Mapping[str, Item]) -> Answers:
    """Read a completed form: a CSV file named after its annotator, or a JSON export of Label Studio.

    Items without an answer are skipped. Raises ValueError for an invalid answer or an item that is not in ``items``.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    answers: Answers = {}
    for annotator, item_id, answer in (
        _read_label_studio(path) if path.suffix == ".json" else _read_csv(path)
    ):
        if item_id not in items:
            raise ValueError(
                f"{path}: item {item_id!r} is not in the sample. Was a new sample drawn after the export?"
            )
        if answer not in ANSWERS:
            raise ValueError(
                f"{path}, item {item_id}: answer {answer!r}; expected one of {', '.join(ANSWERS)}."
            )
        answers.setdefault(re.sub(r"[^\w.@-]+", "-", annotator), {})[item_id] = answer
    if not answers:
        raise ValueError(f"{path}: no item has an answer.")
    return answers


def _read_csv(path: Path) -> Iterator[tuple[str, str, str]]:
    for row in csv_tables.read(path, COLUMNS):
        if answer := row["answer"].strip().lower():
            yield path.stem, row["id"], answer


def _read_label_studio(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the annotations of a Label Studio export. Cancelled and empty annotations are skipped."""
    try:
        for task in json.loads(path.read_text(encoding="utf-8")):
            for annotation in task["annotations"]:
                if not annotation.get("was_cancelled"):
                    for result in annotation["result"]:
                        if result["from_name"] == CONTROL:
                            (answer,) = result["value"]["choices"]
                            yield (
                                _get_annotator_name(annotation["completed_by"]),
                                str(task["data"]["id"]),
                                answer,
                            )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: not an export in Label Studio's JSON format ({error!r})."
        ) from None


def _get_annotator_name(completed_by: Any) -> str:
    """Return the name of an annotator. Label Studio exports a number or, in some versions, a profile."""
    return str(
        completed_by.get("email") or completed_by["id"]
        if isinstance(completed_by, dict)
        else completed_by
    )


def add_answers(folder: Path, answers: Answers) -> None:
    """Store answers in ``folder/answers``. A new answer replaces the annotator's previous answer to the same item."""
    stored = read_answers(folder)
    for annotator, new in answers.items():
        merged = stored.get(annotator, {}) | new
        rows = [{"id": item_id, "answer": merged[item_id]} for item_id in sorted(merged)]
        csv_tables.write(folder / FOLDER / f"{annotator}.csv", COLUMNS, rows)


def read_answers(folder: Path) -> Answers:
    """Read all answers, including answers to items of earlier samples."""
    return {
        path.stem: {row["id"]: row["answer"] for row in csv_tables.read(path, COLUMNS)}
        for path in list_files(folder / FOLDER, "*.csv")
    }


def check_replaceable(folder: Path, sampled: Sequence[Item]) -> None:
    """Raise ValueError if people have answered the sample in ``folder`` and ``sampled`` is another sample."""
    if not (folder / SAMPLE).is_file() or (items := read_items(folder)) == list(sampled):
        return
    ids = {item.id for item in items}
    counts = {name: len(ids & by_item.keys()) for name, by_item in read_answers(folder).items()}
    if answered := {name: count for name, count in counts.items() if count}:
        people = ", ".join(
            f"{name} ({count:,} of {len(items):,})" for name, count in answered.items()
        )
        raise ValueError(
            f"{folder / SAMPLE}: people have answered this sample: {people}. Use --force to replace it; their answers "
            "are kept, but those on texts outside the new sample do not count."
        )


def write_rejected(folder: Path, items: Sequence[Item], answers: Answers) -> int:
    """Write the rejected negatives, which the next build skips, and return their number.

    These are the hard negatives that more than half of their annotators judged true. Negatives that were rejected in
    earlier samples are kept.
    """
    columns = ("crop_id", "image_id", "text")
    path = folder / REJECTED
    sampled = {(item.crop_id, item.text) for item in items}
    earlier = csv_tables.read(path, columns) if path.is_file() else []
    rows = [row for row in earlier if (row["crop_id"], row["text"]) not in sampled]
    for item in items:
        item_answers = [by_item[item.id] for by_item in answers.values() if item.id in by_item]
        if item.type != CAPTION and item_answers.count("true") * 2 > len(item_answers):
            rows.append({name: getattr(item, name) for name in columns})
    csv_tables.write(path, columns, sorted(rows, key=lambda row: [row[name] for name in columns]))
    return len(rows)
