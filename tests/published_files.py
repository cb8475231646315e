"""Read a published file at once, as `compeval import` and `compeval audit` do row by row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loaders.importing.identify import identify
from loaders.importing.importing import ImportedFile, read_published
from loaders.importing.selection import RowSelection
from loaders.published.rows import Row


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file."""
    read = read_published(identify(path), RowSelection(repair))
    return read.counts, list(read)


def list_leaves(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_leaves(item)
    elif isinstance(value, str):
        yield value
