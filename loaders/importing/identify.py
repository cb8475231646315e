"""Recognise published files by their names, their SHA-256 or their content.

A file whose name belongs to one benchmark is not read. If several benchmarks use the name, or none does, the SHA-256 of
the pinned files decides, and then the first rows (``Benchmark.recognise``). If the user names the benchmark, only the
published name of the file is searched for. A damaged file belongs to the first benchmark that uses its name, of those
whose files have no known fields if there are any.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.base.files.hashes import hash_file
from compeval.loaders import benchmarks
from compeval.loaders.published import Benchmark, ImageSet
from compeval.loaders.published.rows import is_table, read_items
from compeval.loaders.published.tables import read_sample

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


def identify(path: Path, benchmark: Benchmark | None = None) -> PublishedFile:
    """Return the benchmark of a published file and its published name. ``benchmark`` is given if the user names it.

    Raises FileNotFoundError if there is no such file, and ValueError if it is a folder or is not recognised.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name its files, for example {path}/*.json.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    declared = benchmarks.load_all() if benchmark is None else [benchmark]
    named = [
        PublishedFile(
            path, benchmark, "/".join(path.absolute().parts[-len(PurePosixPath(pattern).parts) :])
        )
        for benchmark in declared
        if (pattern := benchmark.find_pattern(PurePosixPath(path.absolute())))
    ]
    if len(named) == 1:
        return named[0]
    digest = hash_file(path)
    pinned = [
        (item, file.name)
        for item in declared
        for file in item.source.files
        if file.sha256 == digest
    ]
    items, problem = _read_sample(path)
    for found, name in chain(
        pinned, _find_by_content(path, items, declared, is_named=benchmark is not None)
    ):
        if found.find_pattern(PurePosixPath(name)):
            return PublishedFile(path, found, name, digest)
    if named:
        first = next((file for file in named if not file.benchmark.required_fields), named[0])
        return replace(first, known_sha256=digest)
    if benchmark:
        raise ValueError(_explain(path, items, problem, benchmark))
    possible = [item.name for item in declared if item.has_items(items)]
    raise ValueError(
        f"{path}: not recognised as a published file, neither by its name nor by its content{problem}. It has "
        f"{describe(path, items)}{f', like the files of {possible[0]}' if possible else ''}. Give it its published "
        f"name, or name the benchmark: `compeval import {possible[0] if possible else 'NAME'} {path}`. Captions of "
        f"your own become a dataset with `compeval make NAME {path} --images FOLDER`. Known "
        f"benchmarks: {', '.join(benchmarks.list_names())}."
    )


def _explain(path: Path, items: list[Any], problem: str, benchmark: Benchmark) -> str:
    """Say why a file is not one of the benchmark that the user named: its rows are others, or its name is needed."""
    found = f"Expected {benchmark.describe_items(path.suffix)}; it has {describe(path, items)}."
    if problem or (
        (benchmark.required_fields or benchmark.make_row) and not benchmark.has_items(items)
    ):
        return f"{path}: not a file of {benchmark.name}{problem}. {found}"
    return (
        f"{path}: its content does not say which file of {benchmark.name} it is. {found} Give it one of these "
        f"names, or one with the words of one of them: {', '.join(benchmark.files)}."
    )


def describe(path: Path, items: list[Any]) -> str:
    """Return what the first item of a file is, for messages."""
    if not items:
        return "no items that can be read"
    if isinstance(items[0], dict):
        return f"the {'columns' if is_table(path.suffix) else 'keys'} {', '.join(map(str, items[0]))[:300]}"
    text = repr(items[0])
    return f"items like {text[:150]}{'...' if len(text) > 150 else ''}"


def _read_sample(path: Path) -> tuple[list[Any], str]:
    """Return the first items of a file, and why they cannot be read, or ""."""
    try:
        if path.suffix in (".parquet", ".arrow"):
            return read_sample(path, SAMPLE_ROWS), ""
        is_text = path.suffix in (".csv", ".tsv", ".jsonl", ".json")
        return list(islice(read_items(path, path.name, ()), SAMPLE_ROWS)) if is_text else [], ""
    except ValueError as error:
        return [], f" ({str(error).removeprefix(f'{path}: ').rstrip('.')})"


def _find_by_content(
    path: Path, items: list[Any], declared: Iterable[Benchmark], *, is_named: bool
) -> Iterator[tuple[Benchmark, str]]:
    """Yield the benchmarks that recognise the first items of a file; first those with a function for it, and then the
    one that needs the most fields."""
    for benchmark in sorted(
        declared, key=lambda item: (item.recognise_file is None, -len(item.required_fields))
    ):
        if name := benchmark.recognise(path, items, is_named=is_named):
            yield benchmark, name
