"""Import published benchmarks as datasets with the same schema and tasks as the generated datasets.

identify.py recognises the files; the module of the benchmark (loaders/benchmarks/) reads them row by row. This module
repairs the rows if requested, finds their images, which the rows reference, and writes a dataset folder named after the
benchmark.
For each file, the card and stats.json list the numbers of rows that were read, dropped and repaired, and the flaws.

Without repair, the rows are exactly as published, so that scores can be compared with published scores. There is one
exception: negatives that the file stores as a Python set, which has no fixed order, are sorted.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.storage.atomic import atomic_folder
from generators.storage.dataset import write_split
from loaders.audit import FLAW_NAMES, Audit, audit
from loaders.cards.card import render, write_card
from loaders.datasets.stats import measure, split_name
from loaders.importing.identify import PublishedFile, identify
from loaders.importing.images import ImageFinder, allow_folder, make_dataset_row
from loaders.importing.repair import repair as repair_row
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row


@dataclass
class ImportedFile:
    """Row counts of one imported file."""

    family: str
    file: str
    sha256: str
    repair: bool
    read: int = 0
    """Number of all rows, usable or not. A caption with several types of negatives counts once per type."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of dropped rows by reason."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Number of changed texts by kind of repair."""
    audits: dict[str, Audit] = field(default_factory=dict)
    """Flaws of the readable rows as published, by ``config/split``."""
    written: dict[str, int] = field(default_factory=dict)
    """Number of written rows by ``config/split``."""
    unordered: dict[str, int] = field(default_factory=dict)
    """Number of written rows whose negatives are a set in the file, by ``config/split``."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "audits": {split: audit.to_json() for split, audit in self.audits.items()}}


SplitRows = dict[PublishedFile, list[Row]]
"""The rows of a split by file."""


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file.

    Raises ValueError if the file is not recognised or no row is usable.
    """
    return read_rows(identify(path), repair=repair)


def read_rows(file: PublishedFile, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file. Raises ValueError if no row is usable."""
    path, benchmark = file.path, file.benchmark
    counts = ImportedFile(benchmark.name, file.label, file.sha256, repair)
    published: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for row in benchmark.read(path, file.name):
        counts.read += 1
        if isinstance(row, Row):
            published.setdefault(f"{row.config}/{row.split}", []).append(row)
            row = repair_row(row, counts.repaired) if repair else row
        if isinstance(row, Row):
            rows.append(row)
        else:
            counts.dropped[row.reason] += 1
    if not rows:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items()) or "it is empty"
        raise ValueError(f"{path}: none of its {counts.read:,} rows is usable ({reasons}).")
    with_negatives = {split: rows for split, rows in published.items() if any(row.hard_negatives for row in rows)}
    counts.audits = {split: audit(row.texts() for row in split_rows) for split, split_rows in with_negatives.items()}
    return counts, rows


def import_files(
    files: Sequence[Path], image_folder: Path, output: Path, *, repair: bool = False, skip_missing: bool = False
) -> list[ImportedFile]:
    """Recognise published files and write their datasets with the images in ``image_folder``.

    See :func:`import_published`. Raises FileNotFoundError if there is no such folder.
    """
    if not image_folder.is_dir():
        raise FileNotFoundError(f"{image_folder}: no such image folder.")
    published = [identify(path) for path in dict.fromkeys(files)]
    return import_published(published, image_folder, output, repair=repair, skip_missing=skip_missing)


