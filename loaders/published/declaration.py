"""The declaration of a published benchmark: its files, images, licence, rows and sizes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from compeval.base.sources import DataSource
from compeval.loaders.published.columns import Columns
from compeval.loaders.published.image_sets import ImageSet
from compeval.loaders.published.rows import (
    Row,
    Unusable,
    get_fields,
    is_table,
    read_each,
    read_items,
)

T = TypeVar("T")


class Flaw(NamedTuple):
    """A known flaw of the published rows."""

    rows: str
    """The rows that have it: a config, a count or row numbers."""
    what: str
    source: str
    """Who reported or counted it."""


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
    """Rows of each config, or of each ``config/split`` if a config has several splits, in the published files. A
    pattern stands for all configs that it matches together."""
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
        return self._make_rows(
            read_items(path, name, self.required_fields, self.find_images(name).columns), name
        )

    def _make_rows(self, items: Iterable[Any], name: str) -> Iterator[Row | Unusable]:
        make_row = self.columns.make_row if self.columns else self.make_row
        assert make_row is not None, self.name
        if self.items_per_row > 1:
            items = zip_longest(*[iter(items)] * self.items_per_row)
        return read_each(items, lambda item: make_row(item, name))

    def recognise(self, path: Path, items: list[Any], *, is_named: bool = False) -> str | None:
        """Return the published name of a file with another or an ambiguous name, given its first items.

        ``is_named`` is True if the user says that the file is of this benchmark. Returns None if the items are not of
        this benchmark, or if several published names are possible.
        """
        if any(path.match(companion) for companion in self.companions):
            return None
        if self.recognise_file and (name := self.recognise_file(path.name, items)):
            return name
        return self._choose_name(path, is_named=is_named) if self.has_items(items) else None

    def has_items(self, items: list[Any]) -> bool:
        """Return True if the first items of a file have the fields of this benchmark, or can be read as its rows."""
        if self.required_fields:
            return get_fields(items) >= {*self.required_fields}
        if self.make_row is None or not items:
            return False
        name = next(pattern for pattern in self.files if "*" not in PurePosixPath(pattern).name)
        rows = list(self._make_rows(items, name))
        return 2 * sum(isinstance(row, Row) for row in rows) > len(rows)

    def _choose_name(self, path: Path, *, is_named: bool) -> str | None:
        """Return the published name of a file of this benchmark: its own, or the one with the most words in it, or the
        only one of this kind of file, unless it is a training file."""
        if pattern := self.find_pattern(PurePosixPath(path.absolute())):
            return "/".join(path.absolute().parts[-len(PurePosixPath(pattern).parts) :])
        has_images = path.suffix in (".parquet", ".arrow")
        names = [
            pattern
            for pattern in self.files
            if PurePosixPath(pattern).suffix == path.suffix and (has_images or "*" not in pattern)
        ]
        words = _split_words(path.name)
        matching = _find_names(names, words) or _find_names(
            names, words | _split_words(f"{path.parent.name}.")
        )
        if (
            not matching
            and len(names) == 1
            and (is_named or "train" not in words - _split_words(names[0]))
        ):
            matching = names
        return matching[0].replace("*", path.stem) if len(matching) == 1 else None

    def describe_items(self, suffix: str) -> str:
        """Return what an item of a file with this suffix needs to have, for messages."""
        if self.item:
            return self.item
        return f"the {'columns' if is_table(suffix) else 'keys'} {', '.join(dict.fromkeys(self.required_fields))}"

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
        if any(images.archives and not images.url for images in sets) and not any(
            images.url for images in sets
        ):
            sizes = [file.size for images in sets for file in images.archives]
            if None not in sizes:
                return sum(size or 0 for size in sizes)
        count = self.image_count or sum(self.rows.values())
        estimate = count * max(images.bytes_per_image for images in sets)
        limits = [DataSource("", files=images.archives).size for images in sets]
        return estimate if None in limits else min(estimate, sum(limit or 0 for limit in limits))


def _split_words(name: str) -> set[str]:
    """Return the words and numbers of a file name without its suffix."""
    return set(re.findall(r"[a-z]+|\d+", name.lower().rpartition(".")[0]))


def _find_names(names: Iterable[str], words: set[str]) -> list[str]:
    """Return the names all of whose words are among ``words``, and of these the ones with the most words."""
    matching = [name for name in names if _split_words(name) <= words]
    most = max((len(_split_words(name)) for name in matching), default=0)
    return [name for name in matching if len(_split_words(name)) == most]


def _find(by_pattern: Mapping[str, T], config: str) -> T | None:
    return next(
        (value for pattern, value in by_pattern.items() if fnmatchcase(config, pattern)), None
    )
