"""Tokenise captions into lower-case words, with contractions and hyphenated negations expanded ("isn't": "is not")."""

from __future__ import annotations

import re
from typing import NamedTuple

from compeval.evaluators.validity.oracle.lexicon import HYPHENATED

_TOKEN = re.compile(r"[a-z0-9]+(?:['’-][a-z0-9]+)*|[.,;!?]|\S")
_SENTENCE_ENDS = frozenset(".;!?")
_CONTRACTED_NOT = re.compile(r"^(is|are|was|were|does|do|did|has|have)n['’]t$")
_CONTRACTED_IS = re.compile(r"^(there|it|that|which|who)['’](s|re)$")
_NEGATED = re.compile(r"^(?:not|non)-(.+)$")
_COLORED = re.compile(r"^(.+)-colou?red$")


class Word(NamedTuple):
    """One word in lower case and its offset in the caption, in characters."""

    text: str
    offset: int


def _expand(text: str) -> tuple[str, ...]:
    if text == "cannot":
        return "can", "not"
    if match := _CONTRACTED_NOT.match(text):
        return match[1], "not"
    if match := _CONTRACTED_IS.match(text):
        return match[1], {"s": "is", "re": "are"}[match[2]]
    if match := _NEGATED.match(text):
        return "not", match[1]
    if match := _COLORED.match(text):
        return (match[1],)
    return (text,)


def split_sentences(caption: str) -> list[tuple[Word, ...]]:
    """Split a caption into sentences without their final punctuation. Drops the last sentence if it is empty."""
    words: list[list[Word]] = [[]]
    for match in _TOKEN.finditer(caption.lower()):
        if match[0] in _SENTENCE_ENDS:
            words.append([])
            continue
        for text in _expand(match[0]):
            sentence = words[-1]
            if sentence and (hyphenated := HYPHENATED.get((sentence[-1].text, text))):
                sentence[-1] = Word(hyphenated, sentence[-1].offset)
            else:
                sentence.append(Word(text, match.start()))
    return [tuple(sentence) for sentence in (words if words[-1] else words[:-1])]
