"""Rows of the user's files that are left out: those of other splits, and with ``skip`` those with errors."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLIT = "split"
"""The column of a row's split, and the key of an image's in Karpathy's own layout."""
ALL = "all"
TEST = "test"


@dataclass
class LeftOut:
    """Settings of what is left out, and counts of it."""

    split: str = TEST
    """The split that is read of a file with splits, several ones separated by commas, or ``all``."""
    skips_errors: bool = False
    """True if rows with an error are skipped and counted."""
    errors: list[str] = field(default_factory=list)
    """The first error of the skipped rows."""
    skipped: int = 0

    def select_split(self, file: Path, rows: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the rows of the split, and all rows without one, with their numbers.

        At the end, print how many rows of other splits are left out.
        Raises ValueError if no row is in the split.
        """
        wanted = {name.strip() for name in self.split.split(",")}
        counts = Counter[str]()
        for number, row in enumerate(rows, 1):
            name = row.get(SPLIT) if isinstance(row, Mapping) else None
            if isinstance(name, str) and name:
                counts[name] += 1
                if self.split != ALL and name not in wanted:
                    continue
            yield number, row
        read = sum(counts[name] for name in wanted)
        others = {name: count for name, count in counts.items() if name not in wanted}
        if not others or self.split == ALL:
            return
        listed = ", ".join(f"{name} {count:,}" for name, count in others.items())
        if not read:
            raise ValueError(
                f"{file}: no row of the split {self.split}; it has {listed}. Choose with --split, for example "
                f"--split {next(iter(others))} or --split all."
            )
        print(
            f"{file}: {read:,} rows of the split {self.split} are read. Left out: {listed} (--split all reads them).",
            file=sys.stderr,
        )

    def skip(self, error: Exception) -> bool:
        """Return True if a row with this error is skipped, and count it."""
        if not self.skips_errors:
            return False
        self.skipped += 1
        self.errors = self.errors or [str(error)]
        return True

    def describe_skipped(self) -> str:
        """Return how many rows were skipped, and the first error; "" if none was."""
        if not self.skipped:
            return ""
        return f"Rows skipped: {self.skipped:,}. The first error: {self.errors[0]}"

    def print_skipped(self) -> None:
        """Print how many rows were skipped."""
        if self.skipped:
            print(self.describe_skipped(), file=sys.stderr)
