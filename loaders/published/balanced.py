"""Balanced subsets of published files: the pairs on which no text-only baseline is above chance.

balanced.yaml lists them by the SHA-256 of the file: facts about it, not its texts. Those of the package have no
``kept``, so no subset. `compeval balance FILE` makes an entry in sources/balanced.yaml of a data folder. Importing the
file to this folder writes the split ``test@balanced``, whose rows have one negative each, if its entry has ``kept``.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from compeval.base.files.atomic import atomic_file
from compeval.base.files.untrusted import SOURCES
from compeval.loaders.datasets.split_names import parse_stored
from compeval.loaders.published.rows import Row

LISTS = Path(__file__).with_name("balanced.yaml")
OWN_LISTS = Path(SOURCES, "balanced.yaml")
"""File with the user's entries, below a data folder."""
VARIANT = "balanced"


def read_subsets(data: Path) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a data folder that have a balanced subset, by the SHA-256 of their file."""
    path = data / OWN_LISTS
    entries = read_lists(path) if path.is_file() else []
    return {entry["sha256"]: entry for entry in entries if "kept" in entry}


def read_lists(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file, of which those without ``kept`` have no balanced subset."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) or []


def write_lists(path: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add entries to a file. They replace those of the same published files."""
    earlier = read_lists(path) if path.is_file() else []
    by_hash = {entry["sha256"]: dict(entry) for entry in (*earlier, *entries)}
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(by_hash.values(), key=lambda entry: entry["file"])
    with atomic_file(path) as scratch:
        scratch.write_text(yaml.safe_dump(ordered, sort_keys=False, width=120), encoding="utf-8")


def pack(keep_P: np.ndarray) -> str:
    """Return a mask of the pairs of a file (each row with each of its negatives, in order) as text."""
    return base64.b85encode(np.packbits(keep_P.astype(bool)).tobytes()).decode()


def unpack(text: str, pairs: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(base64.b85decode(text), np.uint8), count=pairs).astype(bool)


def select_pairs(rows: Sequence[Row], entry: Mapping[str, Any]) -> Iterator[tuple[int, Row]]:
    """Yield the kept pairs as the position of their row and a row with one negative.

    Raises ValueError if the file has another number of pairs than its entry.
    """
    pairs = [
        (position, row, text) for position, row in enumerate(rows) for text in row.hard_negatives
    ]
    if len(pairs) != entry["pairs"]:
        raise ValueError(
            f"{entry['file']}: {len(pairs):,} pairs, but its balanced subset is of {entry['pairs']:,}."
        )
    for (position, row, text), is_kept in zip(
        pairs, unpack(entry["kept"], len(pairs)), strict=True
    ):
        if is_kept:
            yield position, row._replace(hard_negatives=(text,), split=f"{row.split}.{VARIANT}")


def is_balanced(split: str) -> bool:
    """Return True for the stored name of a balanced subset's split."""
    return parse_stored(split)[1] == VARIANT
