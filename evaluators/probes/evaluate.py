"""Evaluate a recovery probe on CompPrompts and the model whose vectors it reads on ControlledImCaps.

Both are tasks of ``evaluators.run``: finished tasks are skipped.
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
from evaluators.probes.analysis import Condition, Recovered, Scores, conditions, scores_by_type
from evaluators.protocols import recovery
from evaluators.results.documents import path_of
from generators.storage import parquet

BATCH_SIZE = 250
"""Texts per beam search."""
IMAGE_DATASET = "controlledimcaps"


@dataclass(frozen=True)
class ProbeResult:
    """Results of one probe, and of its model if that encodes images."""

    recovered: Recovered
    scores: dict[str, Scores] = field(default_factory=dict)
    """Config of ControlledImCaps -> scores of the model."""
    conditions: dict[bool, Condition] | None = None
    results: Path | None = None
    """Folder of the model's results on ControlledImCaps."""


def evaluate_probe(
    probe: Model,
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    report: Report = quiet,
) -> ProbeResult:
    """Run the probe on CompPrompts; if ControlledImCaps is built, run its model there and recover its captions.

    ``limit``: only the first rows of each config. ValueError if the model is no probe.
    """
    if not isinstance(probe.encoder, Probe):
        raise ValueError(f"{probe.spec} is not a probe. `compeval train probe` makes one.")
    known = tasks.discover(data_dir)
    options: dict[str, Any] = {"data_dir": data_dir, "limit": limit, "output": output, "device": device}
    options["report"] = report
    results = run.run(probe, tasks.select(known, ["compprompts/*"]), batch_size=BATCH_SIZE, **options)
    paths = [path_of(output, result["source"], probe.spec, result["task"], limit) for result in results]
    recovered = Recovered(probe.name, read_examples(paths))
    image_tasks = [task for task in known if task.dataset == IMAGE_DATASET]
    model = probe.encoder.encoder
    if not image_tasks or not isinstance(model.encoder, DualEncoder):
        return ProbeResult(recovered)
    results = run.run(model, image_tasks, **options)
    paths = [path_of(output, result["source"], model.spec, result["task"], limit) for result in results]
    pairs = read_examples(paths)
    by_recovery = conditions(
        both_recovered(probe.encoder, pairs), pairs["image_hit"].to_numpy(bool), pairs["text_hit"].to_numpy(bool)
    )
    return ProbeResult(recovered, scores_by_type(results), by_recovery, paths[0].parent)


def read_examples(paths: Sequence[Path]) -> pd.DataFrame:
    """The per-example rows of several results."""
    return pd.concat([parquet.read_table(path.with_suffix(".parquet")).to_pandas() for path in paths])


def both_recovered(probe: Probe, pairs: pd.DataFrame) -> np.ndarray:
    """True where both captions of a pair are recovered exactly (bool, P)."""
    captions = sorted({*pairs["caption_0"], *pairs["caption_1"]})
    recovered: list[str] = []
    for start in range(0, len(captions), BATCH_SIZE):
        recovered += probe.recover(captions[start : start + BATCH_SIZE])
    hit = dict(zip(captions, recovery.exact_match(recovered, captions), strict=True))
    return np.array([hit[a] and hit[b] for a, b in zip(pairs["caption_0"], pairs["caption_1"], strict=True)])
