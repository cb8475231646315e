"""Published benchmarks as datasets beside ours: same schema, same tasks.

A family (crepe.py, aro.py, sugarcrepe.py) knows its files by their names and reads them row by row. Here their rows are
repaired if asked, joined with their images and written as a dataset folder of the family's name, whose card and
stats.json say for each file what was read, dropped and repaired, and which flaws it has.

Without repair a row is what was published, so that scores can be compared; only the negatives of a Python set, whose
order differs from run to run, are sorted.
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

from generators.schemas.rows import Pixels
from generators.storage.atomic import atomic_folder
from generators.storage.dataset import write_split
from loaders.audit import Audit, audit
from loaders.benchmarks import aro, crepe, sugarcrepe
from loaders.benchmarks.card import body, metadata
from loaders.benchmarks.pictures import Pictures, dataset_row
from loaders.benchmarks.repair import repaired
from loaders.benchmarks.rows import Family, Row
from loaders.cards.card import measure, split_name, write_card

FAMILIES = (aro.FAMILY, crepe.FAMILY, sugarcrepe.FAMILY)


@dataclass
class Imported:
    """What became of one file."""

    family: str
    file: str
    sha256: str
    repair: bool
    read: int = 0
    """Rows, usable or not; of a caption with several kinds of negatives, one for each."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> rows."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Kind of repair -> texts."""
    audits: dict[str, Audit] = field(default_factory=dict)
    """``config/split`` -> the flaws of its readable rows, as published."""
    written: dict[str, int] = field(default_factory=dict)
    """``config/split`` -> rows."""
    unordered: dict[str, int] = field(default_factory=dict)
    """``config/split`` -> rows written whose negatives were a set."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "audits": {split: found.to_json() for split, found in self.audits.items()}}


def family_of(path: Path) -> Family:
    """The family that a file belongs to, by its name. ValueError for a name that none has."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    found = next((family for family in FAMILIES if family.source(path)), None)
    if found is None:
        known = "; ".join(f"{', '.join(family.files)} ({family.name})" for family in FAMILIES)
        raise ValueError(f"{path}: no published file has such a name. Known: {known}.")
    return found


def read_file(path: Path, *, repair: bool = False) -> tuple[Imported, list[Row]]:
    """What is in a published file, and its usable rows. ValueError if there are none."""
    family = family_of(path)
    report = Imported(family.name, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), repair)
    published: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for row in family.read(path):
        report.read += 1
        if isinstance(row, Row):
            published.setdefault(f"{row.config}/{row.split}", []).append(row)
            row = repaired(row, report.repaired) if repair else row
        if isinstance(row, Row):
            rows.append(row)
        else:
            report.dropped[row.reason] += 1
    if not rows:
        raise ValueError(f"{path}: none of its {report.read:,} rows is usable ({_told(report.dropped)}).")
    report.audits = {split: audit(row.texts() for row in found) for split, found in published.items()}
    return report, rows


def _told(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in counts.items()) or "it is empty"


def import_files(
    files: Sequence[Path], images: Path, output: Path, *, repair: bool = False, skip_missing: bool = False
) -> list[Imported]:
    """Write the datasets of published files, one folder a family below ``output``; gives what became of each file.

    Splits that were imported before stay, unless one of the files has them. Nothing is written before everything is
    checked: FileNotFoundError for a missing image unless ``skip_missing`` leaves its rows out, ValueError for a file of
    no known name or two with the same split.
    """
    reports: list[Imported] = []
    splits: dict[tuple[str, str, str], tuple[Path, list[Row]]] = {}
    for path in dict.fromkeys(files):
        family = family_of(path)
        report, rows = read_file(path, repair=repair)
        pictures = Pictures(images, family.image_folders)
        if skip_missing:
            report.dropped["image missing"] = sum(pictures.find(row.image) is None for row in rows)
            rows = [row for row in rows if pictures.find(row.image)]
        pictures.require(rows)
        for row in rows:
            of_file, found = splits.setdefault((family.name, row.config, row.split), (path, []))
            if of_file != path:
                raise ValueError(f"{path} and {of_file} are both {row.config}/{row.split} of {family.name}.")
            found.append(row)
        reports.append(report)
    for family in FAMILIES:
        mine = [report for report in reports if report.family == family.name]
        if mine:
            by_split = {key[1:]: found for key, found in splits.items() if key[0] == family.name}
            _write(family, mine, by_split, Pictures(images, family.image_folders), output / family.name)
    return reports


def _write(
    family: Family,
    reports: Sequence[Imported],
    splits: Mapping[tuple[str, str], tuple[Path, list[Row]]],
    pictures: Pictures,
    folder: Path,
) -> None:
    """Write the splits, then the card."""
    by_name = {report.file: report for report in reports}
    configs: dict[str, dict[str, Iterator[dict[str, Any]]]] = {}
    pixels: dict[str, Pixels] = {}
    for (config, split), (path, rows) in splits.items():
        report = by_name[path.name]
        provenance = {"source": family.source(path), "captioner": "published", "seed": 0}
        configs.setdefault(config, {})[split] = _dataset_rows(family, rows, pictures, provenance)
        pixels[config] = "by_reference" if rows[0].box else "embedded"
        report.written[f"{config}/{split}"] = len(rows)
        report.unordered[f"{config}/{split}"] = sum(row.unordered for row in rows)
    for config, by_split in configs.items():
        _write_config(folder, config, by_split, family, pixels[config])
    imported = _still_there(folder, {f"{config}/{split}" for config, split in splits})
    imported |= {report.file: report.to_json() for report in reports}
    stats = measure(folder) | {"imported": dict(sorted(imported.items()))}
    write_card(folder, metadata(family, stats), body(family, stats), stats)


def _still_there(folder: Path, replaced: set[str]) -> dict[str, Any]:
    """What earlier imports told of files whose splits are not being replaced."""
    path = folder / "stats.json"
    known = json.loads(path.read_text())["imported"] if path.is_file() else {}
    return {file: entry for file, entry in known.items() if replaced.isdisjoint(entry["written"])}


def _dataset_rows(
    family: Family, rows: Iterable[Row], pictures: Pictures, provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        path = pictures.find(row.image)
        assert path is not None
        yield dataset_row(row, path, family.schema, provenance)


def _write_config(
    folder: Path, config: str, splits: Mapping[str, Iterable[dict[str, Any]]], family: Family, pixels: Pixels
) -> None:
    with atomic_folder(folder / config) as scratch:
        for path in (folder / config).glob("*.parquet"):
            if split_name(path) not in splits:
                shutil.copy2(path, scratch)
        for split, rows in splits.items():
            write_split(scratch, split, rows, family.schema, pixels)
