"""Write annotation forms: tasks for Label Studio, or a CSV table with a folder of images.

Both forms ask for every text if it is true of its image, and contain the question and the allowed answers. The tasks
for Label Studio contain the images as data URIs, so any installation can import them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from compeval.base.files import csv_tables
from compeval.evaluators.annotations.items import Item

ANSWERS = ("true", "false", "cannot tell")
QUESTION = "Is this text true of the image?"
CONTROL = "verdict"
COLUMNS = ("id", "image", "question", "text", "allowed answers", "answer")

LABEL_STUDIO = f"""<View>
  <Image name="image" value="$image"/>
  <Header value="{QUESTION}"/>
  <Text name="text" value="$text"/>
  <Choices name="{CONTROL}" toName="text" choice="single" required="true" showInline="true">
{"".join(f'    <Choice value="{answer}"/>{chr(10)}' for answer in ANSWERS)}  </Choices>
</View>
"""
"""The labelling configuration of the Label Studio project."""


def write_label_studio(folder: Path, items: Sequence[Item], images: Mapping[str, bytes]) -> None:
    """Write ``config.xml`` and ``tasks.json``. ``images``: crop id -> JPEG bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    uris = {
        crop_id: f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
        for crop_id, data in images.items()
    }
    shared_fields = {"question": QUESTION, "allowed answers": list(ANSWERS)}
    tasks = [
        {"data": {"id": item.id, "text": item.text, "image": uris[item.crop_id], **shared_fields}}
        for item in items
    ]
    (folder / "config.xml").write_text(LABEL_STUDIO, encoding="utf-8")
    (folder / "tasks.json").write_text(
        json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def write_csv(folder: Path, items: Sequence[Item], images: Mapping[str, bytes]) -> None:
    """Write ``items.csv`` with an empty column ``answer``, and ``images`` (crop id -> JPEG bytes) to ``images/``."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    names = {crop_id: f"images/{number:05d}.jpg" for number, crop_id in enumerate(images)}
    for crop_id, data in images.items():
        (folder / names[crop_id]).write_bytes(data)
    shared_fields = {"question": QUESTION, "allowed answers": " / ".join(ANSWERS), "answer": ""}
    rows = [
        {"id": item.id, "image": names[item.crop_id], "text": item.text, **shared_fields}
        for item in items
    ]
    csv_tables.write(folder / "items.csv", COLUMNS, rows)
