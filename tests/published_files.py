"""Read a published file at once, as `compeval import` and `compeval audit` do row by row."""

from pathlib import Path

from loaders.importing.identify import identify
from loaders.importing.importing import ImportedFile, read_published
from loaders.published.rows import Row


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file."""
    read = read_published(identify(path), repair=repair)
    return read.counts, list(read)
