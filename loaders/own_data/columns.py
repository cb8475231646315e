"""The columns of a table of a user's own images and captions, and the texts in their cells."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compeval.base.texts import normalize_text
from compeval.loaders.published.rows import NOT_TEXTS, check_text, has_missing_comma, parse_texts

MISSING = frozenset({"nan", "NaN", "null", "None", "<NA>", "N/A", "n/a", "NA", "#N/A"})
"""Texts that programs write for a missing value."""
BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"))
NO_KIND = "none"
"""The kind of the rows whose cell is empty."""


class UserTexts(NamedTuple):
    """The texts of a row."""

    image: str
    captions: tuple[str, ...]
    negatives: tuple[str, ...]
    kind: str


class UserColumns(NamedTuple):
    """The names of the columns; "" and () are the standard names or no column."""

    image: str = ""
    """Default: ``image``."""
    caption: str = ""
    """A caption, or a list of captions. Default: ``captions`` or ``caption``."""
    negatives: tuple[str, ...] = ()
    """Hard negatives of the first caption, or lists of them. Default: ``hard_negatives``."""
    kind: str = ""
    """The kind of the row's negatives, by which results are reported."""

    def read(self, row: Mapping[str, Any]) -> UserTexts:
        """Return the texts of a row. Raises ValueError for a missing column or a cell without texts."""
        is_text = "text" in row and row.keys().isdisjoint(("caption", "captions"))
        caption = self.caption or ("text" if is_text else "")
        has_caption = bool(caption) or not row.keys().isdisjoint(("caption", "captions"))
        if "image" not in row and "file_name" in row and not self.image and has_caption:
            # Hugging Face's imagefolder has the column file_name, and usually text.
            return self._replace(image="file_name", caption=caption).read(row)
        names = (self.image, self.caption, *self.negatives, self.kind)
        missing = [name for name in dict.fromkeys(names) if name and name not in row]
        missing += ["image"] if not self.image and "image" not in row else []
        missing += (
            ["caption"]
            if not self.caption and row.keys().isdisjoint(("caption", "captions"))
            else []
        )
        if missing:
            raise ValueError(
                f"no column {', '.join(missing)}; its columns are {', '.join(map(str, row)) or 'none'}. Name them with "
                "--image-column, --caption-column, --negative-columns and --kind-column."
            )
        if not self.caption and row.get("caption") and row.get("captions"):
            raise ValueError(
                "both caption and captions have texts. Name one of them with --caption-column"
            )
        captions = row[self.caption] if self.caption else row.get("captions") or row.get("caption")
        cells = [row.get(name) for name in self.negatives or ("hard_negatives",)]
        negatives = tuple(
            text for cell in cells for text in read_texts([] if is_empty(cell) else cell)
        )
        kind = read_name(row[self.kind]) or NO_KIND if self.kind else ""
        image = row[self.image or "image"]
        name = image if isinstance(image, str) else read_name(image)
        return UserTexts(name, _read_captions(captions), negatives, kind)

    def find_unread(self, row: Mapping[str, Any]) -> list[str]:
        """Return the columns that are not read, but whose names look like those of hard negatives or captions."""
        read = {self.image or "image", self.caption or "caption", "captions", self.kind}
        read |= {*(self.negatives or ("hard_negatives",))}
        names = [str(name) for name in row if name not in read]
        return [
            name for name in names if re.search("neg|foil|distractor|caption", name, re.IGNORECASE)
        ]


def is_empty(cell: Any) -> bool:
    """Return True for a cell without a value: null, "", or NaN, as pandas writes it. 0 and false are values.

    Texts for a missing value ("nan") are in MISSING: which of them are meant depends on the column.
    """
    return cell is None or cell == "" or cell != cell


def read_name(cell: Any) -> str:
    """Return a cell with a name as a text, "" for an empty cell or a text for a missing value ("nan").

    Numbers and booleans are written as in JSON: a cell says the same in every kind of file.
    """
    if is_empty(cell):
        return ""
    text = (cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)).strip()
    return "" if text in MISSING else text


def _read_list(text: str) -> Sequence[str]:
    """Return the texts of a JSON or Python list, or of a text that is not in brackets the text itself.

    Raises ValueError for a list or an object of anything else.
    """
    cell = text.strip()
    if (cell[:1], cell[-1:]) not in BRACKETS:
        return [text]
    try:
        texts = parse_texts(cell)[0]
    except ValueError:
        if cell[0] == "[" or (cell[0] == "{" and ":" in cell):
            raise
        return [text]
    if has_missing_comma(cell):
        raise ValueError(f"{cell[:100]!r}: a comma is missing between two texts")
    return texts


def _read_captions(value: str | Sequence[str] | None) -> tuple[str, ...]:
    try:
        return read_texts(value)
    except ValueError as error:
        if isinstance(value, str) and NOT_TEXTS in str(error):
            raise ValueError(
                f"the caption {value[:100]!r} is in brackets, but is not a list of texts; write a list of one text"
            ) from None
        raise


def read_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the texts of a string, a list of strings, or a string that holds a list, in their normal form.

    Raises ValueError for anything else, and for an empty text.
    """
    if isinstance(value, str):
        value = _read_list(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError("texts are a string or a list of strings")
    texts: list[str] = []
    for cell in value:
        check_text(cell)
        text = normalize_text(cell).strip()
        if not text or text in MISSING:
            raise ValueError(
                f"a text is {text or 'empty'}; leave the cell empty if there is no text"
            )
        texts.append(text)
    return tuple(texts)
