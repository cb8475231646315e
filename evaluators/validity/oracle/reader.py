"""The machinery under the grammar: positions in a sentence, memoised rules, phrases looked up word by word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import wraps
from typing import Any, TypeVar

from evaluators.validity.oracle.lexicon import KNOWN
from evaluators.validity.oracle.relation_words import Meaning, Phrases

Node = TypeVar("Node")
AnyReader = TypeVar("AnyReader", bound="Reader")
Found = Iterator[tuple[Node, int]]
"""What a rule reads: trees, each with the position after it."""
AllFound = tuple[tuple[Node, int], ...]


def rule(read: Callable[[AnyReader, int], Found[Node]]) -> Callable[[AnyReader, int], AllFound[Node]]:
    """Reads each position once and remembers how far into the sentence any rule came."""

    name = read.__name__

    @wraps(read)
    def remembered(self: AnyReader, start: int) -> AllFound[Node]:
        key = (name, start)
        if key not in self.memory:
            if start > self.furthest:
                self.furthest = start
            self.memory[key] = tuple(read(self, start))
        return self.memory[key]

    return remembered


class Reader:
    """One sentence. ``furthest`` is the last position where a rule began: of a word that could not be read."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = (*words, *[""] * 4)
        self.length = len(words)
        self.furthest = 0
        self.memory: dict[tuple[str, int], AllFound[Any]] = {}

    def at(self, start: int, *words: str) -> bool:
        """Whether just these words stand here."""
        return self.words[start] == words[0] and self.words[start : start + len(words)] == words

    def undrawable(self, start: int) -> bool:
        """Whether a word stands here that the lexicon does not have."""
        word = self.words[start]
        return word not in KNOWN and word[:1].isalnum()

    def lookup(self, start: int, table: Phrases[Meaning]) -> Found[Meaning]:
        """What the phrases mean that begin here, the longest first."""
        for phrase, meaning in table.get(self.words[start], ()):
            end = start + len(phrase)
            if self.words[start:end] == phrase:
                yield meaning, end

    def past(self, start: int, words: Collection[str]) -> int:
        """The first position from here on without one of the words."""
        while self.words[start] in words:
            start += 1
        return start

    def after(self, start: int, table: Phrases[Any]) -> Iterator[int]:
        """The positions after each of the phrases that begin here."""
        return (end for _, end in self.lookup(start, table))

    def text(self, start: int, end: int) -> str:
        return " ".join(self.words[start:end])
