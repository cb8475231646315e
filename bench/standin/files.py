"""Write JSON files of any length one record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class JsonWriter:
    """Appends records to a JSON list, or (key, value) entries to a JSON object."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._separator = ""

    def add(self, record: Any, key: str | None = None) -> None:
        prefix = "" if key is None else f"{json.dumps(key)}: "
        self._file.write(self._separator + prefix + json.dumps(record))
        self._separator = ", "


@contextmanager
def open_json(path: Path, brackets: str = "[]") -> Iterator[JsonWriter]:
    """Open a JSON list, or a JSON object with the brackets ``{}``, for writing. Creates the parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(brackets[0])
        yield JsonWriter(file)
        file.write(brackets[1])
