"""Import libraries without the optional packages that they would import and that we do not need there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class _Hidden:
    """A finder of ``sys.meta_path`` that says that packages are not installed."""

    packages: tuple[str, ...]

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make imports of these packages fail in the block, as if they were not installed. Loaded packages stay.

    NLTK imports SciPy, scikit-learn and pandas, spaCy imports PyTorch, and lemminflect imports spaCy, for functions
    that are not used here. This takes four seconds in every worker process.
    """
    finder = _Hidden(packages)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
