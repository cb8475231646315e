"""Import libraries without the optional packages that they would import and that we do not need there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class _Hidden:
    """A finder of ``sys.meta_path`` that raises ModuleNotFoundError for some packages."""

    packages: tuple[str, ...]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> None:
        if fullname.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make imports of these packages fail in the block, as if they were not installed. Loaded packages stay.

    NLTK imports SciPy, scikit-learn and pandas, spaCy imports PyTorch, and lemminflect imports spaCy, for functions
    that are not used here. This takes four seconds in every worker process.
    """
    finder = _Hidden(tuple(package for package in packages if package not in sys.modules))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
