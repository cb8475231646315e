"""Import published benchmarks as datasets with the same schema and tasks as the generated datasets.

identify.py recognises the files; the declaration of the benchmark (loaders/benchmarks/) makes their rows. This module
repairs the rows or drops malformed ones if requested, finds their images, which the rows reference, and writes a
dataset folder named after the benchmark. A file is read once. For each file, the card and stats.json list the numbers
of rows that were read, dropped and repaired, and the flaws.

Without repair, the rows are exactly as published, so that scores can be compared with published scores. There are two
exceptions: negatives that the file stores as a Python set, which has no fixed order, are sorted; and letters with an
accent are one character (NFC), as in every other text here, so that a caption is the same text in all files.
"""

import fnmatch
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from compeval.base.files.atomic import MARKER, atomic_folder
from compeval.base.files.csv_tables import count_misplaced_quotes
from compeval.base.files.untrusted import allow_images, count_oddities
from compeval.base.storage.dataset import remove_empty_splits, write_split
from compeval.base.texts import compose_characters
from compeval.loaders.audit import FLAW_NAMES, Audit, audit
from compeval.loaders.cards.card import render, write_card
from compeval.loaders.datasets.split_names import parse_stored
from compeval.loaders.datasets.stats import measure, parquet_files, split_name
from compeval.loaders.importing.embedded import extract_images
from compeval.loaders.importing.identify import PublishedFile, identify
from compeval.loaders.importing.images import ImageFinder, make_dataset_row, measure_outside
from compeval.loaders.importing.repair import repair as repair_row
from compeval.loaders.importing.selection import ALL, RowSelection
from compeval.loaders.malformed import find_malformed
from compeval.loaders.published import Benchmark, ImageSet, Row, Unusable
from compeval.loaders.published.balanced import VARIANT, find_entry, is_balanced, select_pairs
from compeval.loaders.published.rows import find_delimiter


@dataclass
class ImportedFile:
    """Row counts of one imported file."""

    family: str
    file: str
    sha256: str
    repair: bool
    published_name: str
    """The name of the published file, which may have another name here."""
    read: int = 0
    """Number of all rows, usable or not. A caption with several types of negatives counts once per type."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of dropped rows by reason."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Number of changed texts by kind of repair."""
    audits: dict[str, Audit] = field(default_factory=dict)
    """Flaws of the written rows as published, by ``config/split``; with ``repair``, of all readable rows."""
    written: dict[str, int] = field(default_factory=dict)
    """Number of written rows by ``config/split``."""
    cut: int = 0
    """Number of rows whose box is partly outside its image. The crop is black there."""
    changed: int = 0
    """Number of written rows with a text that differs from the published one."""
    quotes: int = 0
    """Number of rows of a table with text after a closing quote, which stricter readers do not accept."""
    images: Counter[str] = field(default_factory=Counter)
    """Number of distinct images of the written rows that programs show in different ways, by reason."""
    unordered: dict[str, int] = field(default_factory=dict)
    """Number of written rows whose negatives are a set in the file, by ``config/split``."""

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "audits": {split: audit.to_json() for split, audit in self.audits.items()},
        }


@dataclass
class ReadFile:
    """The usable rows of a published file."""

    file: PublishedFile
    counts: ImportedFile
    splits: dict[tuple[str, str], list[Row]]
    """Rows by config and split."""

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.splits.values())

    def list_images(self) -> dict[ImageSet, list[str]]:
        """Return the names of the distinct images of the rows, by their source."""
        names: dict[ImageSet, dict[str, None]] = {}
        for row in self:
            names.setdefault(row.image_set or self.file.images, {}).update(
                dict.fromkeys(row.images)
            )
        return {image_set: list(set_names) for image_set, set_names in names.items()}

    def find_images(self, row: Row, images: ImageFinder) -> list[Path]:
        """Return the paths of those images of a row that are not missing."""
        image_set = row.image_set or self.file.images
        return [path for name in row.images if (path := images.find(image_set, name))]

    def count_written(self, images: ImageFinder) -> None:
        """Count the rows that are left, which are written. The card shows only counts of this function and of rows that
        were not written."""
        counts, splits = self.counts, {"/".join(key): rows for key, rows in self.splits.items()}
        counts.written = {name: len(rows) for name, rows in splits.items()}
        counts.unordered = {
            name: sum(row.unordered for row in rows) for name, rows in splits.items()
        }
        counts.changed = sum(row.changed for row in self)
        counts.images = count_oddities(
            sorted({path for row in self for path in self.find_images(row, images)})
        )
        if not counts.repair:
            counts.audits = audit_splits(self.splits)


