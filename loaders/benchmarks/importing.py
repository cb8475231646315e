"""Import published benchmarks: same schema and tasks as the generated ones.

A family (crepe.py, aro.py, sugarcrepe.py) recognises its files by name and reads them row by row. Here the rows are
repaired on request, joined with their images and written as a dataset folder named after the family. Its card and
stats.json list for each file what was read, dropped and repaired, and its flaws.

Without repair the rows are exactly the published ones, so that scores can be compared; only negatives that the file
stores as a Python set, whose order differs between runs, are sorted.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.schemas.rows import ImageStorage
from generators.storage.atomic import atomic_folder
from generators.storage.dataset import write_split
from loaders.audit import FLAW_NAMES, Audit, audit
from loaders.benchmarks import aro, crepe, sugarcrepe
from loaders.benchmarks.images import ImageFolder, allow_folder, dataset_row
from loaders.benchmarks.repair import repair as repair_row
from loaders.benchmarks.rows import Family, Row
from loaders.cards.card import render, write_card
from loaders.datasets.stats import measure, split_name

FAMILIES = (aro.FAMILY, crepe.FAMILY, sugarcrepe.FAMILY)


@dataclass
class ImportedFile:
    """Counts of one imported file."""

    family: str
    file: str
    sha256: str
    repair: bool
    read: int = 0
    """All rows, usable or not; a caption with several types of negatives counts once for each."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> rows."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Kind of repair -> texts."""
    audits: dict[str, Audit] = field(default_factory=dict)
    """``config/split`` -> flaws of its readable rows, as published."""
    written: dict[str, int] = field(default_factory=dict)
    """``config/split`` -> rows."""
    unordered: dict[str, int] = field(default_factory=dict)
    """``config/split`` -> written rows whose negatives are a set in the file."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "audits": {split: audit.to_json() for split, audit in self.audits.items()}}


def family_of(path: Path) -> Family:
    """The family that a file belongs to, by its name. ValueError for an unknown name."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    for family in FAMILIES:
        if family.source(path):
            return family
    known = "; ".join(f"{', '.join(family.files)} ({family.name})" for family in FAMILIES)
    raise ValueError(f"{path}: not the name of a published file. Known: {known}.")


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """The counts and the usable rows of a published file. ValueError if no row is usable."""
    family = family_of(path)
    counts = ImportedFile(family.name, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), repair)
    published: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for row in family.read(path):
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
    counts.audits = {split: audit(row.texts() for row in of_split) for split, of_split in published.items()}
    return counts, rows


def import_files(
    files: Sequence[Path], images: Path, output: Path, *, repair: bool = False, skip_missing: bool = False
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per family below ``output``. Returns the counts of each file.

    Previously imported splits stay, unless a file replaces them. Everything is checked before anything is written:
    FileNotFoundError for a missing image unless ``skip_missing`` drops its rows, ValueError for a file with an unknown
    name and for two files with the same split.
    """
    imported: list[ImportedFile] = []
    splits: dict[tuple[str, str, str], tuple[Path, list[Row]]] = {}
    for path in dict.fromkeys(files):
        family = family_of(path)
        counts, rows = read_file(path, repair=repair)
        folder = ImageFolder(images, family.image_folders)
        if skip_missing:
            counts.dropped["image missing"] = sum(folder.find(row.image) is None for row in rows)
            rows = [row for row in rows if folder.find(row.image)]
        folder.require(rows)
        for row in rows:
            first, split_rows = splits.setdefault((family.name, row.config, row.split), (path, []))
            if first != path:
                raise ValueError(f"{path} and {first} are both {row.config}/{row.split} of {family.name}.")
            split_rows.append(row)
        imported.append(counts)
    output.mkdir(parents=True, exist_ok=True)
    allow_folder(images, output)
    for family in FAMILIES:
        of_family = [counts for counts in imported if counts.family == family.name]
        if of_family:
            by_split = {key[1:]: value for key, value in splits.items() if key[0] == family.name}
            _write(family, of_family, by_split, ImageFolder(images, family.image_folders), output / family.name)
    return imported


def _write(
    family: Family,
    imported: Sequence[ImportedFile],
    splits: Mapping[tuple[str, str], tuple[Path, list[Row]]],
    images: ImageFolder,
    folder: Path,
) -> None:
    """Write the splits, then the card."""
    by_name = {counts.file: counts for counts in imported}
    configs: dict[str, dict[str, Iterator[dict[str, Any]]]] = {}
    pixels: dict[str, ImageStorage] = {}
    for (config, split), (path, rows) in splits.items():
        counts = by_name[path.name]
        provenance = {"source": family.source(path), "captioner": "published", "seed": 0}
        configs.setdefault(config, {})[split] = _dataset_rows(family, rows, images, provenance)
        pixels[config] = "by_reference" if rows[0].box else "embedded"
        counts.written[f"{config}/{split}"] = len(rows)
        counts.unordered[f"{config}/{split}"] = sum(row.unordered for row in rows)
    for config, by_split in configs.items():
        with atomic_folder(folder / config) as scratch:
            for path in (folder / config).glob("*.parquet"):
                if split_name(path) not in by_split:
                    shutil.copy2(path, scratch)
            for split, rows in by_split.items():
                write_split(scratch, split, rows, family.schema, pixels[config])
    entries = _earlier_imports(folder, {f"{config}/{split}" for config, split in splits})
    entries |= {counts.file: counts.to_json() for counts in imported}
    stats = measure(folder) | {"imported": dict(sorted(entries.items()))}
    metadata = {
        "pretty_name": family.title,
        "license": family.licence,
        "language": ["en"],
        "tags": ["compositionality", "vision-language", "imported"],
    }
    write_card(folder, metadata, render("published", family=family, stats=stats, flaws=FLAW_NAMES), stats)


def _earlier_imports(folder: Path, replaced: set[str]) -> dict[str, Any]:
    """Entries of previously imported files whose splits are not being replaced."""
    path = folder / "stats.json"
    known = json.loads(path.read_text())["imported"] if path.is_file() else {}
    return {file: entry for file, entry in known.items() if replaced.isdisjoint(entry["written"])}


def _dataset_rows(
    family: Family, rows: Iterable[Row], images: ImageFolder, provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        path = images.find(row.image)
        assert path is not None
        yield dataset_row(row, path, family.schema, provenance)
