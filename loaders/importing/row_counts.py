"""The numbers of rows of imported files, in messages, on the card and in stats.json."""

import fnmatch
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from compeval.loaders.audit import Audit
from compeval.loaders.datasets.split_names import parse_stored
from compeval.loaders.published import Benchmark


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


def read_imported(folder: Path) -> dict[str, Any]:
    """Return the counts of the files from which a dataset folder was imported, by file; {} if there is no folder."""
    stats = folder / "stats.json"
    return json.loads(stats.read_text(encoding="utf-8"))["imported"] if stats.is_file() else {}


def compare_counts(
    benchmark: Benchmark, configs: Iterable[str], imported: Sequence[ImportedFile]
) -> list[str]:
    """Return a message for each of some declared configs whose number of written rows differs."""
    counts = count_by_config(chain.from_iterable(file.written.items() for file in imported))
    return [
        f"{benchmark.name}/{config}: {count:,} rows written, {benchmark.rows[config]:,} expected."
        for config in configs
        if (count := sum_counts(counts, config)) != benchmark.rows[config]
    ]


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


def sum_counts(counts: Mapping[str, int], config: str) -> int:
    """Return the number of rows of a config, a ``config/split``, or of all configs that a pattern matches."""
    if "*" not in config:
        return counts.get(config, 0)
    return sum(
        count
        for name, count in counts.items()
        if "/" not in name and fnmatch.fnmatchcase(name, config)
    )
