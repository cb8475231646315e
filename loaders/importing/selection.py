"""The selection of rows of published files, as the options of ``compeval import`` and ``get`` say."""

from typing import NamedTuple


class RowSelection(NamedTuple):
    """The published rows that are written."""

    repair: bool = False
    """Remove differences of case, spacing and final stops between captions, and ambiguous rows."""
    drop_malformed: bool = False
    """Drop rows with a malformed text, as `compeval audit` counts them."""
    skip_missing: bool = False
    """Drop rows whose image is missing."""


ALL = RowSelection()
"""All rows, as published."""
