"""Captions as lower-case words, with contractions and hyphenated negations written out."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"[a-z0-9]+(?:['’-][a-z0-9]+)*|[.,;!?]|\S")
_SENTENCE_ENDS = frozenset(".;!?")
_CONTRACTED_NOT = re.compile(r"^(is|are|was|were|does|do|did|has|have)n['’]t$")
_CONTRACTED_IS = re.compile(r"^(there|it|that|which|who)['’](s|re)$")
_NEGATED = re.compile(r"^(?:not|non)-(.+)$")
_COLORED = re.compile(r"^(.+)-colou?red$")
_JOINED = {
    ("polka", "dotted"): "polka-dotted",
    ("polka", "dot"): "polka-dot",
    ("polka", "dots"): "polka-dots",
    ("t", "shirt"): "t-shirt",
    ("t", "shirts"): "t-shirts",
    ("tee", "shirt"): "tee-shirt",
    ("medium", "sized"): "medium-sized",
    ("motor", "vehicle"): "motor-vehicle",
}


class Word(NamedTuple):
    """One word in lower case and its offset in the caption, in characters."""

    text: str
    offset: int


def _spelled_out(text: str) -> tuple[str, ...]:
    if text.isalnum():
        return ("can", "not") if text == "cannot" else (text,)
    if match := _CONTRACTED_NOT.match(text):
        return match[1], "not"
    if match := _CONTRACTED_IS.match(text):
        return match[1], {"s": "is", "re": "are"}[match[2]]
    if match := _NEGATED.match(text):
        return "not", match[1]
    if match := _COLORED.match(text):
        return (match[1],)
    return (text,)


def sentences(caption: str) -> list[tuple[Word, ...]]:
    """The caption's sentences, without their end marks; an empty one between two marks is kept, the last is not."""
    found: list[list[Word]] = [[]]
    for match in _TOKEN.finditer(caption.lower()):
        if match[0] in _SENTENCE_ENDS:
            found.append([])
            continue
        for text in _spelled_out(match[0]):
            last = found[-1]
            joined = _JOINED.get((last[-1].text, text)) if last else None
            if joined:
                last[-1] = Word(joined, last[-1].offset)
            else:
                last.append(Word(text, match.start()))
    return [tuple(words) for words in (found if found[-1] else found[:-1])]
