"""Which rows of published files are written, as the options of ``compeval import`` and ``get`` say."""

from typing import NamedTuple


class RowSelection(NamedTuple):
    """Which published rows are written.

    Args:
        repair: Remove differences of case, spacing and final stops between captions, and ambiguous rows.
        drop_malformed: Drop rows with a malformed text, as `compeval audit` counts them.
        skip_missing: Drop rows whose image is missing.
    """

    repair: bool = False
    drop_malformed: bool = False
    skip_missing: bool = False


ALL = RowSelection()
"""All rows, as published."""
