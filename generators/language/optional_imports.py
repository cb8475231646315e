"""Import libraries without the optional packages that they would import and that we do not need there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make imports of these packages fail in the block, as if they were not installed. Loaded packages stay.

    NLTK imports SciPy, scikit-learn and pandas, and spaCy imports PyTorch, for functions that are not used here. This
    takes four seconds in every worker process.
    """
    hidden = [package for package in dict.fromkeys(packages) if package not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]
