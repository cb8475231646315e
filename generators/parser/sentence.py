"""A caption's dependency tree as plain lists, its phrasal prepositions folded into one token each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.parser.lexicon import NEGATIONS
from generators.parser.phrases import ONE_FORM, Phrase, phrasal_prepositions
from generators.parser.repairs import REPAIRS

if TYPE_CHECKING:
    from spacy.tokens import Doc

FOLDED = "folded"
"""The dependency label of a token that is inside a phrasal preposition and not its first."""


class Sentence:
    """Parallel lists over T tokens: word, Penn tag, dependency label, head, children, and the characters they cover.

    A root is its own head. A phrasal preposition is its first token, its word the preposition's written form.
    """

    def __init__(self, doc: Doc, skip: int = 0) -> None:
        tokens = list(doc)[skip:]
        offset = tokens[0].idx if tokens else 0
        self.words = [token.text for token in tokens]
        self.tags = [token.tag_ for token in tokens]
        self.deps = [token.dep_ for token in tokens]
        self.heads = [index if token.head.i < skip else token.head.i - skip for index, token in enumerate(tokens)]
        self.starts = [token.idx - offset for token in tokens]
        self.ends = [token.idx - offset + len(token) for token in tokens]
        self.lasts = list(range(len(tokens)))
        for index, tag in enumerate(self.tags):
            if tag in {"IN", "RB"}:
                self.words[index] = ONE_FORM.get(self.words[index], self.words[index])
        for phrase in phrasal_prepositions(self.words):
            self._fold(phrase)
        for repair in REPAIRS:
            repair(self)
        self.kids: list[list[int]] = [[] for _ in tokens]
        for index, head in enumerate(self.heads):
            if head == index:
                self.deps[index] = "ROOT"
            elif self.deps[index] != FOLDED:
                self.kids[head].append(index)

    def __len__(self) -> int:
        return len(self.words)

    def _fold(self, phrase: Phrase) -> None:
        first, inside = phrase.start, range(phrase.start, phrase.end)
        outside = [self.heads[i] for i in inside if self.heads[i] not in inside]
        for index, head in enumerate(self.heads):
            if head in inside:
                self.heads[index] = first
        self.heads[first] = first
        governor = next((index for index in outside if not self.hangs_on(index, first)), first)
        for index in inside:
            self.deps[index] = FOLDED
        self.heads[first], self.deps[first], self.tags[first] = governor, "prep", "IN"
        self.words[first], self.lasts[first] = phrase.text, phrase.end - 1

    def hangs_on(self, index: int, ancestor: int) -> bool:
        """Whether a token is another or somewhere below it."""
        while index != ancestor and self.heads[index] != index:
            index = self.heads[index]
        return index == ancestor

    def kids_by(self, index: int, *deps: str) -> list[int]:
        """The children of a token that carry one of the labels, from left to right."""
        return [kid for kid in self.kids[index] if self.deps[kid] in deps]

    def is_verb(self, index: int) -> bool:
        return self.tags[index].startswith("VB")

    def negated(self, index: int) -> bool:
        """Whether "not", "no", "never" or the like belongs to the token or stands just before it."""
        if any(self.words[kid] in NEGATIONS for kid in self.kids[index]):
            return True
        before = index - 1
        while before >= 0 and self.tags[before] in {"DT", "RB", "PRP$"} and self.words[before] not in NEGATIONS:
            before -= 1
        return before >= 0 and self.words[before] in NEGATIONS
