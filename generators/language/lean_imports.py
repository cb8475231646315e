"""Libraries without the packages that they load where they find them: NLTK without scikit-learn, spaCy without torch.

What they would do with these nothing here asks for, and every process of every stage would wait seconds for each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from typing import Any


class _Hidden(MetaPathFinder):
    """Comes before all other finders and finds nothing."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in self._packages:
            raise ModuleNotFoundError(f"No module named {fullname!r} here", name=fullname)


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Within it an import of ``packages`` fails as if they were not installed, unless they are loaded by now."""
    finder = _Hidden(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@cache
def spacy() -> Any:
    """The module spaCy, which loads its parts for torch where it finds torch."""
    with without("torch"):
        import spacy
    return spacy


@cache
def lemminflect() -> Any:
    """The module LemmInflect, which adds itself to spaCy where it finds spaCy."""
    with without("spacy"):
        import lemminflect
    return lemminflect
