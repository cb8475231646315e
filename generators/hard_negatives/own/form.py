"""The form of a caption: its capitals and its final mark. Foils are written in lower case and get the same form."""

import re
from typing import NamedTuple

FINAL_MARK = re.compile(r"\s*[.!]\s*$")
SENTENCE = re.compile(r"(?<=\. )[a-z]")


class Form(NamedTuple):
    """What surrounds the body of a caption. The body begins in lower case and has no final mark."""

    is_capitalised: bool
    final_mark: str
    is_upper: bool = False

    def write(self, body: str) -> str:
        """Return a body in this form. Each sentence of a capitalised caption begins with a capital."""
        if self.is_capitalised:
            body = body[:1].upper() + SENTENCE.sub(lambda match: match[0].upper(), body[1:])
        return (body.upper() if self.is_upper else body) + self.final_mark


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
