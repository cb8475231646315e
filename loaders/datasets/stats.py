"""Measure a dataset folder, and check it against the statistics that were written when it was built.

The statistics are in ``stats.json`` and have these keys: ``version`` (a hash over all files), ``rows`` (number of rows
by config and split), ``files`` (number of rows, bytes and SHA-256 by path), ``images`` (SHA-256 of the lists of image
files, by path), ``sources`` (of the images of each config), and the counts of the generating stages. A folder that
differs from its ``stats.json`` is not loaded.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from compeval.base.files.hashes import hash_file
from compeval.base.files.listing import list_files
from compeval.base.files.untrusted import safe_name
from compeval.base.storage import parquet
from compeval.base.storage.crops import HASHES, IMAGES
from compeval.loaders.datasets.folders import dataset_folder
from compeval.loaders.datasets.sorting import sort_rows

Stats = dict[str, Any]


def parquet_files(folder: Path) -> list[Path]:
    """Return all parquet files of a dataset folder, sorted by name."""
    return list_files(folder, "*/*.parquet")


def split_name(path: Path) -> str:
    """Return the split of a parquet file, for example ``n4`` for ``n4-00000-of-00001.parquet``."""
    return path.name.rsplit("-", 3)[0]


def measure_files(
    folder: Path, config: str | None = None, split: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return the number of rows and bytes of each parquet file, or of the files of a config or split, by path."""
    return {
        str(path.relative_to(folder)): {
            "rows": parquet.count_rows(path),
            "bytes": path.stat().st_size,
        }
        for path in parquet_files(folder)
        if config in (None, path.parent.name) and split in (None, split_name(path))
    }


def measure(folder: Path) -> Stats:
    """Return the files with their SHA-256, the rows by config and split, and the version of a dataset folder."""
    files: dict[str, dict[str, Any]] = measure_files(folder)
    for name, entry in files.items():
        entry["sha256"] = hash_file(folder / name)
    images = {
        path.relative_to(folder).as_posix(): hash_file(path)
        for path in sorted(folder.glob(f"{IMAGES}/*/{HASHES}"))
    }
    rows: dict[str, dict[str, int]] = {}
    for name, entry in files.items():
        path = Path(name)
        splits = rows.setdefault(path.parent.name, {})
        splits[split_name(path)] = splits.get(split_name(path), 0) + entry["rows"]
    hashes = {name: entry["sha256"] for name, entry in files.items()} | images
    digest = hashlib.sha256(
        "".join(f"{name} {sha256}\n" for name, sha256 in hashes.items()).encode()
    )
    return {
        "version": digest.hexdigest()[:16],
        "rows": sort_rows(rows),
        "files": files,
        "images": images,
    }


def read_stats(folder: Path, config: str | None = None, split: str | None = None) -> Stats:
    """Return the folder's stats.json. Configs and splits are in natural order.

    Raises ValueError if stats.json is not valid, or if the parquet files of the folder differ from it. If ``config`` or
    ``split`` is given, only the files of this config or split are compared.
    """
    stats, expected = _parse_stats(folder / "stats.json")
    actual = measure_files(folder, config, split)
    for name in sorted(expected.keys() | actual.keys()):
        is_compared = config in (None, Path(name).parent.name) and split in (
            None,
            split_name(Path(name)),
        )
        if is_compared and expected.get(name) != actual.get(name):
            raise ValueError(
                f"{folder / name}: {_in_words(actual.get(name))} on disk, {_in_words(expected.get(name))} expected "
                f"(stats.json).\nThe dataset folder has changed since it was built. Run `dvc repro` to rebuild "
                f"{folder.name}."
            )
    return stats


def _parse_stats(path: Path) -> tuple[Stats, dict[str, dict[str, int]]]:
    """Return the statistics, and the number of rows and bytes by file. Raises ValueError if a file name is unsafe."""
    try:
        stats = json.loads(path.read_text(encoding="utf-8"))
        expected = {
            name: {key: entry[key] for key in ("rows", "bytes")}
            for name, entry in stats["files"].items()
        }
        names = {
            *expected,
            *(f"{config}/{split}" for config, splits in stats["rows"].items() for split in splits),
        }
        hashes = [entry["sha256"] for entry in stats["files"].values()] + [
            *stats.get("images", {}).values()
        ]
        if not all(isinstance(text, str) for text in (stats["version"], *hashes)):
            raise TypeError("a version or hash is not a text")
        for name in names:
            config, _, file = name.partition("/")
            safe_name(config)
            safe_name(file)
        stats["rows"] = sort_rows(stats["rows"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path}: not valid statistics of a dataset ({error}). Build the dataset again."
        ) from None
    return stats, expected


def list_configs(name: str, data_dir: str | Path | None = None) -> dict[str, dict[str, int]]:
    """Return the number of rows of a dataset by config and split, as in its stats.json."""
    return list_rows(dataset_folder(name, data_dir))


def list_rows(folder: Path) -> dict[str, dict[str, int]]:
    """Return the number of rows by config and split from stats.json, without reading the parquet files."""
    return _parse_stats(folder / "stats.json")[0]["rows"]


def read_version(folder: Path) -> str:
    """Return the version of a dataset folder from its stats.json, without reading the parquet files."""
    return _parse_stats(folder / "stats.json")[0]["version"]


def _in_words(entry: dict[str, int] | None) -> str:
    return f"{entry['rows']:,} rows in {entry['bytes']:,} bytes" if entry else "no file"
