"""Statistics of a dataset folder: ``stats.json`` records what was built, and loading refuses a folder that differs.

Keys: ``version`` (a hash over all files), ``rows`` (config -> split -> rows), ``files`` (path -> rows, bytes, SHA-256),
``source``, and the counts of the generating stages.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from generators.storage import parquet
from generators.storage.untrusted import safe_name
from loaders.datasets.folders import dataset_folder

Stats = dict[str, Any]


def parquet_files(folder: Path) -> list[Path]:
    """All parquet files of a dataset folder, sorted by name."""
    return sorted(folder.glob("*/*.parquet"))


def split_name(path: Path) -> str:
    """``n4`` for ``n4-00000-of-00001.parquet``."""
    return path.name.rsplit("-", 3)[0]


def file_sizes(folder: Path) -> dict[str, dict[str, Any]]:
    """Rows and bytes of each parquet file, by relative path."""
    return {
        str(path.relative_to(folder)): {"rows": parquet.count_rows(path), "bytes": path.stat().st_size}
        for path in parquet_files(folder)
    }


def measure(folder: Path) -> Stats:
    """Files with their SHA-256, rows by config and split, and the version of a dataset folder."""
    files: dict[str, dict[str, Any]] = {
        name: entry | {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name, entry in file_sizes(folder).items()
    }
    rows: dict[str, dict[str, int]] = {}
    for name, entry in files.items():
        path = Path(name)
        splits = rows.setdefault(path.parent.name, {})
        splits[split_name(path)] = splits.get(split_name(path), 0) + entry["rows"]
    digest = hashlib.sha256("".join(f"{name} {entry['sha256']}\n" for name, entry in files.items()).encode())
    return {"version": digest.hexdigest()[:16], "rows": rows, "files": files}


def read_stats(folder: Path, config: str | None = None) -> Stats:
    """Return the folder's stats.json.

    Raises ValueError if it is not valid, or if the parquet files of the folder, or those of ``config``, differ from it.
    """
    stats, expected = _parse_stats(folder / "stats.json")
    actual = file_sizes(folder)
    for name in sorted(expected.keys() | actual.keys()):
        if config in (None, Path(name).parent.name) and expected.get(name) != actual.get(name):
            raise ValueError(
                f"{folder / name}: {_in_words(actual.get(name))} on disk, {_in_words(expected.get(name))} expected "
                f"(stats.json).\nThe dataset folder has changed since it was built. Run `dvc repro` to rebuild "
                f"{folder.name}."
            )
    return stats


def _parse_stats(path: Path) -> tuple[Stats, dict[str, dict[str, int]]]:
    """Return the statistics, and rows and bytes by file. Their names become paths, so they must be safe."""
    try:
        stats = json.loads(path.read_text(encoding="utf-8"))
        expected = {name: {key: entry[key] for key in ("rows", "bytes")} for name, entry in stats["files"].items()}
        names = {*expected, *(f"{config}/{split}" for config, splits in stats["rows"].items() for split in splits)}
        for name in names:
            config, _, file = name.partition("/")
            safe_name(config), safe_name(file)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path}: not valid statistics of a dataset ({error}). Build the dataset again.") from None
    return stats, expected


def list_configs(name: str, data_dir: str | Path | None = None) -> dict[str, dict[str, int]]:
    """Rows by config and split of a dataset."""
    return read_stats(dataset_folder(name, data_dir))["rows"]


def _in_words(entry: dict[str, int] | None) -> str:
    return f"{entry['rows']:,} rows in {entry['bytes']:,} bytes" if entry else "no file"