def read_published(file: PublishedFile, selection: RowSelection = ALL) -> ReadFile:
    """Read a published file. Raises ValueError if no row is usable."""
    repair, drop_malformed, _ = selection
    counts = ImportedFile(file.benchmark.name, file.label, file.sha256, repair, file.name)
    published: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    repaired: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in file.benchmark.read(file.path, file.name):
        counts.read += 1
        if isinstance(row, Row) and not all(caption.strip() for caption in row.captions):
            row = Unusable("a caption is empty")
        if isinstance(row, Row):
            row = _compose_texts(row)
            published[row.config, row.split].append(row)
            row = repair_row(row, counts.repaired) if repair else row
        if isinstance(row, Unusable):
            counts.dropped[row.reason] += 1
        elif repair:
            repaired[row.config, row.split].append(row)
    splits = repaired if repair else published
    if (entry := find_entry(file.sha256)) and not (repair or drop_malformed):
        ((config, split), rows), *_ = published.items()
        splits[config, f"{split}.{VARIANT}"] = [row for _, row in select_pairs(rows, entry)]
    if drop_malformed:
        if "en" not in file.benchmark.languages:
            raise ValueError(
                f"{file.path}: --drop-malformed knows English only. Import the file without it."
            )
        splits = {
            key: kept
            for key, rows in splits.items()
            if (kept := _drop_malformed(rows, counts.dropped))
        }
    if not splits:
        reasons = (
            "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
            or "it is empty"
        )
        raise ValueError(
            f"{file.path}: none of its {counts.read:,} rows is usable ({reasons}). A file of {file.benchmark.name} has "
            f"{file.benchmark.describe_items(file.path.suffix)}. Name another benchmark with `compeval import NAME "
            "FILE`."
        )
    counts.audits = audit_splits(published)
    if file.path.suffix in (".csv", ".tsv"):
        counts.quotes = count_misplaced_quotes(file.path, find_delimiter(file.path))
    return ReadFile(file, counts, dict(splits))


def _compose_texts(row: Row) -> Row:
    """Return the row with its letters in one Unicode form (NFC), in which é is one character."""
    captions, negatives = (
        tuple(map(compose_characters, texts)) for texts in (row.captions, row.hard_negatives)
    )
    is_changed = (captions, negatives) != (tuple(row.captions), tuple(row.hard_negatives))
    return row._replace(
        captions=captions, hard_negatives=negatives, changed=row.changed or is_changed
    )


def _drop_malformed(rows: Sequence[Row], dropped: Counter[str]) -> list[Row]:
    """Return the rows without a malformed text. A row with several is counted with the first."""
    kinds = {
        finding.row: finding.kind
        for finding in reversed([*find_malformed([row.texts() for row in rows])])
    }
    dropped.update(f"a text is malformed: {kind}" for kind in kinds.values())
    return [row for index, row in enumerate(rows) if index not in kinds]


def audit_splits(splits: Mapping[tuple[str, str], Sequence[Row]]) -> dict[str, Audit]:
    """Return the audit of each config and split whose rows have hard negatives, by ``config/split``."""
    return {
        "/".join(key): audit(row.texts() for row in rows)
        for key, rows in splits.items()
        if any(row.hard_negatives for row in rows) and not is_balanced(key[1])
    }


def read_all(
    files: Iterable[PublishedFile], output: Path, selection: RowSelection = ALL
) -> list[ReadFile]:
    """Read published files, and write the images that they contain below the data folder ``output``.

    Raises ValueError if a file cannot be read, no row is usable, or a contained image is not readable, unless its rows
    will be dropped.
    """
    read = [read_published(file, selection) for file in files]
    for file in (part.file for part in read if part.file.images.columns):
        unreadable = extract_images(file, output)
        if unreadable and not selection.skip_missing:
            name, reason = next(iter(unreadable.items()))
            raise ValueError(
                f"{file.path}: {len(unreadable):,} of the images in it cannot be read; the first is {name} ({reason}). "
                "Download the file again, or drop their rows with --skip-missing."
            )
    return read


def import_files(
    files: Sequence[Path],
    image_folder: Path | None,
    output: Path,
    selection: RowSelection = ALL,
    *,
    benchmark: Benchmark | None = None,
) -> list[ImportedFile]:
    """Recognise published files, of any benchmark or of ``benchmark``, and write their datasets.

    ``image_folder`` contains the images. None: the files contain their images, or ``output`` has them. See
    :func:`import_published`. Raises FileNotFoundError if there is no such folder.
    """
    if image_folder is not None and not image_folder.is_dir():
        raise FileNotFoundError(f"{image_folder}: no such image folder.")
    published = [identify(path, benchmark) for path in dict.fromkeys(files)]
    read = read_all(published, output, selection)
    return import_published(read, image_folder, output, skip_missing=selection.skip_missing)


