"""Results on disk: one JSON document and one parquet file of per-example scores per task.

results/<source>/<model>/<task>.json        same inputs, same bytes: no clock, no host
results/<source>/<model>/<task>.parquet
results/<source>/<model>.run.json           clock, host and device of the last run; no result depends on it
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluators.models import slug
from generators.storage.atomic import atomic_file

SCHEMA = 1
SIDE_SUFFIX = ".run.json"
Result = dict[str, Any]


def model_folder(output: Path, source: str, spec: str, limit: int | None = None) -> Path:
    """Folder of a model's results; those on the first ``limit`` rows have their own."""
    return output / source / (slug(spec) if limit is None else f"{slug(spec)}-first-{limit}")


def path_of(output: Path, source: str, spec: str, task: str, limit: int | None = None) -> Path:
    """Path of a task's result document."""
    return model_folder(output, source, spec, limit) / f"{task}.json"


def side_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{SIDE_SUFFIX}")


def write(path: Path, result: Result, examples: pa.Table) -> None:
    """Write both files, the document last: it marks a complete result. ValueError if they cannot be written.

    An older document is deleted before its examples are replaced.
    """
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    parquet = path.with_suffix(".parquet")
    with _one_message(parquet), atomic_file(parquet) as partial:
        pq.write_table(examples, partial, compression="zstd")
        path.unlink(missing_ok=True)
    with _one_message(path), atomic_file(path) as partial:
        partial.write_text(text)


def make_folder(folder: Path) -> None:
    """Create a folder of results. ValueError if it is not writable."""
    probe = folder / ".writable"
    with _one_message(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()


def write_side_file(folder: Path, device: str, seconds: float, counts: Mapping[str, int]) -> None:
    """Write ``<folder>.run.json``: time, host, device and speed of the last run."""
    record = {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        "device": device,
        "processors": os.cpu_count(),
        **counts,
    }
    path = side_file(folder)
    with _one_message(path), atomic_file(path) as partial:
        partial.write_text(json.dumps(record, indent=1) + "\n")


@contextmanager
def _one_message(path: Path) -> Iterator[None]:
    """Turn an OSError into a ValueError about ``path``."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path}: the result cannot be written ({error.strerror or error}). Free some space or name another "
            "--output; encoded features are kept."
        ) from None


def read(path: Path) -> Result:
    """A result document. FileNotFoundError or ValueError if it is missing or not a result document."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such result. `compeval run` writes them below results/.")
    try:
        result = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not a result document ({error}).") from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise ValueError(f"{path}: not a result document of schema {SCHEMA}.")
    return result


def finished(path: Path, expected: Mapping[str, Any]) -> Result | None:
    """The result at ``path`` if it has the expected model, data and code, and no skipped row; else None."""
    if not (path.is_file() and path.with_suffix(".parquet").is_file()):
        return None
    try:
        result = read(path)
    except ValueError:
        return None
    same = all(result.get(part) == expected[part] for part in ("model", "code"))
    same &= result.get("data", {}).get("fingerprint") == expected["data"]["fingerprint"]
    return result if same and not result.get("skipped") else None


def documents(folder: Path) -> list[Path]:
    """The result documents below a folder, in name order."""
    return sorted(path for path in folder.rglob("*.json") if not path.name.endswith(SIDE_SUFFIX))
