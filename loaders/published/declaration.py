"""The declaration of a published benchmark: its files, images, licence, reader and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from generators.sources import DataSource, RemoteFile
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable


class Flaw(NamedTuple):
    """A known flaw of the published rows."""

    rows: str
    """Which rows: a config, a count or row numbers."""
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


@dataclass(frozen=True)
class AuthorsRule:
    """The authors' scoring rule, if it differs from ours. Its metrics are ``authors_accuracy``, or
    ``authors_<name>_accuracy`` for a hit with a name.
    """

    what: str
    """How it differs, in one line."""
    hits: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    """Function that computes the hits, (N,) or (N, decisions), by name from scores (N, I, T), with the images and texts
    in the order of the schema. One name may be empty."""
    chance: Mapping[str, float]
    """Chance level by name."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A published benchmark."""

    name: str = ""
    """Name of the module, filled in by :func:`loaders.benchmarks.load`."""
    title: str
    asks: str
    """The question that a model has to answer, in one line."""
    year: int
    paper: str
    homepage: str
    licence: str
    """Licence of texts and images, as its publisher states it."""
    licence_id: str
    """Licence of the dataset folder, which contains no images: the identifier on the Hugging Face Hub."""
    files: Mapping[str, ImageSet]
    """Source of the images by file name or pattern, such as ``swap_obj.json`` or ``vg/*.json``."""
    downloads: tuple[RemoteFile, ...] = ()
    """The pinned files, named as in ``files``. A file without a known SHA-256 is recorded in sources.lock."""
    how: str | None = None
    """Instructions, if the files have to be downloaded manually."""
    read: Callable[[Path, str], Iterator[Row | Unusable]]
    """Function that yields the rows of one file in order, given its path and its published name.

    Raises ValueError if the file has an unexpected format."""
    recognise: Callable[[str, list[Any]], str | None] = lambda name, items: None
    """Function that returns the published name of a file with another or an ambiguous name, given this name and its
    first rows; None if they are not of this benchmark."""
    schema: pa.Schema
    other_schemas: Mapping[str, pa.Schema] = field(default_factory=dict)
    """Schema by config or pattern, for configs that have another one."""
    rows: Mapping[str, int]
    """Rows of each config, or of each ``config/split`` if a config has several splits, in the published files."""
    image_count: int | None = None
    """Number of distinct images. None: not counted, at most one per row."""
    chance: Mapping[str, float]
    """Chance level of the main metric by config or pattern. The first pattern that matches counts."""
    split_files: bool = False
    """True if several files contain one split."""
    companions: tuple[str, ...] = ()
    """Pinned files that are read with another file."""
    authors: Mapping[str, AuthorsRule] = field(default_factory=dict)
    """The authors' scoring rule by config or pattern, if it differs from ours."""
    untested: bool = False
    """True if the reader follows the documented format and has not been tried on the published files."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """How texts differ from the published file, by config or pattern."""
    flaws: tuple[Flaw, ...] = ()
    scores: tuple[Score, ...] = ()
    """Published scores that are not in vl_compo's table (evaluators/results/scores.py), which has twelve benchmarks."""

    def find_pattern(self, path: PurePosixPath) -> str | None:
        """Return the pattern of ``files`` that the end of a path matches."""
        return next((pattern for pattern in self.files if path.match(pattern)), None)

    def find_images(self, name: str) -> ImageSet:
        """Return the source of the images of the published file ``name``."""
        pattern = self.find_pattern(PurePosixPath(name))
        assert pattern is not None, name
        return self.files[pattern]

    def find_chance(self, config: str) -> float:
        return next(chance for pattern, chance in self.chance.items() if fnmatchcase(config, pattern))

    def find_schema(self, config: str) -> pa.Schema:
        schemas = (schema for pattern, schema in self.other_schemas.items() if fnmatchcase(config, pattern))
        return next(schemas, self.schema)

    def list_changes(self, configs: Iterable[str]) -> dict[str, str]:
        """Return how the texts of some configs differ from the published files, by pattern."""
        names = list(configs)
        return {
            pattern: how for pattern, how in self.changes.items() if any(fnmatchcase(name, pattern) for name in names)
        }

    def find_authors_rule(self, config: str) -> AuthorsRule | None:
        """Return the authors' scoring rule of a config; None if they score as we do."""
        return next((rule for pattern, rule in self.authors.items() if fnmatchcase(config, pattern)), None)

    @property
    def image_bytes(self) -> int:
        """Size of the images in bytes, estimated from the mean size of an image."""
        sets = list(dict.fromkeys(self.files.values()))
        if any(images.archives and not images.url for images in sets) and not any(images.url for images in sets):
            return sum(file.size or 0 for images in sets for file in images.archives)
        count = self.image_count or sum(self.rows.values())
        return count * max(images.bytes_per_image for images in sets)

    @property
    def source(self) -> DataSource:
        """The pinned files as a source of ``compeval sources``."""
        return DataSource(self.name, self.title, self.homepage, self.licence, self.paper, self.downloads, self.how)


def github(
    repository: str, commit: str, files: Mapping[str, tuple[int, str]], folder: str = ""
) -> tuple[RemoteFile, ...]:
    """Return files of a repository at a full commit, given the bytes and SHA-256 of each path below ``folder``."""
    root = PurePosixPath(repository, commit, folder)
    return tuple(
        RemoteFile(f"https://raw.githubusercontent.com/{root / path}", path, None, size, sha256)
        for path, (size, sha256) in files.items()
    )


def huggingface(
    repository: str, revision: str, files: Mapping[str, tuple[int | None, str | None]]
) -> tuple[RemoteFile, ...]:
    """Return files of a dataset on the Hugging Face Hub, given the bytes and SHA-256 of each path, if they are known.

    Archives are unpacked; their name without suffix is the folder that they contain.
    """
    root = f"https://huggingface.co/datasets/{repository}/resolve/{revision}"
    return tuple(
        RemoteFile(f"{root}/{path}", path, path.removesuffix(".zip") if path.endswith(".zip") else None, size, sha256)
        for path, (size, sha256) in files.items()
    )


def google_drive(file_id: str, name: str, makes: str | None = None) -> RemoteFile:
    """Return a file on Google Drive, which states neither size nor SHA-256."""
    url = f"https://drive.usercontent.google.com/download?id={file_id}&export=download&confirm=t"
    return RemoteFile(url, name, makes, None, None)