def import_published(
    files: Sequence[ReadFile],
    image_folder: Path | None,
    output: Path,
    *,
    skip_missing: bool = False,
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per benchmark in ``output``. Returns the counts of each file.

    Images are searched in ``image_folder`` and among the shared images in ``output``. Splits that were imported before
    stay, unless the files replace them. All inputs are checked before a dataset is written. Raises FileNotFoundError if
    an image is missing, unless ``skip_missing`` drops its rows. Raises ValueError if two files contain the same split
    of a benchmark that keeps each split in one file.
    """
    images = ImageFinder(output, image_folder)
    for read in files:
        for image_set, names in read.list_images().items():
            images.check_distinct(image_set, names)
            if not skip_missing:
                images.require(image_set, names)
        _select_rows(read, images)
    by_benchmark: defaultdict[str, list[ReadFile]] = defaultdict(list)
    for read in files:
        by_benchmark[read.file.benchmark.name].append(read)
    groups = [
        (of_benchmark, _group_by_split(of_benchmark)) for of_benchmark in by_benchmark.values()
    ]
    for of_benchmark, splits in groups:
        _join(of_benchmark, splits)
    output.mkdir(parents=True, exist_ok=True)
    if image_folder is not None:
        allow_images(output, [image_folder.resolve()])
    for of_benchmark, splits in groups:
        if splits:
            _write(of_benchmark, splits, images, output)
    return [read.counts for read in files]


def _select_rows(read: ReadFile, images: ImageFinder) -> None:
    """Drop the rows without all images and those whose box is outside its image, and splits without other rows.

    Counts the rows whose box is partly outside. Raises ValueError if all boxes of a split are outside.
    """
    counts = read.counts
    for (config, split), rows in read.splits.items():
        selected: list[Row] = []
        num_outside = 0
        for row in rows:
            paths = read.find_images(row, images)
            if len(paths) < len(row.images):
                counts.dropped["image missing"] += 1
                continue
            share = measure_outside(row.box, paths[0]) if row.box else 0.0
            counts.cut += 0 < share < 1
            if share < 1:
                selected.append(row)
            else:
                num_outside += 1
        if num_outside and not selected:
            raise ValueError(
                f"{read.file.path}: all boxes of {config}/{split} are outside their images, which must have another "
                "size than those that were annotated. Use the original images."
            )
        counts.dropped += Counter({"the box is outside the image": num_outside})
        read.splits[config, split] = selected
    read.splits = {key: rows for key, rows in read.splits.items() if rows}


def _group_by_split(files: Iterable[ReadFile]) -> dict[str, dict[str, list[ReadFile]]]:
    """Return the files of a benchmark by config and split. Raises ValueError for files with the same rows."""
    configs: dict[str, dict[str, list[ReadFile]]] = {}
    for read in files:
        file = read.file
        for config, split in read.splits:
            parts = configs.setdefault(config, {}).setdefault(split, [])
            is_one_file = not file.benchmark.split_files
            if first := next(
                (part.file for part in parts if is_one_file or part.file.name == file.name), None
            ):
                raise ValueError(
                    f"{file.path} and {first.path} are both {config}/{split} of {file.benchmark.name}."
                )
            parts.append(read)
    return configs


def _join(files: Sequence[ReadFile], splits: dict[str, dict[str, list[ReadFile]]]) -> None:
    """Add the splits that a benchmark makes from rows of its files. They count with the first file of their rows."""
    benchmark = files[0].file.benchmark
    if benchmark.join is None:
        return
    rows = {key: file_rows for read in files for key, file_rows in read.splits.items()}
    joined: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in benchmark.join(rows):
        joined[row.config, row.split].append(row)
    for (config, split), split_rows in joined.items():
        base = parse_stored(split)[0]
        with_split = [read for read in files if any(base == other for _, other in read.splits)]
        first = next((read for read in with_split if (config, base) in read.splits), with_split[0])
        first.splits[config, split] = split_rows
        splits.setdefault(config, {})[split] = [first]


def count_by_config(rows: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the number of rows by config and by ``config/split``, given those of ``config/split``.

    Variants are left out: their rows are in the split as well.
    """
    counts = Counter[str]()
    for name, count in rows:
        config, _, split = name.partition("/")
        if not parse_stored(split)[1]:
            counts.update({name: count, config: count})
    return counts


def compare_counts(benchmark: Benchmark, imported: Sequence[ImportedFile]) -> list[str]:
    """Return a message for each declared config whose number of written rows differs."""
    counts = count_by_config(chain.from_iterable(file.written.items() for file in imported))
    return [
        f"{benchmark.name}/{config}: {count:,} rows written, {expected:,} expected."
        for config, expected in benchmark.rows.items()
        if (count := sum_counts(counts, config)) != expected
    ]


def sum_counts(counts: Mapping[str, int], config: str) -> int:
    """Return the number of rows of a config, a ``config/split``, or of all configs that a pattern matches."""
    if "*" not in config:
        return counts.get(config, 0)
    return sum(
        count
        for name, count in counts.items()
        if "/" not in name and fnmatch.fnmatchcase(name, config)
    )


def _write(
    files: Sequence[ReadFile],
    splits: Mapping[str, Mapping[str, Sequence[ReadFile]]],
    images: ImageFinder,
    output: Path,
) -> None:
    """Write the dataset folder of a benchmark, all or nothing. Splits that no file replaces stay."""
    benchmark = files[0].file.benchmark
    folder = output / benchmark.name
    replaced = {f"{config}/{split}" for config, by_split in splits.items() for split in by_split}
    earlier = _read_imported(folder)
    entries = {
        file: entry for file, entry in earlier.items() if replaced.isdisjoint(entry["written"])
    }
    replaced |= {
        name for file, entry in earlier.items() if file not in entries for name in entry["written"]
    }
    if earlier:
        (folder / MARKER).touch()  # earlier versions wrote the configs one by one
    with atomic_folder(folder) as scratch:
        for path in parquet_files(folder):
            if f"{path.parent.name}/{split_name(path)}" not in replaced:
                (scratch / path.parent.name).mkdir(exist_ok=True)
                shutil.copy2(path, scratch / path.parent.name)
        for config, by_split in splits.items():
            (scratch / config).mkdir(exist_ok=True)
            schema = benchmark.find_schema(config)
            storage = "by_reference" if "x" in schema.names else "embedded"
            for split, parts in by_split.items():
                rows = chain.from_iterable(
                    _make_dataset_rows(part, config, split, images) for part in parts
                )
                write_split(scratch / config, split, rows, schema, storage)
            remove_empty_splits(scratch / config)
        for read in files:
            read.count_written(images)
        entries |= {read.counts.file: read.counts.to_json() for read in files}
        _write_card(benchmark, scratch, entries)


def _write_card(benchmark: Benchmark, folder: Path, entries: Mapping[str, Any]) -> None:
    """Write the card of a dataset folder, given the counts of the files from which it was imported."""
    stats = measure(folder) | {"imported": dict(sorted(entries.items()))}
    metadata = {
        "pretty_name": benchmark.source.title,
        "license": benchmark.licence_id,
        "language": list(benchmark.languages),
        "tags": ["compositionality", "vision-language", "imported"],
    }
    changes = {
        configs: what
        for configs, what in benchmark.changes.items()
        if fnmatch.filter(stats["rows"], configs)
    }
    content = render(
        "published", benchmark=benchmark, stats=stats, flaws=FLAW_NAMES, changes=changes
    )
    write_card(folder, metadata, content, stats)


def _read_imported(folder: Path) -> dict[str, Any]:
    """Return the counts of the files from which a dataset folder was imported, by file; {} if there is no folder."""
    stats = folder / "stats.json"
    return json.loads(stats.read_text(encoding="utf-8"))["imported"] if stats.is_file() else {}


def is_correction(read: ReadFile, output: Path) -> bool:
    """Return True if the data folder ``output`` has a dataset of another version of the file."""
    earlier = _read_imported(output / read.file.benchmark.name).get(read.counts.file)
    return earlier is not None and earlier["sha256"] != read.counts.sha256


def _make_dataset_rows(
    read: ReadFile, config: str, split: str, images: ImageFinder
) -> Iterator[dict[str, Any]]:
    """Yield the dataset rows of one split of a file."""
    schema = read.file.benchmark.find_schema(config)
    seed = re.fullmatch(r"s(\d+)", parse_stored(split)[1])
    made = {"captioner": "published", "seed": int(seed[1]) if seed else 0}
    for row in read.splits[config, split]:
        provenance = {"source": (row.image_set or read.file.images).name, **made}
        yield make_dataset_row(row, read.find_images(row, images), schema, provenance, images)
