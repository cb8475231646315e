"""Import published benchmarks as datasets with the same schema and tasks as the generated datasets.

identify.py recognises the files; the module of the benchmark (loaders/benchmarks/) reads them row by row. This module
repairs the rows if requested, keeps them in temporary files (spool.py), finds their images, which the rows reference,
and writes a dataset folder named after the benchmark. A file is read once, and its rows are never all in memory.
For each file, the card and stats.json list the numbers of rows that were read, dropped and repaired, and the flaws.

Without repair, the rows are exactly as published, so that scores can be compared with published scores. There is one
exception: negatives that the file stores as a Python set, which has no fixed order, are sorted.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from generators.files.atomic import atomic_folder
from generators.storage.dataset import write_split
from loaders.audit import FLAW_NAMES, Audit, audit
from loaders.cards.card import render, write_card
from loaders.datasets.stats import measure, split_name
from loaders.importing.embedded import ProgressCallback, extract_images
from loaders.importing.identify import PublishedFile, identify
from loaders.importing.images import ImageFinder, allow_folder, make_dataset_row, measure_outside
from loaders.importing.repair import repair as repair_row
from loaders.importing.spool import RowSpool
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable


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
    cut: int = 0
    """Number of rows whose box is partly outside its image. The crop is black there."""
    changed: int = 0
    """Number of readable rows whose caption differs from the published one."""
    unordered: dict[str, int] = field(default_factory=dict)
    """Number of written rows whose negatives are a set in the file, by ``config/split``."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "audits": {split: audit.to_json() for split, audit in self.audits.items()}}


@dataclass
class ReadFile:
    """The rows of a published file, kept in temporary files."""

    file: PublishedFile
    counts: ImportedFile
    splits: dict[tuple[str, str], RowSpool]
    """Usable rows by config and split."""

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.splits.values())

    def list_images(self) -> dict[ImageSet, list[str]]:
        """Return the names of the distinct images of the rows, by their source."""
        names: dict[ImageSet, dict[str, None]] = {}
        for row in self:
            names.setdefault(row.image_set or self.file.images, {}).update(dict.fromkeys(row.images))
        return {image_set: list(set_names) for image_set, set_names in names.items()}


def read_published(file: PublishedFile, *, repair: bool = False) -> ReadFile:
    """Read a published file once, row by row. Raises ValueError if no row is usable."""
    path, benchmark = file.path, file.benchmark
    counts = ImportedFile(benchmark.name, file.label, file.sha256, repair)
    published: defaultdict[tuple[str, str], RowSpool] = defaultdict(RowSpool)
    repaired: defaultdict[tuple[str, str], RowSpool] = defaultdict(RowSpool)
    with_negatives: set[tuple[str, str]] = set()
    for row in benchmark.read(path, file.name):
        counts.read += 1
        if isinstance(row, Row) and not all(caption.strip() for caption in row.captions):
            row = Unusable("a caption is empty")
        if isinstance(row, Row):
            published[row.config, row.split].append(row)
            counts.changed += row.changed
            with_negatives |= {(row.config, row.split)} if row.hard_negatives else set()
            row = repair_row(row, counts.repaired) if repair else row
        if not isinstance(row, Row):
            counts.dropped[row.reason] += 1
        elif repair:
            repaired[row.config, row.split].append(row)
    splits = repaired if repair else published
    if not splits:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items()) or "it is empty"
        raise ValueError(f"{path}: none of its {counts.read:,} rows is usable ({reasons}).")
    counts.audits = {
        f"{config}/{split}": audit(row.texts() for row in rows)
        for (config, split), rows in published.items()
        if (config, split) in with_negatives
    }
    return ReadFile(file, counts, dict(splits))


