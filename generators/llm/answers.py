"""Parse a language model's answer into a list of short texts.

Models were asked for a list of strings, but they add code fences, numbers, bullets, typographic quotes, apologies and
other prose. No part of an answer is executed as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compeval.base.texts import normalize_text

MAX_LENGTH = 20_000
"""Number of characters of an answer that are read."""
MAX_WORDS = 25
"""A line without a number or bullet is an item if it has at most this many words; longer lines are prose."""

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": "'"}
)
_APOSTROPHE = "\N{MODIFIER LETTER APOSTROPHE}"
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_ITEM = re.compile(r"^\s*(?:\(?\d{1,2}[.):]|[-*•–])\s+(.+)$", re.MULTILINE)
_QUOTED = re.compile(r'"([^"\n]{3,})"')


def read_list(answer: str) -> list[str]:
    """Return the distinct items of the list in an answer, without quotes, numbers and bullets.

    Returns [] if there is no list; never raises an error.
    """
    text = normalize_text(answer[:MAX_LENGTH]).translate(_QUOTES)
    fenced = _FENCE.search(text)
    body = fenced[1] if fenced else text
    for find_items in (_find_bracketed, _ITEM.findall, _find_quoted, _find_lines):
        if items := [
            cleaned
            for item in find_items(body)
            if (cleaned := " ".join(item.split()).strip(" \"',*_"))
        ]:
            return list(dict.fromkeys(items))
    return []


def _find_bracketed(text: str) -> list[str]:
    """Return the strings of the first list in brackets; its items can be strings or objects with one string."""
    from json_repair import loads

    start = text.find("[")
    end = text.rfind("]")
    if start < 0 or not re.search(r"[\"']", text[start:]):
        return []
    segment = text[start : end + 1] if end > start else text[start:]
    try:  # protect the apostrophe of "cat's", which does not end a string
        items = loads(re.sub(r"(?<=\w)'(?=\w)", _APOSTROPHE, segment))
    except (ValueError, TypeError, RecursionError):
        return []
    return [item.replace(_APOSTROPHE, "'") for item in _find_strings(items)]


def _find_strings(items: object) -> Iterator[str]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and len(item) == 1:
            yield from (text for text in item.values() if isinstance(text, str))


def _find_quoted(text: str) -> list[str]:
    """Return the quoted texts in prose if there are at least two."""
    quoted = _QUOTED.findall(text)
    return quoted if len(quoted) > 1 else []


def _find_lines(text: str) -> list[str]:
    """Return the lines if there are at least two and all are short; skip lines that end with a colon."""
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    return lines if len(lines) > 1 and all(len(line.split()) <= MAX_WORDS for line in lines) else []
