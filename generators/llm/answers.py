"""Lists of short texts in a language model's answer, in whatever format.

Models add code fences, numbers, bullets, typographic quotes, apologies and prose to a list of strings. No part of an
answer is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LENGTH = 20_000
"""Characters of an answer that are read."""
MAX_WORDS = 25
"""Words of an unmarked line that counts as an item; longer lines are prose."""

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": "'"})
_APOSTROPHE = "\N{MODIFIER LETTER APOSTROPHE}"
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_ITEM = re.compile(r"^\s*(?:\(?\d{1,2}[.):]|[-*•–])\s+(.+)$", re.MULTILINE)
_QUOTED = re.compile(r'"([^"\n]{3,})"')


def read_list(answer: str) -> list[str]:
    """Return the distinct items of the list in an answer, without quotes, numbers and bullets; [] if there is no list.

    Never raises.
    """
    text = answer[:MAX_LENGTH].translate(_QUOTES)
    fenced = _FENCE.search(text)
    body = fenced[1] if fenced else text
    for read in (_bracketed, _ITEM.findall, _quoted, _lines):
        if items := [cleaned for item in read(body) if (cleaned := " ".join(item.split()).strip(" \"',*_"))]:
            return list(dict.fromkeys(items))
    return []


def _bracketed(text: str) -> list[str]:
    """The strings of the first bracketed list, also of a list of objects with one string each."""
    from json_repair import loads

    start, end = text.find("["), text.rfind("]")
    if start < 0 or not re.search(r"[\"']", text[start:]):
        return []
    segment = text[start : end + 1] if end > start else text[start:]
    try:  # the apostrophe of "cat's" does not end a string
        items = loads(re.sub(r"(?<=\w)'(?=\w)", _APOSTROPHE, segment))
    except (ValueError, TypeError, RecursionError):
        return []
    return [item.replace(_APOSTROPHE, "'") for item in _strings(items)]


def _strings(items: object) -> Iterator[str]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and len(item) == 1:
            yield from (text for text in item.values() if isinstance(text, str))


def _quoted(text: str) -> list[str]:
    """Two or more quoted texts in prose."""
    quoted = _QUOTED.findall(text)
    return quoted if len(quoted) > 1 else []


def _lines(text: str) -> list[str]:
    """Two or more short lines; a line that ends with a colon introduces the others."""
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    return lines if len(lines) > 1 and all(len(line.split()) <= MAX_WORDS for line in lines) else []
