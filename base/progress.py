"""The progress of long steps, as the functions that take them report it."""

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the name of a step, the number of finished bytes or items, and the total number (None if unknown)."""


def no_progress(step: str, done: int, total: int | None) -> None:
    """No-op progress callback."""
