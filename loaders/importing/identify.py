"""Recognise published files by their names, their SHA-256 or their content.

A file whose name belongs to one benchmark is not read. If several benchmarks use the name, or none does, the SHA-256 of
the pinned files decides, and then the first rows (``Benchmark.recognise``). A damaged file belongs to the first
benchmark that uses its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any

from loaders import benchmarks
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet
from loaders.published.rows import read_csv, read_json
from loaders.published.tables import read_sample

SAMPLE_ROWS = 200


@dataclass(frozen=True)
class PublishedFile:
    """A file of a published benchmark."""

    path: Path
    benchmark: Benchmark = field(compare=False)
    name: str
    """Its published name, which may differ from the name of ``path``."""
    known_sha256: str | None = field(default=None, compare=False)
    """SHA-256, if it was needed to recognise the file."""

    @cached_property
    def sha256(self) -> str:
        return self.known_sha256 or hash_file(self.path)

    @property
    def label(self) -> str:
        """The end of its path that distinguishes it from other files of the benchmark."""
        return "/".join(self.path.absolute().parts[-len(PurePosixPath(self.name).parts) :])

    @property
    def images(self) -> ImageSet:
        """The source of its images."""
        return self.benchmark.find_images(self.name)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identify(path: Path) -> PublishedFile:
    """Return the benchmark of a published file and its published name.

    Raises FileNotFoundError if there is no such file, and ValueError if it is a folder or is not recognised.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name its files, for example {path}/*.json.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    named = list(_find_by_name(path))
    if len(named) == 1:
        return named[0]
    digest = hash_file(path)
    if found := next(chain(_find_by_hash(path, digest), _find_by_content(path), named), None):
        return replace(found, known_sha256=digest)
    raise ValueError(
        f"{path}: not recognised as a published file, neither by its name nor by its content. Give it its published "
        f"name. Known benchmarks: {', '.join(benchmarks.list_names())}."
    )


def _find_by_name(path: Path) -> Iterator[PublishedFile]:
    for benchmark in benchmarks.load_all():
        if pattern := benchmark.find_pattern(PurePosixPath(path.absolute())):
            depth = len(PurePosixPath(pattern).parts)
            yield PublishedFile(path, benchmark, "/".join(path.absolute().parts[-depth:]))


def _find_by_hash(path: Path, sha256: str) -> Iterator[PublishedFile]:
    pinned = {
        file.sha256: (benchmark, file.name) for benchmark in benchmarks.load_all() for file in benchmark.downloads
    }
    found = pinned.get(sha256)
    if found and found[0].find_pattern(PurePosixPath(found[1])):
        yield PublishedFile(path, *found)


def _find_by_content(path: Path) -> Iterator[PublishedFile]:
    try:
        items = _read_sample(path)
    except ValueError:
        return
    for benchmark in benchmarks.load_all():
        name = benchmark.recognise(path.name, items)
        if name and benchmark.find_pattern(PurePosixPath(name)):
            yield PublishedFile(path, benchmark, name)


def _read_sample(path: Path) -> list[Any]:
    if path.suffix in (".parquet", ".arrow"):
        return read_sample(path, SAMPLE_ROWS)
    if path.suffix in (".csv", ".tsv"):
        return list(islice(read_csv(path, (), "\t" if path.suffix == ".tsv" else ","), SAMPLE_ROWS))
    return read_json(path)[:SAMPLE_ROWS] if path.suffix == ".json" else []
