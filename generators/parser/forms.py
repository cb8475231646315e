"""The forms that words of a caption can take in the atoms that a parser reads from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Forms(NamedTuple):
    """What a parser can make of words; more is safe, fewer is not.

    ``of`` gives all words that one lower-case token can become in an atom's text, under any part of speech; ``always``
    are words that the parser may add to any caption.
    """

    of: Callable[[str], Iterable[str]]
    always: frozenset[str] = frozenset()
