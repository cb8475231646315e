"""The normal form of texts, and comparison of texts by their words.

Captions come in several spellings that look the same: é as one character or two, ``&amp;`` for &, and characters of no
width that web pages leave behind. Whatever reads captions, of a corpus, of annotations, of a model's answer or of a
user's own table, brings them into one form first (:func:`normalize_text`). Published benchmarks keep their texts, but
for the two spellings of é.

A word is a run of letters, digits and underscores; case is ignored.
"""

from __future__ import annotations

import html
import html.entities
import re
import unicodedata
from collections import Counter

WORD = re.compile(r"\w+")
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
"""An entity of HTML with its semicolon. Without it, "R&B" and "AT&T" would be candidates, too."""
AMPERSANDS = re.compile(r"&(?:(?:amp|#0*38|#x0*26);)+", re.IGNORECASE)
"""An ampersand that was escaped any number of times."""
MAX_ROUNDS = 4
SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces of other widths, and those at which no line may break."""
INVISIBLE = re.compile(
    r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    r"|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
"""Characters without width: soft hyphens, zero-width spaces, marks of direction and of byte order. A joiner counts
where a neighbour is a letter of ASCII or missing; between others, as in emojis and in Persian, it means something."""


def normalize_text(text: str) -> str:
    """Return the one form of a text: NFC, without HTML entities and invisible characters, and with plain spaces."""
    if text.isascii() and "&" not in text:
        return text
    for _ in range(MAX_ROUNDS):
        if (cleaned := _clean(text)) == text:
            break
        text = cleaned  # what was "&amp;lt;" is "&lt;" now
    return text


def _clean(text: str) -> str:
    text = ENTITY.sub(_unescape, AMPERSANDS.sub("&", text))
    return unicodedata.normalize("NFC", INVISIBLE.sub("", SPACES.sub(" ", text)))


def _unescape(entity: re.Match[str]) -> str:
    """Return the character of an entity. A name that HTML does not know stays: "&notebook;" is not "&not" and more."""
    if entity[0][1] == "#":
        return html.unescape(entity[0])
    return html.entities.html5.get(entity[0][1:], entity[0])


def compose_characters(text: str) -> str:
    """Return a text in which é is one character (NFC). All else stays."""
    return unicodedata.normalize("NFC", text)


def words(text: str) -> list[str]:
    """Return the words in order, in lower case."""
    return WORD.findall(text.lower())


def have_same_words(first: str, second: str) -> bool:
    """Return True if two texts have the same words with the same counts, in any order."""
    return Counter(words(normalize_text(first))) == Counter(words(normalize_text(second)))


def fold_case_and_space(text: str) -> str:
    """Return the normal form of a text in lower case with single spaces, for comparisons."""
    return " ".join(normalize_text(text).casefold().split())
