"""Results: one JSON document and one parquet file of per-example scores a task.

    results/<source>/<model>/<task>.json        same inputs, same bytes: no clock, no host
    results/<source>/<model>/<task>.parquet
    results/<source>/<model>.run.json           clock, host and device: beside the results, part of none

Shares are fractions of 1. Intervals are 95 %, bootstrapped over images.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evaluators.engine.encode import Scored
from evaluators.engine.rows import Rows
from evaluators.engine.tasks import warnings
from evaluators.metrics import categories, statistics
from evaluators.models import Model, slug
from evaluators.protocols import recall
from generators.storage.code import code_digest

SCHEMA = 1
SIDE_SUFFIX = ".run.json"
Result = dict[str, Any]


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Digest of the code that a result depends on: this module and everything of ours that it imports."""
    return code_digest(__file__)


def compose(scored: Scored, table: pa.Table, model: Model) -> Result:
    """The result document of one task; ``table`` holds its examples."""
    rows = scored.task.rows
    cluster_N = clusters(table)
    metrics: dict[str, float] = {}
    intervals: dict[str, list[float]] = {}
    chance: dict[str, float] = {}
    deviations: dict[str, float] = {}
    fold_N = scored.task.fold_N[scored.kept_N]
    for direction, answers in scored.found.items():
        cluster_Q = cluster_N[answers.rows(len(cluster_N))]
        bounds = statistics.bootstrap_intervals(answers.values, cluster_Q)
        metrics |= {_join(direction, name): value for name, value in answers.summary().items()}
        intervals |= {_join(direction, name): list(bound) for name, bound in bounds.items()}
        chance |= {_join(direction, name): value for name, value in answers.chance.items()}
        if rows.fold_size is not None:
            found = recall.fold_deviations(answers, fold_N)
            deviations |= {_join(direction, name): value for name, value in found.items()}
    by_category, macro = categories.of_table(scored.found, table, cluster_N)
    folds = None if rows.fold_size is None else int(scored.task.fold_N.max()) + 1
    return describe(rows, model) | {
        "data": describe_data(rows)
        | {"crops": len(np.unique(scored.task.crop_NI)), "images": len(np.unique(cluster_N)), "folds": folds},
        "main": [_join(direction, answers.main) for direction, answers in scored.found.items()],
        "metrics": metrics | {name: mean for name, (mean, _) in macro.items()},
        "intervals": intervals | {name: list(bound) for name, (_, bound) in macro.items()},
        "chance": chance | {name: chance[name.partition("_macro_")[0]] for name in macro},
        "std": deviations,
        "categories": by_category,
        "warnings": [*model.warnings, *warnings(rows.task, rows.source, model)],
        "skipped": scored.skipped,
    }


def _join(direction: str, name: str) -> str:
    return f"{direction}_{name}" if direction else name


def clusters(table: pa.Table) -> np.ndarray:
    """What intervals resample, of each row: its image; itself where there is none."""
    return table["image_id" if "image_id" in table.column_names else "row"].to_numpy(zero_copy_only=False)


def describe(rows: Rows, model: Model) -> Result:
    """The part of a result that says what was measured on what."""
    task = rows.task
    return {
        "schema": SCHEMA,
        "task": task.name,
        "dataset": task.dataset,
        "config": task.config,
        "split": task.split,
        "variant": task.variant,
        "protocol": rows.protocol.name,
        "source": rows.source,
        "synthetic": rows.source == "microworld",
        "model": {
            "spec": model.spec,
            "name": model.name,
            "effective": model.effective or model.name,
            "fingerprint": model.fingerprint,
            "precision": model.precision,
            "corpus": model.corpus,
            "contaminated": model.contaminated,
            "text_encoder": model.text_encoder,
        },
        "data": describe_data(rows),
        "code": {"version": version("compeval"), "fingerprint": code_fingerprint()},
    }


def describe_data(rows: Rows) -> dict[str, Any]:
    return {
        "fingerprint": rows.fingerprint,
        "rows": len(rows),
        "limit": rows.limit,
        "set_size": rows.set_size,
    }


