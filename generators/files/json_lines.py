"""Read JSON Lines: one JSON value per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_numbered(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the line number and the value of each line that is not empty. Raises ValueError, which names the line."""
    try:
        with path.open(encoding="utf-8-sig") as lines:  # unlike str.splitlines, this does not split at U+2028
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        yield number, json.loads(line)
                    except (json.JSONDecodeError, RecursionError) as error:
                        raise ValueError(f"{path}, line {number}: not JSON ({error}).") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8.") from None