def import_published(
    files: Sequence[PublishedFile],
    image_folder: Path | None,
    output: Path,
    *,
    repair: bool = False,
    skip_missing: bool = False,
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per benchmark in ``output``. Returns the counts of each file.

    Images are searched in ``image_folder`` and among the shared images in ``output``. Splits that were imported before
    stay, unless one of the files replaces them. All inputs are checked before anything is written. Raises
    FileNotFoundError if an image is missing, unless ``skip_missing`` drops its rows. Raises ValueError if two files
    contain the same split.
    """
    imported: list[ImportedFile] = []
    splits: dict[tuple[str, str, str], SplitRows] = {}
    images = ImageFinder(output, image_folder)
    for file in files:
        counts, rows = read_rows(file, repair=repair)
        if skip_missing:
            complete = [row for row in rows if None not in find_images(row, file, images)]
            counts.dropped["image missing"] = len(rows) - len(complete)
            rows = complete
        for image_set, names in list_images(file, rows).items():
            images.require(image_set, names)
        for row in rows:
            by_file = splits.setdefault((counts.family, row.config, row.split), {})
            first = next(
                (other for other in by_file if other.name == file.name or not file.benchmark.split_files), file
            )
            if first != file:
                raise ValueError(f"{file.path} and {first.path} are both {row.config}/{row.split} of {counts.family}.")
            by_file.setdefault(file, []).append(row)
        imported.append(counts)
    output.mkdir(parents=True, exist_ok=True)
    if image_folder is not None:
        allow_folder(image_folder, output)
    for benchmark in {file.benchmark.name: file.benchmark for file in files}.values():
        own_counts = [counts for counts in imported if counts.family == benchmark.name]
        own_splits = {key[1:]: value for key, value in splits.items() if key[0] == benchmark.name}
        _write(benchmark, own_counts, own_splits, images, output)
    return imported


def compare_counts(benchmark: Benchmark, imported: Sequence[ImportedFile]) -> list[str]:
    """Return a message for each declared config whose number of written rows differs."""
    counts = Counter[str]()
    for file in imported:
        for split, rows in file.written.items():
            counts[split] += rows
            counts[split.partition("/")[0]] += rows
    return [
        f"{benchmark.name}/{config}: {counts[config]:,} rows written, {expected:,} expected."
        for config, expected in benchmark.rows.items()
        if counts[config] != expected
    ]


def list_images(file: PublishedFile, rows: Iterable[Row]) -> dict[ImageSet, list[str]]:
    """Return the names of the distinct images of rows, by their source."""
    names: dict[ImageSet, dict[str, None]] = {}
    for row in rows:
        names.setdefault(row.image_set or file.images, {}).update(dict.fromkeys(row.images))
    return {image_set: list(set_names) for image_set, set_names in names.items()}


def find_images(row: Row, file: PublishedFile, images: ImageFinder) -> list[Path | None]:
    return [images.find(row.image_set or file.images, name) for name in row.images]


def _write(
    benchmark: Benchmark,
    imported: Sequence[ImportedFile],
    splits: Mapping[tuple[str, str], SplitRows],
    images: ImageFinder,
    output: Path,
) -> None:
    """Write the splits and then the card. Fills in the counts of written rows."""
    folder = output / benchmark.name
    by_name = {counts.file: counts for counts in imported}
    configs: dict[str, dict[str, Iterator[dict[str, Any]]]] = {}
    for (config, split), by_file in splits.items():
        configs.setdefault(config, {})[split] = _dataset_rows(by_file, images)
        for file, rows in by_file.items():
            counts = by_name[file.label]
            counts.written[f"{config}/{split}"] = len(rows)
            counts.unordered[f"{config}/{split}"] = sum(row.unordered for row in rows)
    for config, by_split in configs.items():
        schema = benchmark.find_schema(config)
        storage = "by_reference" if "x" in schema.names else "embedded"
        with atomic_folder(folder / config) as scratch:
            for path in (folder / config).glob("*.parquet"):
                if split_name(path) not in by_split:
                    shutil.copy2(path, scratch)
            for split, rows in by_split.items():
                write_split(scratch, split, rows, schema, storage)
    entries = _read_earlier_imports(folder, {f"{config}/{split}" for config, split in splits})
    entries |= {counts.file: counts.to_json() for counts in imported}
    stats = measure(folder) | {"imported": dict(sorted(entries.items()))}
    metadata = {
        "pretty_name": benchmark.title,
        "license": benchmark.licence_id,
        "language": ["en"],
        "tags": ["compositionality", "vision-language", "imported"],
    }
    write_card(folder, metadata, render("published", benchmark=benchmark, stats=stats, flaws=FLAW_NAMES), stats)


def _read_earlier_imports(folder: Path, replaced: set[str]) -> dict[str, Any]:
    """Return the counts of the files that were imported before and whose splits are not replaced now."""
    path = folder / "stats.json"
    known = json.loads(path.read_text())["imported"] if path.is_file() else {}
    return {file: entry for file, entry in known.items() if replaced.isdisjoint(entry["written"])}


def _dataset_rows(by_file: SplitRows, images: ImageFinder) -> Iterator[dict[str, Any]]:
    for file, row in ((file, row) for file, rows in by_file.items() for row in rows):
        paths = [path for path in find_images(row, file, images) if path is not None]
        source = (row.image_set or file.images).name
        provenance = {"source": source, "captioner": "published", "seed": 0}
        yield make_dataset_row(row, paths, file.benchmark.find_schema(row.config), provenance, images.output)
