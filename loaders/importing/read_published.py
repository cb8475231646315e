"""Read published files: recognise, repair or drop rows, and count their flaws.

identify.py recognises the files; the declaration of the benchmark (loaders/benchmarks/) makes their rows. A file is
read once. Without repair, the rows are exactly as published, so that scores can be compared with published scores.
There are two exceptions: negatives that the file stores as a Python set, which has no fixed order, are sorted; and
letters with an accent are one character (NFC), as in every other text here, so that a caption is the same text in all
files.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from compeval.base.files.csv_tables import count_misplaced_quotes
from compeval.base.texts import compose_characters
from compeval.loaders.audit import Audit, audit
from compeval.loaders.importing.embedded import extract_images
from compeval.loaders.importing.identify import PublishedFile, describe_expected
from compeval.loaders.importing.repair import repair as repair_row
from compeval.loaders.importing.row_counts import ImportedFile, count_by_config, sum_counts
from compeval.loaders.importing.selection import ALL, RowSelection
from compeval.loaders.malformed import find_malformed
from compeval.loaders.published import Benchmark, ImageSet, Row, Unusable
from compeval.loaders.published.balanced import VARIANT, is_balanced, read_subsets, select_pairs
from compeval.loaders.published.rows import find_delimiter


@dataclass(frozen=True)
class ReadFile:
    """The usable rows of a published file."""

    file: PublishedFile
    counts: ImportedFile
    splits: Mapping[tuple[str, str], Sequence[Row]]
    """Rows by config and split."""
    images: Mapping[ImageSet, Sequence[str]]
    """Names of the distinct images of all these rows, by their source."""

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.splits.values())


def read_files(
    files: Iterable[PublishedFile], output: Path, selection: RowSelection = ALL
) -> list[ReadFile]:
    """Read published files, and write the images that they contain below the data folder ``output``.

    Raises ValueError if a file cannot be read, no row is usable, or a contained image is not readable, unless its rows
    will be dropped.
    """
    subsets = read_subsets(output)
    read = [read_published(file, selection, subsets.get(file.sha256)) for file in files]
    for file in (part.file for part in read if part.file.images.columns):
        unreadable = extract_images(file, output)
        if unreadable and not selection.skip_missing:
            name, reason = next(iter(unreadable.items()))
            raise ValueError(
                f"{file.path}: {len(unreadable):,} of the images in it cannot be read; the first is {name} ({reason}). "
                "Download the file again, or drop their rows with --skip-missing."
            )
    return read


def check_complete(benchmark: Benchmark, files: Iterable[ReadFile], folder: Path) -> None:
    """Raise ValueError if the files of a folder have fewer rows of a config than the benchmark declares.

    A file with the published SHA-256 is complete, so the rows that were dropped from it are not missing. Configs whose
    file is not there are left out.
    """
    published = {file.sha256 for file in benchmark.source.files}
    rows: list[tuple[str, int]] = []
    for read in files:
        dropped = read.counts.dropped.total() if read.counts.sha256 in published else 0
        for (config, split), of_split in read.splits.items():
            rows.append((f"{config}/{split}", len(of_split) + dropped))
    counts = count_by_config(rows)
    incomplete: list[str] = []
    for config, expected in benchmark.rows.items():
        count = sum_counts(counts, config)
        if 0 < count < expected:
            incomplete.append(f"{benchmark.name}/{config}: {count:,} of {expected:,} rows")
    if incomplete:
        raise ValueError(
            f"{folder}: not all of {benchmark.name}. Nothing was imported; --partial imports it as it is.\n"
            + "\n".join(incomplete)
        )


def list_configs(benchmark: Benchmark, files: Iterable[ReadFile]) -> list[str]:
    """Return the configs of ``benchmark.rows`` of which the files have rows."""
    counts = count_by_config(
        (f"{config}/{split}", 1) for read in files for config, split in read.splits
    )
    return [config for config in benchmark.rows if sum_counts(counts, config)]


def read_published(
    file: PublishedFile, selection: RowSelection = ALL, subset: Mapping[str, Any] | None = None
) -> ReadFile:
    """Read a published file, and make the split of its balanced ``subset`` if it has one.

    With repair, the flaws of the rows as published are counted, too. Otherwise :func:`audit_splits` counts them.
    Raises ValueError if no row is usable.
    """
    benchmark = file.benchmark
    if selection.drop_malformed and "en" not in benchmark.languages:
        raise ValueError(
            f"{file.path}: --drop-malformed knows English only. Import the file without it."
        )
    counts = ImportedFile(benchmark.name, file.label, file.sha256, selection.repair, file.name)

    # The rows as published, of which the flaws are counted, and the rows to write.
    published: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    repaired: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in benchmark.read(file.path, file.name):
        counts.read += 1
        if isinstance(row, Row) and not all(caption.strip() for caption in row.captions):
            row = Unusable("a caption is empty")
        if isinstance(row, Row) and not all(image.strip() for image in row.images):
            row = Unusable("an image has no name")
        if isinstance(row, Row):
            row = _compose_texts(row)
            published[row.config, row.split].append(row)
            if selection.repair:
                row = repair_row(row, counts.repaired)
        if isinstance(row, Unusable):
            counts.dropped[row.reason] += 1
        elif selection.repair:
            repaired[row.config, row.split].append(row)
    splits = dict(repaired if selection.repair else published)
    if selection.drop_malformed:
        splits = {key: _drop_malformed(rows, counts.dropped) for key, rows in splits.items()}
        splits = {key: rows for key, rows in splits.items() if rows}
    if not splits:
        reasons = [f"{count:,} {reason}" for reason, count in counts.dropped.items()]
        raise ValueError(
            f"{file.path}: none of its {counts.read:,} rows is usable ({'; '.join(reasons) or 'it is empty'}). A file "
            f"of {benchmark.name} has {describe_expected(benchmark, file.path.suffix)}. Name another benchmark with "
            "`compeval import NAME FILE`."
        )
    if selection.repair:
        counts.audits = audit_splits(published)
    if file.path.suffix in (".csv", ".tsv"):
        counts.quotes = count_misplaced_quotes(file.path, find_delimiter(file.path))

    # The pairs of a balanced subset are those of all published rows.
    if subset and not (selection.repair or selection.drop_malformed):
        (config, split), rows = next(iter(published.items()))
        pairs = select_pairs(rows, subset)
        splits[config, f"{split}.{VARIANT}"] = [row for _, row in pairs]

    images: dict[ImageSet, dict[str, None]] = {}
    for row in chain.from_iterable(splits.values()):
        names = images.setdefault(row.image_set or file.images, {})
        names.update(dict.fromkeys(row.images))
    return ReadFile(
        file, counts, splits, {image_set: [*names] for image_set, names in images.items()}
    )


def _compose_texts(row: Row) -> Row:
    """Return the row with its letters in one Unicode form (NFC), in which é is one character."""
    captions = tuple(map(compose_characters, row.captions))
    negatives = tuple(map(compose_characters, row.hard_negatives))
    is_same = captions == tuple(row.captions) and negatives == tuple(row.hard_negatives)
    return row._replace(
        captions=captions, hard_negatives=negatives, changed=row.changed or not is_same
    )


def _drop_malformed(rows: Sequence[Row], dropped: Counter[str]) -> list[Row]:
    """Return the rows without a malformed text. A row with several is counted with the first."""
    kinds: dict[int, str] = {}
    # Backwards, so that the first of several findings in a row is the one that stays.
    for finding in reversed([*find_malformed([row.texts() for row in rows])]):
        kinds[finding.row] = finding.kind
    dropped.update(f"a text is malformed: {kind}" for kind in kinds.values())
    return [row for index, row in enumerate(rows) if index not in kinds]


def audit_splits(splits: Mapping[tuple[str, str], Sequence[Row]]) -> dict[str, Audit]:
    """Return the audit of each config and split whose rows have hard negatives, by ``config/split``."""
    return {
        f"{config}/{split}": audit([row.texts() for row in rows])
        for (config, split), rows in splits.items()
        if not is_balanced(split) and any(row.hard_negatives for row in rows)
    }
