"""Read and write results: per task, a JSON document and a parquet file of per-example scores.

results/<source>/<model>/<task>.json        the result; contains no time and no host, so equal inputs have equal bytes
results/<source>/<model>/<task>.parquet     per-example scores
results/<source>/<model>.run.json           time, host and device of the last run (side file)
"""

from __future__ import annotations

import difflib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from compeval.base.files.atomic import atomic_file
from compeval.base.files.listing import list_files
from compeval.base.files.untrusted import resolve_below, safe_name
from compeval.evaluators.models import Model, slug
from compeval.loaders.datasets.sorting import natural_key

SCHEMA = 1
SIDE_SUFFIX = ".run.json"
Result = dict[str, Any]


def get_model_folder(output: Path, source: str, model: str, limit: int | None = None) -> Path:
    """Return the folder of a model's results, given its name. Results on ``limit`` rows have their own folder."""
    name = slug(model) if limit is None else f"{slug(model)}-first-{limit}"
    return output / safe_name(source) / safe_name(name)


def get_result_path(folder: Path, task: str) -> Path:
    """Return the path of a task's result document in the folder of a model's results."""
    return resolve_below(folder, f"{task}.json")


def check_owner(folder: Path, model: Model) -> None:
    """Raise ValueError if a folder has results of another model with the same name."""
    for result in read_undamaged(folder).values():
        owner = result["model"]
        if model.spec != owner["spec"] and model.fingerprint != owner["fingerprint"]:
            raise ValueError(
                f"{folder}: has results of {owner['spec']}, another model named {model.name}. Choose another name for "
                f"{model.spec} with --name, or another folder with --output."
            )


def get_side_file(folder: Path) -> Path:
    """Return the path of a model folder's side file."""
    return folder.with_name(f"{folder.name}{SIDE_SUFFIX}")


def write(path: Path, result: Result, examples: pa.Table) -> None:
    """Write the examples and then the document, which marks the result as complete.

    An existing document is deleted before its examples are replaced. Raises ValueError if a file cannot be written.
    """
    parquet = path.with_suffix(".parquet")
    with _raise_value_error(parquet), atomic_file(parquet) as partial:
        pq.write_table(examples, partial, compression="zstd")
        path.unlink(missing_ok=True)
    write_document(path, result)


def format_document(result: Result) -> str:
    """Return the text of a result document."""
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def write_document(path: Path, result: Result) -> None:
    """Write the document of examples that are complete, or a side file. Raises ValueError if it cannot be written."""
    text = format_document(result)
    with _raise_value_error(path), atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def make_folder(folder: Path) -> None:
    """Create a folder for results. Raises ValueError if it is not writable."""
    with _raise_value_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_side_file(folder: Path, device: str, seconds: float, counts: Mapping[str, int]) -> None:
    """Write the side file ``<folder>.run.json``: time, host, device and speed of the last run."""
    record = {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        "device": device,
        "processors": os.cpu_count(),
        **counts,
    }
    write_document(get_side_file(folder), record)


def read_time(path: Path, task: str) -> datetime | None:
    """Return when a model was last evaluated (UTC), given its result document of a task.

    None if the side file is missing or damaged.
    """
    side_file = get_side_file(path.parents[len(Path(task).parts) - 1])
    try:
        return datetime.fromisoformat(json.loads(side_file.read_text(encoding="utf-8"))["finished"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


@contextmanager
def _raise_value_error(path: Path) -> Iterator[None]:
    """Convert an OSError into a ValueError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path}: the result cannot be written ({error.strerror or error}). Free some space or choose another "
            "--output. Encoded features are kept."
        ) from None


def missing_result(path: Path) -> FileNotFoundError:
    """Return the error for a path without a result, with the similar name where the path ends."""
    missing = path
    while not missing.parent.exists():
        missing = missing.parent
    names = [child.name for child in missing.parent.iterdir()] if missing.parent.is_dir() else []
    close = difflib.get_close_matches(missing.name, names, n=1)
    hint = (
        f" Did you mean {missing.with_name(close[0]) / path.relative_to(missing)}?" if close else ""
    )
    return FileNotFoundError(
        f"{path}: no such result.{hint} `compeval run` writes results to results/."
    )


def read(path: Path) -> Result:
    """Read a result document.

    Raises FileNotFoundError if it is missing and ValueError if it is not a result document.
    """
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise missing_result(path) from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # not JSON, not in UTF-8, too deep, or an integer that is too long
        raise ValueError(f"{path}: not a result document ({error}).") from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise ValueError(f"{path}: not a result document of schema {SCHEMA}.")
    return result


def read_if_finished(path: Path, expected: Mapping[str, Any]) -> Result | None:
    """Read the result at ``path`` if it is complete and has the expected model, data and code. Otherwise returns None.

    A result with skipped rows is not complete.
    """
    if not path.with_suffix(".parquet").is_file():
        return None
    try:
        result = read(path)
    except (ValueError, FileNotFoundError):
        return None
    is_same_model = result.get("model") == expected["model"]
    return (
        result
        if is_same_model and is_finished(result, expected["data"]["fingerprint"], expected["code"])
        else None
    )


def is_finished(result: Result, data_fingerprint: str, code: Mapping[str, str]) -> bool:
    """Return True if no row was skipped and the result has the expected data and code."""
    is_same_data = result.get("data", {}).get("fingerprint") == data_fingerprint
    return is_same_data and result.get("code") == code and not result.get("skipped")


def read_all(folders: Iterable[Path]) -> dict[Path, Result]:
    """Return the result documents in folders and their subfolders, by their paths, in natural order."""
    return {path: read(path) for folder in folders for path in list_documents(folder)}


def read_undamaged(folder: Path) -> dict[Path, Result]:
    """Return the result documents in a folder, without those that are damaged or that another process replaces."""
    results: dict[Path, Result] = {}
    for path in list_documents(folder):
        with suppress(ValueError, FileNotFoundError):
            results[path] = read(path)
    return results


def list_documents(folder: Path) -> list[Path]:
    """Return the paths of all result documents in a folder and its subfolders, in natural order.

    Hidden files and folders, such as ``.ipynb_checkpoints`` and ``._NAME.json``, contain no results.
    """
    paths = (
        path for path in list_files(folder, "**/*.json") if not path.name.endswith(SIDE_SUFFIX)
    )
    return sorted(paths, key=lambda path: list(map(natural_key, path.with_suffix("").parts)))
