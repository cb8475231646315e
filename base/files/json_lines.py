"""Read JSON Lines: one JSON value per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

MAX_LINE = 1 << 24
"""Longer lines are errors, in characters. A file without line ends is not read into memory as a whole."""


def read_numbered(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the line number and the value of each line that is not empty.

    Raises ValueError, which names the line, if it is not JSON, is too long, or an object repeats a key.
    """
    try:
        with path.open(
            encoding="utf-8-sig"
        ) as lines:  # unlike str.splitlines, this does not split at U+2028
            for number, line in enumerate(iter(partial(lines.readline, MAX_LINE), ""), 1):
                if len(line) == MAX_LINE:
                    raise ValueError(
                        f"{path}, line {number}: {MAX_LINE:,} characters or more; write a value per line."
                    )
                if line.strip():
                    try:
                        yield number, json.loads(line, object_pairs_hook=make_object)
                    except (ValueError, RecursionError) as error:
                        raise ValueError(f"{path}, line {number}: not JSON ({error}).") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not in UTF-8.") from None


def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object (``object_pairs_hook``). Raises ValueError if it repeats a key."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice"
        )
    return values
