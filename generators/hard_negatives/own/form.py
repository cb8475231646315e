"""The form of a caption: its capitals and its final mark. Foils are written in lower case and get the same form."""

import re
from collections.abc import Mapping
from typing import NamedTuple

FINAL_MARK = re.compile(r"(?:\s*[.!…])+\s*$")
SENTENCE = re.compile(r"(?<=\. )[a-z]")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
MIN_TITLE = 0.6
"""A caption is written like a title if at least this share of its longer words begin with a capital."""
LONG = 4
"""Letters of a word that a title writes with a capital."""


class Form(NamedTuple):
    """The capitals and the final mark of a caption. Its body begins in lower case and has no final mark."""

    is_capitalised: bool
    final_mark: str
    is_upper: bool = False

    def write(self, body: str, original: str = "") -> str:
        """Return a body in this form. Each sentence of a capitalised caption begins with a capital.

        Words of ``original``, the body of the caption, keep their capitals; in a title, other words get one.
        """
        body = restore_capitals(body, original)
        if self.is_capitalised:
            body = body[:1].upper() + SENTENCE.sub(lambda match: match[0].upper(), body[1:])
        return (body.upper() if self.is_upper else body) + self.final_mark


def restore_capitals(text: str, original: str) -> str:
    """Return a text with the capitals that its words have in the original."""
    written: Mapping[str, str] = {word.lower(): word for word in WORD.findall(original)}
    long_words = [word for word in WORD.findall(original)[1:] if len(word) >= LONG]
    capitals = sum(word[0].isupper() for word in long_words)
    is_title = len(long_words) > 1 and capitals >= MIN_TITLE * len(long_words)

    def restore(match: re.Match[str]) -> str:
        word = match[0]
        if word.lower() in written:
            return written[word.lower()]
        return word[:1].upper() + word[1:] if is_title and len(word) >= LONG else word

    return WORD.sub(restore, text)


def split_form(caption: str, *, begins_with_name: bool) -> tuple[Form, str]:
    """Return the form of a caption and its body. A name, "I" and words with more capitals keep their capital."""
    mark = FINAL_MARK.search(caption)
    body, final_mark = (caption[: mark.start()], mark[0]) if mark else (caption, "")
    if body.isupper():
        return Form(False, final_mark, is_upper=True), body.lower()
    first = body.split(maxsplit=1)[0] if body.strip() else ""
    is_capitalised = (
        first[:1].isupper() and not begins_with_name and (first == "A" or first[1:].islower())
    )
    return Form(is_capitalised, final_mark), body[0].lower() + body[1:] if is_capitalised else body
