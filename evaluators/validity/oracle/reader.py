"""Memoised recursive descent: the machinery of the grammar.

A rule takes a position in the sentence and yields every (tree, end) that it can read from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

from evaluators.validity.oracle.lexicon import KNOWN, Meaning, Phrases

Node = TypeVar("Node")
Trees = tuple[Any, ...]
Parses = Iterator[tuple[Node, int]]
"""Trees, each with the position after it."""


def rule(read: Callable[[Any, int], Parses[Node]]) -> Callable[[Any, int], tuple[tuple[Node, int], ...]]:
    """Memoise a rule by position, and record the last position at which any rule started."""

    @wraps(read)
    def memoised(self: Reader, start: int) -> tuple[tuple[Node, int], ...]:
        key = (read.__name__, start)
        if key not in self.memory:
            self.furthest = max(self.furthest, start)
            self.memory[key] = tuple(read(self, start))
        return self.memory[key]

    return memoised


class Reader:
    """One sentence. ``furthest`` is the last position where a rule started: of the word that cannot be read."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = (*words, *[""] * 4)
        self.length = len(words)
        self.furthest = 0
        self.memory: dict[tuple[str, int], Any] = {}

    def at(self, start: int, *words: str) -> bool:
        """True if the sentence goes on with these words."""
        return self.words[start] == words[0] and self.words[start : start + len(words)] == words

    def undrawable(self, start: int) -> bool:
        """True if the word here is not in the vocabulary."""
        word = self.words[start]
        return word not in KNOWN and word[:1].isalnum()

    def lookup(self, start: int, table: Phrases[Meaning]) -> Parses[Meaning]:
        """The meanings of the phrases that begin here, the longest first."""
        for phrase, meaning in table.get(self.words[start], ()):
            end = start + len(phrase)
            if self.words[start:end] == phrase:
                yield meaning, end

    def after(self, start: int, table: Phrases[Any]) -> Iterator[int]:
        """The positions after each of the phrases that begin here."""
        return (end for _, end in self.lookup(start, table))

    def past(self, start: int, words: Collection[str]) -> int:
        """The first position from here on that has none of the words."""
        while self.words[start] in words:
            start += 1
        return start

    def text(self, start: int, end: int) -> str:
        return " ".join(self.words[start:end])

    def sequence(self, first: Iterable[tuple[Trees, int]], rest: Callable[[int], Iterable]) -> Parses[Trees]:
        """Trees of ``first`` followed by those of ``rest``."""
        for trees, middle in first:
            for others, end in rest(middle):
                yield trees + others, end

    def joined(
        self, first: Iterable[tuple[Trees, int]], joints: Phrases[None], rest: Callable[[int], Iterable]
    ) -> Parses[Trees]:
        """Trees of ``first``, each with and without a joint and the trees of ``rest``, the longest first."""
        for trees, end in first:
            for after in self.after(end, joints):
                yield from self.sequence([(trees, after)], rest)
            yield trees, end
