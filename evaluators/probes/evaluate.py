"""Evaluate a recovery probe on CompPrompts, and the probed model on ControlledImCaps.

Both are run by ``evaluators.run``, which skips finished tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators import run
from evaluators.engine import tasks
from evaluators.engine.encode import Report, quiet
from evaluators.models import DualEncoder, Model
from evaluators.models.recovery_probe import Probe
from evaluators.probes.analysis import Condition, Recovered, Scores, collect_scores, compute_conditions
from evaluators.protocols import recovery
from evaluators.results.documents import get_result_path
from generators.storage import parquet

BATCH_SIZE = 250
"""Number of texts per beam search."""
IMAGE_DATASET = "controlledimcaps"


@dataclass(frozen=True)
class ProbeResult:
    """Results of a probe, and of the probed model if it encodes images."""

    recovered: Recovered
    scores: dict[str, Scores] = field(default_factory=dict)
    """Config of ControlledImCaps -> scores of the probed model."""
    conditions: dict[bool, Condition] | None = None
    results: Path | None = None
    """Folder of the probed model's results on ControlledImCaps."""


def evaluate_probe(
    probe: Model,
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    report: Report = quiet,
) -> ProbeResult:
    """Evaluate the probe on CompPrompts and, if ControlledImCaps is built, the probed model on ControlledImCaps.

    ``limit``: number of rows per config. Raises ValueError if ``probe`` is not a probe.
    """
    if not isinstance(probe.encoder, Probe):
        raise ValueError(f"{probe.spec} is not a probe. Train a probe with `compeval train probe`.")
    known = tasks.discover(data_dir)
    options: dict[str, Any] = {"data_dir": data_dir, "limit": limit, "output": output, "device": device}
    options["report"] = report
    results = run.run(probe, tasks.select(known, ["compprompts/*"]), batch_size=BATCH_SIZE, **options)
    paths = [get_result_path(output, result["source"], probe.spec, result["task"], limit) for result in results]
    recovered = Recovered(probe.name, read_examples(paths))
    image_tasks = [task for task in known if task.dataset == IMAGE_DATASET]
    model = probe.encoder.encoder
    if not image_tasks or not isinstance(model.encoder, DualEncoder):
        return ProbeResult(recovered)
    results = run.run(model, image_tasks, **options)
    paths = [get_result_path(output, result["source"], model.spec, result["task"], limit) for result in results]
    pairs = read_examples(paths)
    by_recovery = compute_conditions(
        find_recovered_pairs(probe.encoder, pairs), pairs["image_hit"].to_numpy(bool), pairs["text_hit"].to_numpy(bool)
    )
    return ProbeResult(recovered, collect_scores(results), by_recovery, paths[0].parent)


def read_examples(paths: Sequence[Path]) -> pd.DataFrame:
    """Read the per-example rows of several results into one table."""
    return pd.concat([parquet.read_table(path.with_suffix(".parquet")).to_pandas() for path in paths])


def find_recovered_pairs(probe: Probe, pairs: pd.DataFrame) -> np.ndarray:
    """Return True (bool, P) for pairs whose captions are both recovered exactly."""
    captions = sorted({*pairs["caption_0"], *pairs["caption_1"]})
    recovered: list[str] = []
    for start in range(0, len(captions), BATCH_SIZE):
        recovered += probe.recover(captions[start : start + BATCH_SIZE])
    hit = dict(zip(captions, recovery.exact_match(recovered, captions), strict=True))
    return np.array([hit[a] and hit[b] for a, b in zip(pairs["caption_0"], pairs["caption_1"], strict=True)])
