"""Import published benchmarks as datasets with the same schema and tasks as the generated datasets.

identify.py recognises the files; a family (crepe.py, aro.py, sugarcrepe.py) reads them row by row. This module repairs
the rows if requested, finds their images, which the rows reference, and writes a dataset folder named after the family.
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
from loaders.benchmarks.identify import FAMILIES, PublishedFile, identify
from loaders.benchmarks.images import ImageFolder, allow_folder, make_dataset_row
from loaders.benchmarks.repair import repair as repair_row
from loaders.benchmarks.rows import Family, Row
from loaders.cards.card import render, write_card
from loaders.datasets.stats import measure, split_name


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


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file.

    Raises ValueError if the file is not recognised or no row is usable.
    """
    return read_rows(identify(path), repair=repair)


def read_rows(file: PublishedFile, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file. Raises ValueError if no row is usable."""
    path, family = file.path, file.family
    counts = ImportedFile(family.name, path.name, file.sha256, repair)
    published: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for row in family.read(path, file.name):
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
    counts.audits = {split: audit(row.texts() for row in split_rows) for split, split_rows in published.items()}
    return counts, rows


def import_files(
    files: Sequence[Path], image_folder: Path, output: Path, *, repair: bool = False, skip_missing: bool = False
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per family in ``output``. Returns the counts of each file.

    Splits that were imported before stay, unless one of the files replaces them. All inputs are checked before anything
    is written. Raises FileNotFoundError if an image is missing, unless ``skip_missing`` drops its rows. Raises
    ValueError if a file is not recognised or two files contain the same split.
    """
    imported: list[ImportedFile] = []
    splits: dict[tuple[str, str, str], tuple[Path, list[Row]]] = {}
    sources: dict[Path, str | None] = {}
    for path in dict.fromkeys(files):
        file = identify(path)
        family = file.family
        counts, rows = read_rows(file, repair=repair)
        images = ImageFolder(image_folder, family.image_folders)
        if skip_missing:
            counts.dropped["image missing"] = sum(images.find(row.image) is None for row in rows)
            rows = [row for row in rows if images.find(row.image)]
        images.require(dict.fromkeys(row.image for row in rows))
        for row in rows:
            first, split_rows = splits.setdefault((family.name, row.config, row.split), (path, []))
            if first != path:
                raise ValueError(f"{path} and {first} are both {row.config}/{row.split} of {family.name}.")
            split_rows.append(row)
        imported.append(counts)
        sources[path] = family.source(Path(file.name))
    output.mkdir(parents=True, exist_ok=True)
    allow_folder(image_folder, output)
    for family in FAMILIES:
        family_counts = [counts for counts in imported if counts.family == family.name]
        if family_counts:
            by_split = {key[1:]: value for key, value in splits.items() if key[0] == family.name}
            images = ImageFolder(image_folder, family.image_folders)
            _write(family, family_counts, by_split, sources, images, output / family.name)
    return imported


def _write(
    family: Family,
    imported: Sequence[ImportedFile],
    splits: Mapping[tuple[str, str], tuple[Path, list[Row]]],
    sources: Mapping[Path, str | None],
    images: ImageFolder,
    folder: Path,
) -> None:
    """Write the splits and then the card. Fills in the counts of written rows."""
    by_name = {counts.file: counts for counts in imported}
    configs: dict[str, dict[str, Iterator[dict[str, Any]]]] = {}
    for (config, split), (path, rows) in splits.items():
        counts = by_name[path.name]
        provenance = {"source": sources[path], "captioner": "published", "seed": 0}
        configs.setdefault(config, {})[split] = _dataset_rows(family, rows, images, provenance)
        counts.written[f"{config}/{split}"] = len(rows)
        counts.unordered[f"{config}/{split}"] = sum(row.unordered for row in rows)
    for config, by_split in configs.items():
        with atomic_folder(folder / config) as scratch:
            for path in (folder / config).glob("*.parquet"):
                if split_name(path) not in by_split:
                    shutil.copy2(path, scratch)
            for split, rows in by_split.items():
                write_split(scratch, split, rows, family.schema, "by_reference")
    entries = _read_earlier_imports(folder, {f"{config}/{split}" for config, split in splits})
    entries |= {counts.file: counts.to_json() for counts in imported}
    stats = measure(folder) | {"imported": dict(sorted(entries.items()))}
    metadata = {
        "pretty_name": family.title,
        "license": family.licence,
        "language": ["en"],
        "tags": ["compositionality", "vision-language", "imported"],
    }
    write_card(folder, metadata, render("published", family=family, stats=stats, flaws=FLAW_NAMES), stats)


def _read_earlier_imports(folder: Path, replaced: set[str]) -> dict[str, Any]:
    """Return the counts of the files that were imported before and whose splits are not replaced now."""
    path = folder / "stats.json"
    known = json.loads(path.read_text())["imported"] if path.is_file() else {}
    return {file: entry for file, entry in known.items() if replaced.isdisjoint(entry["written"])}


def _dataset_rows(
    family: Family, rows: Iterable[Row], images: ImageFolder, provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        path = images.find(row.image)
        assert path is not None
        yield make_dataset_row(row, path, family.schema, provenance)