def examples(scored: Scored) -> pa.Table:
    """Per-example scores, in the order of the split; ``scores`` are those of the first image, then of the next.

    What a direction with several queries a row found is a list in each row.
    """
    plan = scored.task
    row_N = plan.row_N[scored.kept_N]
    texts = pa.Table.from_batches(plan.rows.texts()).take(row_N)
    columns: dict[str, Any] = {
        "row": pa.array(row_N, pa.int64()),
        **dict(zip(texts.column_names, texts.columns, strict=True)),
    }
    if scored.score_NIT.size:
        columns["scores"] = pa.array(list(scored.score_NIT.reshape(len(row_N), -1)), pa.list_(pa.float32()))
    if plan.rows.fold_size is not None:
        columns["fold"] = pa.array(plan.fold_N[scored.kept_N], pa.int32())
    for direction, answers in scored.found.items():
        for name, value_Q in answers.columns.items():
            column = pa.array(value_Q)
            if answers.row_Q is not None:
                starts_N = np.searchsorted(answers.row_Q, np.arange(len(row_N) + 1))
                column = pa.ListArray.from_arrays(pa.array(starts_N, pa.int32()), column)
            columns[_join(direction, name)] = column
    return pa.table(columns)


def path_of(output: Path, source: str, spec: str, task: str, limit: int | None = None) -> Path:
    """Where a task's result document lies; that of the first ``limit`` rows in a folder of its own."""
    return output / source / (slug(spec) if limit is None else f"{slug(spec)}-first-{limit}") / f"{task}.json"


def write(path: Path, result: Result, table: pa.Table) -> None:
    """Write both files; the document comes last and says that the result is complete. ValueError if it cannot be.

    An older document goes before the examples are replaced: it would speak of others.
    """
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"

    def write_examples(scratch: Path) -> None:
        pq.write_table(table, scratch, compression="zstd")
        path.unlink(missing_ok=True)

    _replace(path.with_suffix(".parquet"), write_examples)
    _replace(path, lambda scratch: scratch.write_text(text))


def claim(folder: Path) -> None:
    """Make the folder of a model's results. ValueError, before any work is done, if nothing can be written there."""
    probe = folder / ".writable"
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()


def _replace(path: Path, write_to: Callable[[Path], object]) -> None:
    """Write a file whole or not at all. ValueError if it cannot be written."""
    scratch = _scratch(path)
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_to(scratch)
            scratch.replace(path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise


def _scratch(path: Path) -> Path:
    """Where a file is written before it is whole."""
    return path.with_name(f".{path.name}.partial")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the file system as one message about ``path``."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path}: the result cannot be written ({error.strerror or error}). Free some space or name another "
            "--output; what was encoded is kept."
        ) from None


def read(path: Path) -> Result:
    """A result document. ValueError if it is none, FileNotFoundError if there is none."""
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
    """The result that lies at ``path`` if it was made from the same model, data and code without a skipped row."""
    if not (path.is_file() and path.with_suffix(".parquet").is_file()):
        return None
    try:
        found = read(path)
    except ValueError:
        return None
    same = all(found.get(part) == expected[part] for part in ("model", "code"))
    same &= found.get("data", {}).get("fingerprint") == expected["data"]["fingerprint"]
    return found if same and not found.get("skipped") else None


def documents(folder: Path) -> list[Path]:
    """The result documents below a folder, in name order."""
    return sorted(path for path in folder.rglob("*.json") if not path.name.endswith(SIDE_SUFFIX))


def write_side_file(folder: Path, device: str, seconds: float, counts: Mapping[str, int]) -> None:
    """``<folder>.run.json``: when, where and how fast the last run was; no result depends on it."""
    side = {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        "device": device,
        "processors": os.cpu_count(),
        **counts,
    }
    text = json.dumps(side, indent=1) + "\n"
    _replace(_side_file(folder), lambda scratch: scratch.write_text(text))


def side_file_was_cut_off(folder: Path) -> bool:
    """Whether a run was killed while it wrote the folder's side file, so that the next one has to."""
    return _scratch(_side_file(folder)).exists()


def _side_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{SIDE_SUFFIX}")
