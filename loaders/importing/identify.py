"""Recognise published files by their names, their SHA-256 or their content.

A file whose name belongs to one benchmark is not read. If several benchmarks use the name, or none does, the SHA-256 of
the pinned files decides, and then the first rows (``_recognise``). If the user names the benchmark, only the
published name of the file is searched for. A damaged file belongs to the first benchmark that uses its name, of those
whose files have no known fields if there are any.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.base.files.hashes import hash_file
from compeval.base.files.listing import list_files
from compeval.loaders import benchmarks
from compeval.loaders.published import Benchmark, ImageSet, Row
from compeval.loaders.published.rows import get_fields, is_table, read_items
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
    candidates = benchmarks.load_all() if benchmark is None else [benchmark]

    # By its name, if only one benchmark has a file of this name.
    named = [
        PublishedFile(path, candidate, name)
        for candidate in candidates
        if (name := _find_published_name(path, candidate))
    ]
    if len(named) == 1:
        return named[0]

    # By its SHA-256.
    digest = hash_file(path)
    for candidate in candidates:
        for file in candidate.source.files:
            if file.sha256 == digest and candidate.find_pattern(PurePosixPath(file.name)):
                return PublishedFile(path, candidate, file.name, digest)

    # By its first items: benchmarks with a function for it come first, then those that need the most fields.
    items, problem = _read_sample(path)
    for candidate in sorted(
        candidates, key=lambda item: (item.recognise_file is None, -len(item.required_fields))
    ):
        name = _recognise(path, items, candidate, is_named=benchmark is not None)
        if name and candidate.find_pattern(PurePosixPath(name)):
            return PublishedFile(path, candidate, name, digest)

    # A damaged file has a name, but no items.
    if named:
        first = next((file for file in named if not file.benchmark.required_fields), named[0])
        return replace(first, known_sha256=digest)
    if benchmark:
        raise ValueError(_explain(path, items, problem, benchmark))
    similar = next((item.name for item in candidates if has_items(item, items)), None)
    raise ValueError(
        f"{path}: not recognised as a published file, neither by its name nor by its content{problem}. It has "
        f"{describe(path, items)}{f', like the files of {similar}' if similar else ''}. Give it its published "
        f"name, or name the benchmark: `compeval import {similar or 'NAME'} {path}`. Captions of "
        f"your own become a dataset with `compeval make NAME {path} --images FOLDER`. Known "
        f"benchmarks: {', '.join(benchmarks.list_names())}."
    )


def find_files(benchmark: Benchmark, folder: Path) -> list[PublishedFile]:
    """Return the files of a benchmark in a folder that have their published names."""
    files: list[PublishedFile] = []
    for path in list_files(folder, "**/*"):
        relative = PurePosixPath(path.relative_to(folder))
        if pattern := benchmark.find_pattern(relative):
            name = "/".join(relative.parts[-len(PurePosixPath(pattern).parts) :])
            files.append(PublishedFile(path, benchmark, name))
    return files


def _find_published_name(path: Path, benchmark: Benchmark) -> str | None:
    """Return the end of a path that is the name of a file of a benchmark, or None."""
    absolute = path.absolute()
    pattern = benchmark.find_pattern(PurePosixPath(absolute))
    return "/".join(absolute.parts[-len(PurePosixPath(pattern).parts) :]) if pattern else None


def _recognise(path: Path, items: list[Any], benchmark: Benchmark, *, is_named: bool) -> str | None:
    """Return the published name of a file with another or an ambiguous name, given its first items.

    ``is_named`` is True if the user says that the file is of this benchmark. Returns None if the items are not of this
    benchmark, or if several published names are possible.
    """
    if any(path.match(companion) for companion in benchmark.companions):
        return None
    if benchmark.recognise_file and (name := benchmark.recognise_file(path.name, items)):
        return name
    return _choose_name(path, benchmark, is_named=is_named) if has_items(benchmark, items) else None


def has_items(benchmark: Benchmark, items: list[Any]) -> bool:
    """Return True if the first items of a file have the fields of a benchmark, or can be read as its rows."""
    if benchmark.required_fields:
        return get_fields(items) >= {*benchmark.required_fields}
    if benchmark.make_row is None or not items:
        return False
    name = next(pattern for pattern in benchmark.files if "*" not in PurePosixPath(pattern).name)
    rows = list(benchmark.make_rows(items, name))
    return 2 * sum(isinstance(row, Row) for row in rows) > len(rows)


def _choose_name(path: Path, benchmark: Benchmark, *, is_named: bool) -> str | None:
    """Return the published name of a file of a benchmark: its own, or the one with the most words in it, or the only
    one of this kind of file, unless it is a training file."""
    if name := _find_published_name(path, benchmark):
        return name
    has_images = path.suffix in (".parquet", ".arrow")
    names = [
        pattern
        for pattern in benchmark.files
        if PurePosixPath(pattern).suffix == path.suffix and (has_images or "*" not in pattern)
    ]
    words = _split_words(path.name)
    matching = _find_names(names, words)
    if not matching:
        matching = _find_names(names, words | _split_words(f"{path.parent.name}."))
    if not matching and len(names) == 1:
        is_training_file = "train" in words - _split_words(names[0])
        if is_named or not is_training_file:
            matching = names
    return matching[0].replace("*", path.stem) if len(matching) == 1 else None


def _split_words(name: str) -> set[str]:
    """Return the words and numbers of a file name without its suffix."""
    return set(re.findall(r"[a-z]+|\d+", name.lower().rpartition(".")[0]))


def _find_names(names: Iterable[str], words: set[str]) -> list[str]:
    """Return the names all of whose words are among ``words``, and of these the ones with the most words."""
    matching = [name for name in names if _split_words(name) <= words]
    most = max((len(_split_words(name)) for name in matching), default=0)
    return [name for name in matching if len(_split_words(name)) == most]


def _explain(path: Path, items: list[Any], problem: str, benchmark: Benchmark) -> str:
    """Return why a file is not one of the benchmark that the user named: its rows are others, or its name is needed."""
    contrast = (
        f"Expected {describe_expected(benchmark, path.suffix)}; it has {describe(path, items)}."
    )
    can_check = bool(benchmark.required_fields or benchmark.make_row)
    if problem or (can_check and not has_items(benchmark, items)):
        return f"{path}: not a file of {benchmark.name}{problem}. {contrast}"
    return (
        f"{path}: its content does not say which file of {benchmark.name} it is. {contrast} Give it one of these "
        f"names, or one with the words of one of them: {', '.join(benchmark.files)}."
    )


def describe_expected(benchmark: Benchmark, suffix: str) -> str:
    """Return what an item of a benchmark's file with this suffix needs to have, for messages."""
    if benchmark.item:
        return benchmark.item
    kind = "columns" if is_table(suffix) else "keys"
    return f"the {kind} {', '.join(dict.fromkeys(benchmark.required_fields))}"


def describe(path: Path, items: list[Any]) -> str:
    """Return what the first item of a file has, for messages."""
    if not items:
        return "no items that can be read"
    if isinstance(items[0], dict):
        kind = "columns" if is_table(path.suffix) else "keys"
        return f"the {kind} {', '.join(map(str, items[0]))[:300]}"
    text = repr(items[0])
    return f"items like {text[:150]}{'...' if len(text) > 150 else ''}"


def _read_sample(path: Path) -> tuple[list[Any], str]:
    """Return the first items of a file, and why they cannot be read, or ""."""
    try:
        if path.suffix in (".parquet", ".arrow"):
            return read_sample(path, SAMPLE_ROWS), ""
        if path.suffix in (".csv", ".tsv", ".jsonl", ".json"):
            return list(islice(read_items(path, path.name, ()), SAMPLE_ROWS)), ""
        return [], ""
    except ValueError as error:
        return [], f" ({str(error).removeprefix(f'{path}: ').rstrip('.')})"
