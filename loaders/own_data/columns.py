"""The columns of a table of somebody's own images and captions, and the texts in their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from loaders.published.rows import check_text, parse_texts

MISSING = frozenset({"nan", "NaN", "null", "None", "<NA>"})
"""How programs write a missing value."""
NO_KIND = "none"
"""The kind of the rows whose cell is empty."""


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
        names = (self.image, self.caption, *self.negatives, self.kind)
        missing = [name for name in dict.fromkeys(names) if name and name not in row]
        missing += ["image"] if not self.image and "image" not in row else []
        missing += ["caption"] if not self.caption and row.keys().isdisjoint(("caption", "captions")) else []
        if missing:
            raise ValueError(
                f"no column {', '.join(missing)}; its columns are {', '.join(map(str, row)) or 'none'}. Name them with "
                "--image-column, --caption-column, --negative-columns and --kind-column."
            )
        captions = row[self.caption] if self.caption else row.get("captions") or row.get("caption")
        cells = [row.get(name) for name in self.negatives or ("hard_negatives",)]
        negatives = tuple(text for cell in cells for text in read_texts(cell or []))
        kind = (str(row[self.kind] or "").strip() or NO_KIND) if self.kind else ""
        return UserTexts(str(row[self.image or "image"]), read_texts(captions), negatives, kind)


class UserTexts(NamedTuple):
    """The texts of a row."""

    image: str
    captions: tuple[str, ...]
    negatives: tuple[str, ...]
    kind: str


def read_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the texts of a string, a list of strings, or a string that holds a list. Raises ValueError."""
    if isinstance(value, str):
        value = parse_texts(value)[0] if value.lstrip().startswith("[") else [value]
    if not isinstance(value, (list, tuple)):
        raise ValueError("texts are a string or a list of strings")
    for text in value:
        check_text(text)
        if not text.strip() or text.strip() in MISSING:
            raise ValueError(f"a text is {text.strip() or 'empty'}; leave the cell empty if there is none")
    return tuple(text.strip() for text in value)
