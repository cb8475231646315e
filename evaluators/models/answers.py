"""Answers of paid or slow endpoints on disk.

One SQLite file (``answers.sqlite`` in the cache folder) maps the hash of a request to the parts of its answer that
scores are computed from. Each answer is committed alone, so an answer that arrived is never requested again. Unlike
features, answers do not depend on this package's version. No key and no image is stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compeval.base.files.sqlite_store import SqliteStore


class AnswerStore(SqliteStore):
    """Answers by request hash."""

    name = "store of answers"
    contents = "answers"
    table = "answer"
    columns = ("request", "answer")
    synchronous = "FULL"
    damaged = "The file is damaged: restore it, or delete it to ask again."

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "answers.sqlite")

    def get(self, request: str) -> dict[str, Any] | None:
        """Return the answer to a request, or None if there is none yet."""
        return next((json.loads(answer) for answer in self.read([request]).values()), None)

    def put(self, request: str, answer: dict[str, Any]) -> None:
        """Store an answer, which replaces an earlier one; it is on disk when this returns."""
        self.replace([(request, json.dumps(answer))])
