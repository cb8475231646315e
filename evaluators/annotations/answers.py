"""Annotators' answers: read from filled-in forms, kept beside the sample, one table an annotator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluators.annotations.forms import ANSWERS, CONTROL
from evaluators.annotations.items import CAPTION, Item
from generators.hard_negatives.rejections import FILE as REJECTED
from generators.storage import csv_tables

FOLDER = "answers"
Answers = dict[str, dict[str, str]]
"""Annotator -> item id -> answer."""


def read_form(path: Path, known: Mapping[str, Item]) -> Answers:
    """The answers of a filled-in form: a CSV file is one annotator's, by its name; a Label Studio export may hold many.

    Items without an answer are left out. ValueError, naming the item, for an answer that is none and for an item
    that is not in the sample.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    found: Answers = {}
    for annotator, item_id, answer in _label_studio(path) if path.suffix == ".json" else _csv(path):
        if item_id not in known:
            raise ValueError(f"{path}: item {item_id!r} is not in the sample. Was it sampled anew since the export?")
        if answer not in ANSWERS:
            raise ValueError(f"{path}, item {item_id}: the answer {answer!r}, expected one of {', '.join(ANSWERS)}.")
        found.setdefault(re.sub(r"[^\w.@-]+", "-", annotator), {})[item_id] = answer
    if not found:
        raise ValueError(f"{path}: no item has an answer.")
    return found


def _csv(path: Path) -> Iterator[tuple[str, str, str]]:
    for row in csv_tables.read(path, ("id", "answer")):
        if answer := row["answer"].strip().lower():
            yield path.stem, row["id"], answer


def _label_studio(path: Path) -> Iterator[tuple[str, str, str]]:
    """The annotations of an export in Label Studio's JSON format; cancelled and empty ones are none."""
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
        for task in tasks:
            for annotation in task["annotations"]:
                if not annotation.get("was_cancelled"):
                    for result in annotation["result"]:
                        if result["from_name"] == CONTROL:
                            (answer,) = result["value"]["choices"]
                            yield _annotator(annotation["completed_by"]), str(task["data"]["id"]), answer
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not an export in Label Studio's JSON format ({error!r}).") from None


def _annotator(completed_by: Any) -> str:
    """Label Studio gives an annotator's number, or in some exports all that it knows of them."""
    return str(completed_by.get("email") or completed_by["id"] if isinstance(completed_by, dict) else completed_by)


def add(folder: Path, answers: Answers) -> None:
    """Keep answers in ``folder/answers``; an annotator's later answer to an item takes the place of the earlier."""
    kept = read(folder)
    for annotator, found in answers.items():
        merged = kept.get(annotator, {}) | found
        rows = [{"id": item_id, "answer": merged[item_id]} for item_id in sorted(merged)]
        csv_tables.write(folder / FOLDER / f"{annotator}.csv", ("id", "answer"), rows)


def read(folder: Path) -> Answers:
    """All answers of a sample; those to items that are no longer in it stay in their files."""
    return {
        path.stem: {row["id"]: row["answer"] for row in csv_tables.read(path, ("id", "answer"))}
        for path in sorted((folder / FOLDER).glob("*.csv"))
    }


def rejected(items: Sequence[Item], answers: Answers) -> list[Item]:
    """The negatives that more than half of those who answered found true."""
    found = []
    for item in items:
        given = [by_item[item.id] for by_item in answers.values() if item.id in by_item]
        if item.type != CAPTION and given.count("true") * 2 > len(given):
            found.append(item)
    return found


def write_rejected(folder: Path, items: Sequence[Item], answers: Answers) -> int:
    """Write what the next build leaves out, what earlier samples rejected included; gives how many there are."""
    columns = ("crop_id", "image_id", "text")
    path = folder / REJECTED
    sampled = {(item.crop_id, item.text) for item in items}
    rows = (
        [row for row in csv_tables.read(path, columns) if (row["crop_id"], row["text"]) not in sampled]
        if path.is_file()
        else []
    )
    rows += [{name: getattr(item, name) for name in columns} for item in rejected(items, answers)]
    csv_tables.write(path, columns, sorted(rows, key=lambda row: [row[name] for name in columns]))
    return len(rows)
