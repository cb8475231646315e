"""Memoised recursive-descent parsing: the base class of the grammar.

A rule is a method that takes a position in the sentence and yields a (tree, end) pair for each phrase that it can parse
from that position; ``end`` is the position after the phrase. A rule is named after the phrase that it parses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

from compeval.evaluators.validity.oracle.lexicon import KNOWN, Meaning, Phrases

Node = TypeVar("Node")
Trees = tuple[Any, ...]
Parses = Iterator[tuple[Node, int]]
"""Pairs of a tree and the position after it."""


def rule(
    parse: Callable[[Any, int], Parses[Node]],
) -> Callable[[Any, int], tuple[tuple[Node, int], ...]]:
    """Memoise a rule by position and record the last position at which any rule started."""

    @wraps(parse)
    def memoised(self: Reader, start: int) -> tuple[tuple[Node, int], ...]:
        key = (parse.__name__, start)
        if key not in self.memory:
            self.furthest = max(self.furthest, start)
            self.memory[key] = tuple(parse(self, start))
        return self.memory[key]

    return memoised


class Reader:
    """A sentence with helpers for parsing.

    ``furthest`` is the last position where a rule started. If parsing fails, the word at this position is the cause.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = (*words, *[""] * 4)
        self.length = len(words)
        self.furthest = 0
        self.memory: dict[tuple[str, int], Any] = {}

    def starts_with(self, start: int, *words: str) -> bool:
        """Return True if the sentence continues with ``words`` at ``start``."""
        return self.words[start] == words[0] and self.words[start : start + len(words)] == words

    def is_undrawable(self, start: int) -> bool:
        """Return True if the word at ``start`` is not in the vocabulary."""
        word = self.words[start]
        return word not in KNOWN and word[:1].isalnum()

    def match_phrases(self, start: int, table: Phrases[Meaning]) -> Parses[Meaning]:
        """Yield the meaning and end of every phrase of ``table`` that begins at ``start``, the longest first."""
        for phrase, meaning in table.get(self.words[start], ()):
            end = start + len(phrase)
            if self.words[start:end] == phrase:
                yield meaning, end

    def phrase_ends(self, start: int, table: Phrases[Any]) -> Iterator[int]:
        """Yield the end of every phrase of ``table`` that begins at ``start``."""
        return (end for _, end in self.match_phrases(start, table))

    def skip(self, start: int, words: Collection[str]) -> int:
        """Return the first position from ``start`` on whose word is not in ``words``."""
        while self.words[start] in words:
            start += 1
        return start

    def join_words(self, start: int, end: int) -> str:
        return " ".join(self.words[start:end])

    def parse_sequence(
        self, first: Iterable[tuple[Trees, int]], rest: Callable[[int], Iterable]
    ) -> Parses[Trees]:
        """Yield every parse of ``first`` followed by every parse of ``rest``."""
        for trees, middle in first:
            for following, end in rest(middle):
                yield trees + following, end

    def parse_coordination(
        self,
        first: Iterable[tuple[Trees, int]],
        joints: Phrases[None],
        rest: Callable[[int], Iterable],
    ) -> Parses[Trees]:
        """Yield every parse of "first joint rest" ("first and rest") and of ``first`` alone, the longest first."""
        for trees, end in first:
            for after in self.phrase_ends(end, joints):
                yield from self.parse_sequence([(trees, after)], rest)
            yield trees, end
