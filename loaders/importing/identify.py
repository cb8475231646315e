"""Recognise published files by their names, their SHA-256 or their content.

A file whose name belongs to one benchmark is not read. If several benchmarks use the name, or none does, the SHA-256 of
the pinned files decides, and then the first rows (``Benchmark.recognise``). A damaged file belongs to the first
benchmark that uses its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from generators.files.hashes import hash_file
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

    @cached_property
    def images(self) -> ImageSet:
        """The source of its images."""
        return self.benchmark.find_images(self.name)


def identify(path: Path) -> PublishedFile:
    """Return the benchmark of a published file and its published name.

    Raises FileNotFoundError if there is no such file, and ValueError if it is a folder or is not recognised.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name its files, for example {path}/*.json.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    declared = benchmarks.load_all()
    named = [
        PublishedFile(path, benchmark, "/".join(path.absolute().parts[-len(PurePosixPath(pattern).parts) :]))
        for benchmark in declared
        if (pattern := benchmark.find_pattern(PurePosixPath(path.absolute())))
    ]
    if len(named) == 1:
        return named[0]
    digest = hash_file(path)
    pinned = [(item, file.name) for item in declared for file in item.source.files if file.sha256 == digest]
    for benchmark, name in chain(pinned, _find_by_content(path, declared)):
        if benchmark.find_pattern(PurePosixPath(name)):
            return PublishedFile(path, benchmark, name, digest)
    if named:
        return replace(named[0], known_sha256=digest)
    raise ValueError(
        f"{path}: not recognised as a published file, neither by its name nor by its content. Give it its published "
        f"name. Known benchmarks: {', '.join(benchmarks.list_names())}."
    )


def _find_by_content(path: Path, declared: Iterable[Benchmark]) -> Iterator[tuple[Benchmark, str]]:
    """Yield the benchmarks that recognise the first items of a file; first the one that needs the most fields."""
    try:
        if path.suffix in (".parquet", ".arrow"):
            items = read_sample(path, SAMPLE_ROWS)
        elif path.suffix in (".csv", ".tsv"):
            items = list(islice(read_csv(path, ()), SAMPLE_ROWS))
        else:
            items = read_json(path)[:SAMPLE_ROWS] if path.suffix == ".json" else []
    except ValueError:
        return
    for benchmark in sorted(declared, key=lambda item: len(item.required_fields), reverse=True):
        if name := benchmark.recognise(path.name, items):
            yield benchmark, name