def read_all(
    files: Iterable[PublishedFile],
    output: Path,
    *,
    repair: bool = False,
    skip_missing: bool = False,
    report: ProgressCallback = lambda done: None,
) -> list[ReadFile]:
    """Read published files, and write the images that they contain below the data folder ``output``.

    Raises ValueError if a file cannot be read, no row is usable, or a contained image is not readable, unless
    ``skip_missing`` will drop its rows.
    """
    read = [read_published(file, repair=repair) for file in files]
    for file in (part.file for part in read if part.file.images.columns):
        unreadable = extract_images(file, output, report)
        if unreadable and not skip_missing:
            name, reason = next(iter(unreadable.items()))
            raise ValueError(
                f"{file.path}: {len(unreadable):,} of the images in it cannot be read; the first is {name} ({reason}). "
                "Download the file again, or drop their rows with --skip-missing."
            )
    return read


def import_files(
    files: Sequence[Path], image_folder: Path | None, output: Path, *, repair: bool = False, skip_missing: bool = False
) -> list[ImportedFile]:
    """Recognise published files and write their datasets with the images in ``image_folder``.

    None: the files contain their images, or ``output`` has them. See :func:`import_published`. Raises FileNotFoundError
    if there is no such folder.
    """
    if image_folder is not None and not image_folder.is_dir():
        raise FileNotFoundError(f"{image_folder}: no such image folder.")
    published = [identify(path) for path in dict.fromkeys(files)]
    read = read_all(published, output, repair=repair, skip_missing=skip_missing)
    return import_published(read, image_folder, output, skip_missing=skip_missing)


