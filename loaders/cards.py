"""The card and the statistics of a dataset folder: ``README.md`` and ``stats.json``.

The card's YAML block makes the folder a Hugging Face dataset: plain ``datasets.load_dataset`` reads it from disk, and
the Hub does from a repository. ``stats.json`` says what was built, and the loader refuses a folder that differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

Stats = dict[str, Any]


def parquet_files(folder: Path) -> list[Path]:
    """Every parquet file of a dataset folder, in name order."""
    return sorted(folder.glob("*/*.parquet"))


def split_name(path: Path) -> str:
    """``n4`` of ``n4-00000-of-00001.parquet``."""
    return path.name.rsplit("-", 3)[0]


def describe(folder: Path) -> dict[str, dict[str, Any]]:
    """Relative path -> rows and bytes of each parquet file, as the loader checks them."""
    return {
        str(path.relative_to(folder)): {"rows": pq.read_metadata(path).num_rows, "bytes": path.stat().st_size}
        for path in parquet_files(folder)
    }


def measure(folder: Path) -> Stats:
    """The folder's files with their SHA-256, rows by config and split, and the version: a hash over all files."""
    files: dict[str, dict[str, Any]] = {
        name: entry | {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name, entry in describe(folder).items()
    }
    rows: dict[str, dict[str, int]] = {}
    for name, entry in files.items():
        path = Path(name)
        splits = rows.setdefault(path.parent.name, {})
        splits[split_name(path)] = splits.get(split_name(path), 0) + entry["rows"]
    digest = hashlib.sha256("".join(f"{name} {entry['sha256']}\n" for name, entry in files.items()).encode())
    return {"version": digest.hexdigest()[:16], "rows": rows, "files": files}


def config_digest(stats: Stats, config: str) -> str:
    """12 hex digits over the files of one config."""
    hashes = "".join(entry["sha256"] for name, entry in stats["files"].items() if Path(name).parent.name == config)
    return hashlib.sha256(hashes.encode()).hexdigest()[:12]


def front_matter(stats: Stats, metadata: Mapping[str, Any]) -> str:
    """The YAML block: the card's metadata, and for each config its splits' files.

    Each config's description holds a hash of its files: ``datasets`` caches a local folder by this block alone, and
    would go on giving the old rows of a folder that was built anew.
    """
    configs = [
        {
            "config_name": config,
            "description": f"data {config_digest(stats, config)}",
            "data_files": [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits],
        }
        for config, splits in stats["rows"].items()
    ]
    block = yaml.safe_dump({**metadata, "configs": configs}, sort_keys=False, allow_unicode=True)
    return f"---\n{block}---\n"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; whole numbers get thousands separators."""

    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)]) + "\n"


def write_card(folder: Path, metadata: Mapping[str, Any], body: str, stats: Stats) -> None:
    """Write README.md and stats.json of a dataset folder."""
    (folder / "stats.json").write_text(json.dumps(stats, indent=1, sort_keys=True) + "\n")
    (folder / "README.md").write_text(front_matter(stats, metadata) + "\n" + body)
