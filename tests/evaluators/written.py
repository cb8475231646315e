"""Results as `compeval run` writes them, with made-up values, for tests of everything that reads results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

EXAMPLES = {
    "row": [0, 1, 2],
    "crop_id": ["c0", "c1", "c2"],
    "image_id": ["0", "1", "2"],
    "caption": ["red ball", "red ball too", "red ball three"],
    "hard_negatives": [["blue ball", "red kite"]] * 3,
    "scores": [[0.9, 0.1, 0.2], [0.3, 0.8, 0.1], [0.5, 0.5, 0.1]],
    "rank": [1, 2, 2],
}
"""The first row of the default examples is a hit, the second a miss, the third a tie."""


def write_result(
    root: Path,
    model: str,
    task: str,
    metrics: Mapping[str, float],
    examples: Mapping[str, Sequence[Any]] | None = None,
    *,
    corpus: str | None = None,
    chance: float | Mapping[str, float] = 1 / 3,
    data: Mapping[str, object] | None = None,
    **changes: Any,
) -> Path:
    """Write the result of a model on a task and return its path. Intervals extend 0.1 to both sides of the values."""
    name, _, variant = task.partition("@")
    dataset, config, *split = name.split("/")
    described = {
        "spec": model,
        "name": model,
        "effective": model,
        "corpus": corpus,
        "contaminated": None,
    }
    document = {
        **{
            "schema": 1,
            "task": task,
            "dataset": dataset,
            "config": config,
            "split": split[0] if split else "test",
        },
        **{
            "variant": variant or None,
            "protocol": "choice",
            "source": "microworld",
            "synthetic": True,
        },
        "model": described | {"precision": "fp32"} | changes.pop("about", {}),
        "data": {
            "fingerprint": f"data of {task}",
            "version": "v1",
            "rows": 30,
            "limit": None,
            "set_size": 3,
            **(data or {}),
        },
        **{
            "code": {"version": "0.1.0", "fingerprint": "c" * 16},
            "main": list(metrics)[:1],
            "metrics": metrics,
        },
        "intervals": {name: [value - 0.1, value + 0.1] for name, value in metrics.items()},
        "chance": dict.fromkeys(metrics, chance) if isinstance(chance, float) else chance,
        **{"std": {}, "categories": {}, "warnings": [], "skipped": []},
    }
    path = root / model.replace("/", "--") / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document | changes), encoding="utf-8")
    pd.DataFrame(EXAMPLES if examples is None else examples).to_parquet(
        path.with_suffix(".parquet")
    )
    return path


def write_hits(
    root: Path, model: str, task: str, hits: int, rows: int = 60, **changes: Any
) -> Path:
    """Write a result on rows of as many images, of which the first ``hits`` are hits."""
    rank = [1] * hits + [2] * (rows - hits)
    examples = {
        **{"row": range(rows), "image_id": [f"{task} {row}" for row in range(rows)], "rank": rank},
        **{"caption": ["<b>a</b> cat"] * rows, "hard_negatives": [["a dog"]] * rows},
        "scores": [[2.0 - value, 0.5] for value in rank],
    }
    data = {"rows": rows, "set_size": 6, **changes.pop("data", {})}
    metrics = changes.pop("metrics", {"recall@1": hits / rows})
    return write_result(
        root, model, task, metrics, examples, data=data, **{"chance": 1 / 6, **changes}
    )
