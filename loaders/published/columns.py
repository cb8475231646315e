"""Rows of published files that are declared by the names of their columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import PurePosixPath
from string import Formatter
from typing import Any

from compeval.loaders.published.rows import Row

LABELS = {0: 0, 1: 1, "0": 0, "1": 1, "no": 0, "yes": 1}
"""Labels in files: numbers, texts in tables, or the answers to questions."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a published file each of whose items is a row. An item is an object of a JSON file, or a row of a
    table.

    A text with names in braces is filled with the values of these columns: ``{id}.jpg``.
    """

    images: tuple[str, ...]
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    image_id: str | None = None
    label: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns by kind of category. The values of several columns are joined by a space."""
    swaps: str = ""
    """Pattern of the configs whose negatives are meant to contain the caption's words in another order."""
    config: str | Mapping[str, str] | None = None
    """The config, or the config and the split (``main/train``), or one for each pattern of file names. By default the
    file's name in lower case: ``random/dev.jsonl``."""

    @property
    def names(self) -> tuple[str, ...]:
        optional = filter(None, (self.image_id, self.label))
        texts = (
            *self.images,
            *self.captions,
            *self.hard_negatives,
            *optional,
            *chain(*self.categories.values()),
        )
        config = self.config if isinstance(self.config, str) else ""
        return tuple(
            dict.fromkeys(
                [*chain(*(_find_names(text) or [text] for text in texts)), *_find_names(config)]
            )
        )

    def make_row(self, item: Mapping[str, Any], file: str) -> Row:
        """Return the row of an item of the published file ``file``. Raises ValueError if the label is not 0 or 1."""
        config, _, split = self._choose_config(file).partition("/")
        config = config.format_map(item)
        if self.label and item[self.label] not in LABELS:
            raise ValueError("the label is neither 0 nor 1")
        images, captions, hard_negatives = (
            tuple(_fill(text, item) for text in texts)
            for texts in (self.images, self.captions, self.hard_negatives)
        )
        return Row(
            config,
            images,
            captions,
            hard_negatives,
            image_id=str(_fill(self.image_id, item)) if self.image_id else "",
            split=split or "test",
            swaps=fnmatchcase(config, self.swaps),
            categories=tuple(
                (kind, " ".join(_name_category(item[name]) for name in names))
                for kind, names in self.categories.items()
            ),
            label=LABELS[item[self.label]] if self.label else None,
        )

    def _choose_config(self, file: str) -> str:
        if isinstance(self.config, Mapping):
            return next(
                config for pattern, config in self.config.items() if fnmatchcase(file, pattern)
            )
        return self.config or str(PurePosixPath(file).with_suffix("")).lower()


def _name_category(value: Any) -> str:
    """Return the value of a category as a text, "none" for null and NaN."""
    return "none" if value is None or value != value else str(value)


def _find_names(text: str) -> list[str]:
    """Return the columns whose names are in braces."""
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _fill(text: str, item: Mapping[str, Any]) -> Any:
    """Return the value of the column ``text``, or a text in which the names in braces are replaced by the values."""
    return text.format_map(item) if "{" in text else item[text]
