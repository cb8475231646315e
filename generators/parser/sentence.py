"""The dependency tree of a caption as plain lists, with each phrasal preposition merged into one token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from compeval.generators.parser.lexicon import WORDS
from compeval.generators.parser.phrasal_prepositions import (
    SPELLINGS,
    Phrase,
    find_phrasal_prepositions,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc

MERGED = "merged"
"""Dependency label of this package: the tokens of a phrasal preposition after its first token."""
COVERING = "covering"
"""Dependency label of this package: the participle in "snow covered sign" (tree_repairs.py)."""
_REACH = 40
"""Maximum distance in tokens at which repairs look for children, so that their cost per word is bounded."""


class Span(NamedTuple):
    """The text of an attribute or a relation, its first and last token (inclusive), and the tag of its head word."""

    text: str
    start: int
    last: int
    tag: str


class Sentence:
    """A sentence of T tokens as parallel lists: words, Penn tags, dependency labels, heads, and character offsets.

    A root is its own head. A phrasal preposition is represented by its first token, whose word is the written form;
    ``lasts`` is the last token of each phrase. Repairs edit the lists. After the last repair, :meth:`index_children`
    fills ``children``.
    """

    def __init__(self, doc: Doc, skip: int = 0) -> None:
        tokens = list(doc)[skip:]
        offset = tokens[0].idx if tokens else 0
        self.words = [token.text for token in tokens]
        self.tags = [token.tag_ for token in tokens]
        self.deps = [token.dep_ for token in tokens]
        self.heads = [
            index if token.head.i < skip else token.head.i - skip
            for index, token in enumerate(tokens)
        ]
        self.starts = [token.idx - offset for token in tokens]
        self.ends = [token.idx - offset + len(token) for token in tokens]
        self.lasts = list(range(len(tokens)))
        self.children: list[list[int]] = [[] for _ in tokens]
        for index, tag in enumerate(self.tags):
            if tag in {"IN", "RB"}:
                self.words[index] = SPELLINGS.get(self.words[index], self.words[index])
        for phrase in find_phrasal_prepositions(self.words):
            self._merge(phrase)

    def __len__(self) -> int:
        return len(self.words)

    def _merge(self, phrase: Phrase) -> None:
        first = phrase.start
        inside = range(phrase.start, phrase.end)
        outside = [self.heads[i] for i in inside if self.heads[i] not in inside]
        for index, head in enumerate(self.heads):
            if head in inside:
                self.heads[index] = first
        self.heads[first] = first
        governor = next((index for index in outside if not self._is_below(index, first)), first)
        for index in inside:
            self.deps[index] = MERGED
        self.heads[first] = governor
        self.deps[first] = "prep"
        self.tags[first] = "IN"
        self.words[first] = phrase.text
        self.lasts[first] = phrase.end - 1

    def _is_below(self, index: int, ancestor: int) -> bool:
        """Return True if a token is the ancestor or one of its descendants."""
        while index != ancestor and self.heads[index] != index:
            index = self.heads[index]
        return index == ancestor

    # Repairs

    def near_children(self, index: int) -> list[int]:
        """Return the children of a token in the current tree that are at most :data:`_REACH` tokens away."""
        near = range(max(0, index - _REACH), min(len(self), index + _REACH + 1))
        return [child for child in near if self.heads[child] == index and child != index]

    def near_deps(self, index: int) -> set[str]:
        """Return the dependency labels of the near children of a token."""
        return {self.deps[child] for child in self.near_children(index)}

    def left_edge(self, noun: int) -> int:
        """Return the first of the consecutive children directly before a noun."""
        edge = noun
        while edge and self.heads[edge - 1] == noun:
            edge -= 1
        return edge

    def attach(self, index: int, head: int, dep: str) -> None:
        """Attach a token to a head with a label, unless this would create a cycle."""
        if index == head or not self._is_below(head, index):
            self.heads[index] = head
            self.deps[index] = dep

    def move(self, head: int, indices: Iterable[int]) -> None:
        """Attach tokens to a head and keep their labels."""
        for index in indices:
            self.attach(index, head, self.deps[index])

    def replace(self, old: int, new: int) -> None:
        """Attach ``new`` to the head of ``old``, with the label of ``old``."""
        self.attach(new, new if self.heads[old] == old else self.heads[old], self.deps[old])

    def index_children(self) -> None:
        """Fill ``children`` after the last repair. Merged tokens are omitted."""
        for index, head in enumerate(self.heads):
            if head == index:
                self.deps[index] = "ROOT"
            elif self.deps[index] != MERGED:
                self.children[head].append(index)

    # Queries

    def children_by(self, index: int, *deps: str) -> list[int]:
        """Return the children of a token that have one of the labels, from left to right."""
        return [child for child in self.children[index] if self.deps[child] in deps]

    def make_span(self, text: str, start: int, last: int | None = None) -> Span:
        """Return the span of one token, or of the tokens up to ``last``, with the tag of its first token."""
        return Span(text, start, start if last is None else last, self.tags[start])

    def is_noun(self, index: int) -> bool:
        return self.tags[index].startswith("NN")

    def is_verb(self, index: int) -> bool:
        return self.tags[index].startswith("VB")

    def is_in(self, index: int, name: str) -> bool:
        """Return True if the word of a token is in a list of lexicon.yaml."""
        return self.words[index] in WORDS[name]

    def any_in(self, indices: Iterable[int], name: str) -> bool:
        """Return True if the word of one of the tokens is in a list of lexicon.yaml."""
        return any(self.is_in(index, name) for index in indices)

    def is_negated(self, index: int) -> bool:
        """Return True if a negation word is a child of the token or directly precedes it."""
        before = index - 1
        while (
            before >= 0
            and self.tags[before] in {"DT", "RB", "PRP$"}
            and not self.is_in(before, "negations")
        ):
            before -= 1
        return self.any_in(self.children[index], "negations") or (
            before >= 0 and self.is_in(before, "negations")
        )
