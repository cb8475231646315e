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
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evaluators import fingerprint, protocols, statistics
from evaluators.engine import Scored
from evaluators.models import Model, slug
from evaluators.rows import Rows
from evaluators.tasks import warnings

SCHEMA = 1
SIDE_SUFFIX = ".run.json"
Result = dict[str, Any]


def compose(scored: Scored, table: pa.Table, model: Model) -> Result:
    """The result document of one task; ``table`` holds its examples."""
    rows = scored.task.rows
    image_ids = table["image_id"].to_numpy(zero_copy_only=False)
    metrics: dict[str, float] = {}
    intervals: dict[str, list[float]] = {}
    chance: dict[str, float] = {}
    for direction, found in scored.found.items():
        prefix = f"{direction}_" if direction else ""
        metrics |= {f"{prefix}{name}": value for name, value in protocols.summary(found, rows.set_size).items()}
        chance |= {f"{prefix}{name}": value for name, value in protocols.chance(rows.set_size).items()}
        for name, value_N in protocols.row_values(found.rank_N, rows.set_size).items():
            intervals[f"{prefix}{name}"] = list(statistics.bootstrap_interval(value_N, image_ids))
    folds = None if rows.fold_size is None else int(scored.task.fold_N.max()) + 1
    return describe(rows, model) | {
        "data": describe_data(rows)
        | {"crops": len(np.unique(scored.task.crop_N)), "images": len(np.unique(image_ids)), "folds": folds},
        "metrics": metrics,
        "intervals": intervals,
        "chance": chance,
        "std": {} if folds is None else _fold_deviations(scored),
        "warnings": [*model.warnings, *warnings(rows.task, rows.source, model)],
        "skipped": scored.skipped,
    }


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
        "protocol": rows.protocol,
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
        },
        "data": describe_data(rows),
        "code": {"version": version("compeval"), "fingerprint": fingerprint.of_code()},
    }


def describe_data(rows: Rows) -> dict[str, Any]:
    return {
        "fingerprint": rows.fingerprint,
        "rows": len(rows),
        "limit": rows.limit,
        "set_size": rows.set_size,
    }


def _fold_deviations(scored: Scored) -> dict[str, float]:
    """Population standard deviation of each metric over the folds (0 for a single one, as in Table 15)."""
    fold_N = scored.task.fold_N[scored.kept_N]
    deviations: dict[str, float] = {}
    for direction, found in scored.found.items():
        by_fold = [
            protocols.summary(
                protocols.Ranks(found.rank_N[fold_N == fold], found.tie_N[fold_N == fold]), scored.task.rows.set_size
            )
            for fold in np.unique(fold_N)
        ]
        for name in by_fold[0]:
            deviations[f"{direction}_{name}"] = float(np.std([fold[name] for fold in by_fold]))
    return deviations


def examples(scored: Scored) -> pa.Table:
    """Per-example scores, in the order of the split."""
    plan = scored.task
    row_N = plan.row_N[scored.kept_N]
    texts = pa.Table.from_batches(plan.rows.texts()).take(row_N)
    columns: dict[str, Any] = {
        "row": pa.array(row_N, pa.int64()),
        **dict(zip(texts.column_names, texts.columns, strict=True)),
    }
    if plan.rows.protocol == "choice":
        columns["scores"] = pa.array(list(scored.score_NK), pa.list_(pa.float32()))
        columns |= {"rank": pa.array(scored.found[""].rank_N), "tie": pa.array(scored.found[""].tie_N)}
    else:
        columns["fold"] = pa.array(plan.fold_N[scored.kept_N], pa.int32())
        columns["score"] = pa.array(scored.score_NK[:, 0])
        columns |= {f"{name}_rank": pa.array(found.rank_N) for name, found in scored.found.items()}
        columns |= {f"{name}_tie": pa.array(found.tie_N) for name, found in scored.found.items()}
    return pa.table(columns)


def path_of(output: Path, source: str, spec: str, task: str, limit: int | None = None) -> Path:
    """Where a task's result document lies; that of the first ``limit`` rows in a folder of its own."""
    return output / source / (slug(spec) if limit is None else f"{slug(spec)}-first-{limit}") / f"{task}.json"


def write(path: Path, result: Result, table: pa.Table) -> None:
    """Write both files; the document comes last and says that the result is complete. ValueError if it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path.with_suffix(".parquet"), lambda scratch: pq.write_table(table, scratch, compression="zstd"))
        _replace(path, lambda scratch: scratch.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n"))
    except OSError as error:
        raise ValueError(
            f"{path}: the result cannot be written ({error.strerror or error}). Name another --output."
        ) from None


def _replace(path: Path, write_to: Callable[[Path], object]) -> None:
    scratch = path.with_name(f".{path.name}.partial")
    write_to(scratch)
    scratch.replace(path)


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
    folder.with_name(f"{folder.name}{SIDE_SUFFIX}").write_text(json.dumps(side, indent=1) + "\n")
