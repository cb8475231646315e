"""The declaration of a published benchmark: its files, images, licence, rows and sizes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from compeval.base.sources import DataSource
from compeval.loaders.published.image_sets import ImageSet
from compeval.loaders.published.rows import Row, Unusable, read_each, read_items

LABELS = {0: 0, 1: 1, "0": 0, "1": 1, "no": 0, "yes": 1}
"""Labels in files: numbers, texts in tables, or the answers to questions."""
T = TypeVar("T")


class Flaw(NamedTuple):
    """A known flaw of the published rows."""

    rows: str
    """The rows that have it: a config, a count or row numbers."""
    what: str
    source: str
    """The people or paper that reported it, or "counted"."""


class Score(NamedTuple):
    """A published score."""

    model: str
    """Name as in ``compeval list models``."""
    config: str
    metric: str
    percent: float
    source: str


def hit_with_ties(score_NIT: np.ndarray) -> dict[str, np.ndarray]:
    """Return the hits (N) of an authors' rule that counts a tie of the truth as a hit."""
    return {"": score_NIT[:, 0, 0] >= score_NIT[:, 0, 1:].max(axis=1)}


@dataclass(frozen=True)
class AuthorsRule:
    """The authors' scoring rule, if it differs from ours. Its metrics are ``authors_accuracy``, or
    ``authors_<name>_accuracy`` for a hit with a name.
    """

    what: str
    """The difference from our rule, in one line."""
    hits: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    """Function that computes the hits, (N,) or (N, decisions), by name from scores (N, I, T), with the images and texts
    in the order of the schema. One name may be empty."""
    chance: Mapping[str, float]
    """Chance level by name."""


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
        """All columns, each once."""
        texts = [*self.images, *self.captions, *self.hard_negatives]
        if self.image_id:
            texts.append(self.image_id)
        if self.label:
            texts.append(self.label)
        for category_columns in self.categories.values():
            texts.extend(category_columns)
        names: list[str] = []
        for text in texts:
            names += _find_names(text) or [text]
        if isinstance(self.config, str):
            names += _find_names(self.config)
        return tuple(dict.fromkeys(names))

    def make_row(self, item: Mapping[str, Any], file: str) -> Row:
        """Return the row of an item of the published file ``file``. Raises ValueError if the label is not 0 or 1."""
        config, _, split = self._choose_config(file).partition("/")
        config = config.format_map(item)
        if self.label and item[self.label] not in LABELS:
            raise ValueError("the label is neither 0 nor 1")
        return Row(
            config,
            images=tuple(_fill(text, item) for text in self.images),
            captions=tuple(_fill(text, item) for text in self.captions),
            hard_negatives=tuple(_fill(text, item) for text in self.hard_negatives),
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


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A published benchmark: its pinned files, its licence, its rows and sizes, and what is known about it.

    Its rows are declared by ``columns``, or made one by one by ``make_row``, or else read by ``read_file``.
    """

    name: str = ""
    """Name of the module, filled in by :func:`compeval.loaders.benchmarks.load`."""
    description: str
    """The question that a model has to answer, in one line."""
    year: int
    licence_id: str
    """Licence of the dataset folder, which contains no images: the identifier on the Hugging Face Hub."""
    languages: tuple[str, ...] = ("en",)
    """Languages of the captions."""
    source: DataSource
    """Title, homepage, licence, citation and pinned files."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Usable rows of each config, or of each ``config/split`` if a config has several splits, in the published files:
    the rows that an import writes if no image is missing. A pattern stands for all configs that it matches together.
    """
    has_more_rows: bool = False
    """True if further configs are not counted."""
    unseen: str = ""
    """The part of the benchmark that was not available when its reader was written, or that is not read; "" if all
    is read. The reader of an unseen part follows the description and the code of the authors."""
    image_count: int | None = None
    """Number of distinct images. None: not counted, at most one per row."""
    flaws: tuple[Flaw, ...] = ()
    scores: tuple[Score, ...] = ()
    """Published scores that are not in the tables of many models (evaluators/results/scores.py)."""
    images: ImageSet | Mapping[str, ImageSet]
    """Source of the images of all pinned files, or by the names or patterns of files."""
    columns: Columns | None = None
    make_row: Callable[[Any, str], Row] | None = None
    """Function that makes a row from an item of a file, given the file's published name. May raise ValueError."""
    items_per_row: int = 1
    """Number of consecutive items that are one row. If it is not 1, ``make_row`` gets a tuple of them."""
    read_file: Callable[[Path, str], Iterator[Row | Unusable]] | None = None
    """Function that yields the rows of one file in order, given its path and its published name.

    Raises ValueError if the file has an unexpected format."""
    join: Callable[[Mapping[tuple[str, str], Sequence[Row]]], Iterator[Row]] | None = None
    """Function that yields the rows of further splits, which are made from several files or with other seeds, given the
    rows of all files that are imported together by config and split."""
    fields: tuple[str, ...] = ()
    """Fields that the items of all files need to have. By these fields, a file with another name is recognised."""
    item: str = ""
    """Description of an item of a file, for messages, if ``fields`` and ``columns`` do not say it."""
    recognise_file: Callable[[str, list[Any]], str | None] | None = None
    """Function that returns the published name of a file with another or an ambiguous name, given this name and its
    first rows; None if they are not of this benchmark."""
    schema: pa.Schema
    other_schemas: Mapping[str, pa.Schema] = field(default_factory=dict)
    """Schema by config or pattern, for configs that have another one."""
    chance: Mapping[str, float]
    """Chance level of the main metric by config or pattern. The first pattern that matches counts."""
    split_files: bool = False
    """True if several files contain one split."""
    companions: tuple[str, ...] = ()
    """Pinned files that are read with another file."""
    authors: Mapping[str, AuthorsRule] = field(default_factory=dict)
    """The authors' scoring rule by config or pattern, if it differs from ours."""
    tested: bool = False
    """True if the reader was run on the published files. Otherwise it follows the documented format."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """Differences of the texts from the published file, by config or pattern."""

    @property
    def row_count(self) -> str:
        """Number of rows of all counted configs, with "+" if there are more; "?" if none is counted."""
        count = sum(self.rows.values())
        return f"{count:,}{'+' if self.has_more_rows else ''}" if count else "?"

    @property
    def reader_state(self) -> str:
        """State of the reader: "tested" on published files, "not tested", or the part that was not."""
        if not self.tested:
            return f"not tested: {self.unseen}" if self.unseen else "not tested"
        return f"tested, except {self.unseen}" if self.unseen else "tested"

    @property
    def files(self) -> Mapping[str, ImageSet]:
        """Source of the images by file name or pattern."""
        if isinstance(self.images, Mapping):
            return self.images
        return dict.fromkeys((file.name for file in self.source.files), self.images)

    @property
    def required_fields(self) -> tuple[str, ...]:
        """Fields that a file's items need to have."""
        return self.columns.names if self.columns else self.fields

    def read(self, path: Path, name: str) -> Iterator[Row | Unusable]:
        """Yield the rows of one file in order, given its published name.

        Raises ValueError if the file has an unexpected format.
        """
        if self.read_file:
            return self.read_file(path, name)
        image_columns = self.find_images(name).columns
        return self.make_rows(read_items(path, name, self.required_fields, image_columns), name)

    def make_rows(self, items: Iterable[Any], name: str) -> Iterator[Row | Unusable]:
        """Yield the rows of the items of one file, given its published name."""
        make_row = self.columns.make_row if self.columns else self.make_row
        assert make_row is not None, self.name
        if self.items_per_row > 1:
            items = zip_longest(*[iter(items)] * self.items_per_row)
        return read_each(items, make_row, name)

    def find_pattern(self, path: PurePosixPath) -> str | None:
        """Return the pattern of ``files`` that the end of a path matches."""
        return next((pattern for pattern in self.files if path.match(pattern)), None)

    def find_images(self, name: str) -> ImageSet:
        """Return the source of the images of the published file ``name``."""
        pattern = self.find_pattern(PurePosixPath(name))
        assert pattern is not None, name
        return self.files[pattern]

    def find_chance(self, config: str) -> float:
        return next(
            chance for pattern, chance in self.chance.items() if fnmatchcase(config, pattern)
        )

    def find_schema(self, config: str) -> pa.Schema:
        return _find(self.other_schemas, config) or self.schema

    def find_authors_rule(self, config: str) -> AuthorsRule | None:
        """Return the authors' scoring rule of a config; None if they score as we do."""
        return _find(self.authors, config)

    @property
    def image_bytes(self) -> int:
        """Size of the images in bytes, estimated from the mean size of an image; at most that of all archives."""
        sets = list(dict.fromkeys(self.files.values()))
        sizes = [DataSource(files=images.archives).size for images in sets]
        # All images come in archives of known size.
        if not any(images.url for images in sets) and any(images.archives for images in sets):
            archive_sizes = [file.size for images in sets for file in images.archives]
            if None not in archive_sizes:
                return sum(size or 0 for size in archive_sizes)
        image_count = self.image_count or sum(self.rows.values())
        estimate = image_count * max(images.bytes_per_image for images in sets)
        return estimate if None in sizes else min(estimate, sum(size or 0 for size in sizes))

    @property
    def file_image_bytes(self) -> int:
        """Size of the images that the published files contain, estimated like ``image_bytes``."""
        sets = self.files.values()
        # An archive of a benchmark with separate images contains only its annotations.
        has_images_in_archives = any(file.makes for file in self.source.files) and not all(
            images.is_separate for images in sets
        )
        has_images_in_tables = any(images.columns for images in sets)
        return self.image_bytes if has_images_in_tables or has_images_in_archives else 0


def _find(by_pattern: Mapping[str, T], config: str) -> T | None:
    return next(
        (value for pattern, value in by_pattern.items() if fnmatchcase(config, pattern)), None
    )


def _name_category(value: Any) -> str:
    """Return the value of a category as a text, "none" for null and NaN."""
    return "none" if value is None or value != value else str(value)


def _find_names(text: str) -> list[str]:
    """Return the columns whose names are in braces."""
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _fill(text: str, item: Mapping[str, Any]) -> Any:
    """Return the value of the column ``text``, or a text in which the names in braces are replaced by the values."""
    return text.format_map(item) if "{" in text else item[text]
