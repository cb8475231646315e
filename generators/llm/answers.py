"""Lists of short texts in a language model's answer, however it dressed them.

Asked for a list of strings, models add fences, numbers, bullets, smart quotes, apologies and prose. Nothing of an
answer is ever evaluated: ``ast.literal_eval`` reads literals only.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

MOST_LETTERS = 20_000
"""Of an answer that are read: a list of captions is far shorter."""
LONGEST_LINE = 25
"""Words of a bare line that may be an item: what is longer is prose."""

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": "'"})
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_ITEM = re.compile(r"^\s*(?:\(?\d{1,2}[.):]|[-*•–])\s+(.+)$")
_TOUCHING = re.compile(r"""(?<=[^\s\[\\])(["'])\s+\1(?=\S)""")
"""The end of a string and the start of the next without a comma between: Python would join them."""
_QUOTED = re.compile(r'"([^"\n]{3,})"')


def read_list(answer: str) -> list[str]:
    """The distinct items of the list in an answer, in order, without quotes, numbers and bullets; empty without a list.

    Never raises.
    """
    text = answer[:MOST_LETTERS].translate(_QUOTES)
    fenced = _FENCE.search(text)
    body = fenced[1] if fenced else text
    for read in (_literal, _numbered, _quoted, _lines):
        if items := [cleaned for item in read(body) if (cleaned := _clean(item))]:
            return list(dict.fromkeys(items))
    return []


def _clean(item: str) -> str:
    """One line without what surrounds the text."""
    return " ".join(item.split()).strip(" \"',*_")


def _literal(text: str) -> list[str]:
    """The items of the first bracketed list, well-formed or not."""
    start = text.find("[")
    if start < 0 or not re.search(r"[\"']", text[start:]):
        return []
    end = text.rfind("]")
    segment = text[start : end + 1] if end > start else text[start:]
    apart = _TOUCHING.sub(r"\1, \1", segment)
    for parse in (json.loads, ast.literal_eval, _split, _repaired):
        if items := list(_strings(_attempt(parse, apart))):
            return items
    return []


def _attempt(parse: Callable[[str], Any], text: str) -> Any:
    try:
        with warnings.catch_warnings():  # of odd escapes in literals
            warnings.simplefilter("ignore")
            return parse(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _split(segment: str) -> list[str]:
    """The items of a closed list of quoted strings with quotes inside them: "['The dog's bowl', 'A bowl']"."""
    if not segment.endswith("]"):
        return []
    inner = segment[1:-1].strip().rstrip(",").strip()
    if len(inner) < 2 or inner[0] not in "\"'" or inner[-1] not in "\"'":
        return []
    return re.split(r"""["']\s*,\s*["']""", inner[1:-1])


def _repaired(segment: str) -> Any:
    """What a list is that was cut short, or that lacks a comma or a quote."""
    from json_repair import loads

    return loads(segment)


def _strings(value: Any) -> Iterator[str]:
    """The strings of a list, also of a list of objects with one string each."""
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, str):
                yield item
            elif isinstance(item, dict) and len(item) == 1:
                yield from (text for text in item.values() if isinstance(text, str))


def _numbered(text: str) -> list[str]:
    """The lines with a number or a bullet."""
    return [match[1] for line in text.splitlines() if (match := _ITEM.match(line))]


def _quoted(text: str) -> list[str]:
    """Two or more quoted texts in prose."""
    found = _QUOTED.findall(text)
    return found if len(found) > 1 else []


def _lines(text: str) -> list[str]:
    """Two or more bare lines, unless they are paragraphs; a line that announces others is none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    return lines if len(lines) > 1 and all(len(line.split()) <= LONGEST_LINE for line in lines) else []
