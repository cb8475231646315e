"""Forms to fill in: tasks for Label Studio, or a table with a folder of pictures.

Both ask of every text whether it is true of its picture. Label Studio's tasks carry their picture in themselves, so
that they can be imported wherever it runs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluators.annotations.items import Item
from generators.storage import csv_tables

ANSWERS = ("true", "false", "cannot tell")
QUESTION = "Is this text true of the picture?"
CONTROL = "verdict"
COLUMNS = ("id", "image", "text", "answer")

LABEL_STUDIO = f"""<View>
  <Image name="picture" value="$image"/>
  <Header value="{QUESTION}"/>
  <Text name="text" value="$text"/>
  <Choices name="{CONTROL}" toName="text" choice="single" required="true" showInline="true">
{"".join(f'    <Choice value="{answer}"/>{chr(10)}' for answer in ANSWERS)}  </Choices>
</View>
"""
"""The labelling config."""


def write_label_studio(folder: Path, items: Sequence[Item], pictures: Mapping[str, bytes]) -> None:
    """``config.xml`` and ``tasks.json``; ``pictures`` are JPEGs by crop id."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [{"data": {"id": item.id, "text": item.text, "image": _uri(pictures[item.crop_id])}} for item in items]
    (folder / "config.xml").write_text(LABEL_STUDIO)
    (folder / "tasks.json").write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_csv(folder: Path, items: Sequence[Item], pictures: Mapping[str, bytes]) -> None:
    """``items.csv``, whose column ``answer`` is to be filled in, and ``images/``."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for crop_id, data in pictures.items():
        (folder / "images" / f"{crop_id}.jpg").write_bytes(data)
    rows = [{"id": item.id, "image": f"images/{item.crop_id}.jpg", "text": item.text, "answer": ""} for item in items]
    csv_tables.write(folder / "items.csv", COLUMNS, rows)


def _uri(data: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(data).decode()