def import_published(
    files: Sequence[ReadFile], image_folder: Path | None, output: Path, *, skip_missing: bool = False
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per benchmark in ``output``. Returns the counts of each file.

    Images are searched in ``image_folder`` and among the shared images in ``output``. Splits that were imported before
    stay, unless the files replace them. All inputs are checked before a dataset is written. Raises FileNotFoundError if
    an image is missing, unless ``skip_missing`` drops its rows. Raises ValueError if two files contain the same split
    of a benchmark that keeps each split in one file.
    """
    splits = _group_by_split(files)
    images = ImageFinder(output, image_folder)
    for read in files:
        if skip_missing:
            _drop_incomplete(read, images)
        else:
            for image_set, names in read.list_images().items():
                images.require(image_set, names)
        _drop_boxes_outside(read, images)
    output.mkdir(parents=True, exist_ok=True)
    if image_folder is not None:
        allow_folder(image_folder, output)
    for benchmark in {read.file.benchmark.name: read.file.benchmark for read in files}.values():
        own_splits = {
            key[1:]: parts
            for key, files_of_split in splits.items()
            if key[0] == benchmark.name and (parts := [read for read in files_of_split if key[1:] in read.splits])
        }
        _write(
            benchmark,
            [read for read in files if read.file.benchmark.name == benchmark.name],
            own_splits,
            images,
            output,
        )
    return [read.counts for read in files]


def _drop_incomplete(read: ReadFile, images: ImageFinder) -> None:
    """Count the rows without all images, and drop splits that consist of such rows. Writing skips these rows."""
    for key, rows in [*read.splits.items()]:
        complete = sum(1 for _ in _find_complete(read.file, rows, images))
        read.counts.dropped["image missing"] += len(rows) - complete
        if not complete:
            del read.splits[key]


def _drop_boxes_outside(read: ReadFile, images: ImageFinder) -> None:
    """Drop the rows whose box is outside its image, and count those whose box is partly outside.

    Raises ValueError if a split has no other rows.
    """
    for (config, split), rows in [*read.splits.items()]:
        if next(iter(rows)).box is None:
            continue
        inside = RowSpool()
        for row, (path, *_) in _find_complete(read.file, rows, images):
            share = measure_outside(row.box, path) if row.box else 0.0
            read.counts.cut += 0 < share < 1
            if share < 1:
                inside.append(row)
            else:
                read.counts.dropped["the box is outside the image"] += 1
        if not len(inside):
            raise ValueError(
                f"{read.file.path}: all boxes of {config}/{split} are outside their images, which must have another "
                "size than those that were annotated. Use the original images."
            )
        read.splits[config, split] = inside


def _group_by_split(files: Iterable[ReadFile]) -> dict[tuple[str, str, str], list[ReadFile]]:
    """Return the files of each benchmark, config and split. Raises ValueError for files with the same rows."""
    splits: dict[tuple[str, str, str], list[ReadFile]] = {}
    for read in files:
        for config, split in read.splits:
            parts = splits.setdefault((read.file.benchmark.name, config, split), [])
            allowed = read.file.benchmark.split_files
            first = next((part.file for part in parts if part.file.name == read.file.name or not allowed), None)
            if first:
                raise ValueError(
                    f"{read.file.path} and {first.path} are both {config}/{split} of {read.file.benchmark.name}."
                )
            parts.append(read)
    return splits


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


def find_images(row: Row, file: PublishedFile, images: ImageFinder) -> list[Path | None]:
    return [images.find(row.image_set or file.images, name) for name in row.images]


def _find_complete(file: PublishedFile, rows: Iterable[Row], images: ImageFinder) -> Iterator[tuple[Row, list[Path]]]:
    """Yield each row whose images are all there, with their paths."""
    for row in rows:
        paths = [path for path in find_images(row, file, images) if path is not None]
        if len(paths) == len(row.images):
            yield row, paths


def _write(
    benchmark: Benchmark,
    files: Sequence[ReadFile],
    splits: Mapping[tuple[str, str], Sequence[ReadFile]],
    images: ImageFinder,
    output: Path,
) -> None:
    """Write the splits and then the card. Fills in the counts of written rows."""
    folder = output / benchmark.name
    for config in dict.fromkeys(config for config, _ in splits):
        schema = benchmark.find_schema(config)
        storage = "by_reference" if "x" in schema.names else "embedded"
        by_split = {split: parts for (name, split), parts in splits.items() if name == config}
        with atomic_folder(folder / config) as scratch:
            for path in (folder / config).glob("*.parquet"):
                if split_name(path) not in by_split:
                    shutil.copy2(path, scratch)
            for split, parts in by_split.items():
                rows = chain.from_iterable(_dataset_rows(part, config, split, images) for part in parts)
                write_split(scratch, split, rows, schema, storage)
    entries = _read_earlier_imports(folder, {f"{config}/{split}" for config, split in splits})
    entries |= {read.counts.file: read.counts.to_json() for read in files}
    stats = measure(folder) | {"imported": dict(sorted(entries.items()))}
    metadata = {
        "pretty_name": benchmark.title,
        "license": benchmark.licence_id,
        "language": ["en"],
        "tags": ["compositionality", "vision-language", "imported"],
    }
    changes = benchmark.list_changes(stats["rows"])
    content = render("published", benchmark=benchmark, stats=stats, flaws=FLAW_NAMES, changes=changes)
    write_card(folder, metadata, content, stats)


def _read_earlier_imports(folder: Path, replaced: set[str]) -> dict[str, Any]:
    """Return the counts of the files that were imported before and whose splits are not replaced now."""
    path = folder / "stats.json"
    known = json.loads(path.read_text())["imported"] if path.is_file() else {}
    return {file: entry for file, entry in known.items() if replaced.isdisjoint(entry["written"])}


def _dataset_rows(read: ReadFile, config: str, split: str, images: ImageFinder) -> Iterator[dict[str, Any]]:
    """Yield the dataset rows of one split of a file, and count them."""
    name, schema = f"{config}/{split}", read.file.benchmark.find_schema(config)
    read.counts.written[name] = read.counts.unordered[name] = 0
    for row, paths in _find_complete(read.file, read.splits[config, split], images):
        read.counts.written[name] += 1
        read.counts.unordered[name] += row.unordered
        provenance = {"source": (row.image_set or read.file.images).name, "captioner": "published", "seed": 0}
        yield make_dataset_row(row, paths, schema, provenance, images.output)
