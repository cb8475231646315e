"""Evaluate a recovery probe on CompPrompts, and the model that it probes on ControlledImCaps.

ControlledImCaps may be built from the micro-world and from photographs (PAIR_DATASETS).

A recovery probe is a decoder that is trained to recover a text from the features of a frozen text encoder (Kamath et
al. 2023, arXiv:2305.14897). Both evaluations use ``compeval.evaluators.run``, which skips finished tasks.

Shapes: P pairs of ControlledImCaps (two images with one caption each).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from compeval.base.storage import parquet
from compeval.evaluators.engine import tasks
from compeval.evaluators.engine.encode import Report, no_progress
from compeval.evaluators.models import DualEncoder, Model
from compeval.evaluators.models.recovery_probe import Probe
from compeval.evaluators.probes.analysis import (
    PAIR_DATASETS,
    Condition,
    Recovered,
    Scores,
    collect_scores,
    compute_conditions,
)
from compeval.evaluators.protocols import recovery
from compeval.evaluators.results.documents import Result, get_model_folder, get_result_path
from compeval.evaluators.run import EvaluationOptions, run

BATCH_SIZE = 250
"""Number of texts that the probe decodes at once."""


@dataclass(frozen=True)
class PairResult:
    """Results of the probed model on a dataset of image pairs."""

    scores: dict[str, Scores]
    """Config -> scores."""
    conditions: dict[bool, Condition]
    """Shares of zero scores, of pairs whose captions were recovered exactly (True) and of all others (False)."""
    results_folder: Path


@dataclass(frozen=True)
class ProbeResult:
    """Results of a probe, and of the probed model if it was evaluated."""

    recovered: Recovered
    """The texts that the probe recovered from CompPrompts."""
    pairs: dict[str, PairResult] = field(default_factory=dict)
    """Dataset (a key of PAIR_DATASETS) -> results of the probed model."""


def evaluate_probe(
    probe_model: Model,
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    report: Report = no_progress,
) -> ProbeResult:
    """Evaluate a probe on CompPrompts and the probed model on all datasets of image pairs.

    The second evaluation is skipped if no such dataset is built or the probed model does not encode images.
    ``limit``: maximum number of rows per config. Raises ValueError if ``probe_model`` is not a probe.
    """
    probe = probe_model.encoder
    if not isinstance(probe, Probe):
        raise ValueError(
            f"{probe_model.spec} is not a probe. Train a probe with `compeval train probe`."
        )
    available = tasks.discover(data_dir)
    options = EvaluationOptions(data_dir=data_dir, limit=limit, output=output, device=device)
    texts = tasks.select(available, ["compprompts/*"])
    _, paths = _run(probe_model, texts, replace(options, batch_size=BATCH_SIZE), report)
    recovered = Recovered(probe_model.name, read_examples(paths))
    pair_results: dict[str, PairResult] = {}
    for dataset in PAIR_DATASETS if isinstance(probe.encoder.encoder, DualEncoder) else ():
        if not (pair_tasks := [task for task in available if task.dataset == dataset]):
            continue
        results, paths = _run(probe.encoder, pair_tasks, options, report)
        pairs = read_examples(paths)
        conditions = compute_conditions(
            find_recovered_pairs(probe, pairs),
            pairs["image_hit"].to_numpy(bool),
            pairs["text_hit"].to_numpy(bool),
        )
        pair_results[dataset] = PairResult(collect_scores(results), conditions, paths[0].parent)
    return ProbeResult(recovered, pair_results)


def _run(
    model: Model, selected: Sequence[tasks.Task], options: EvaluationOptions, report: Report
) -> tuple[list[Result], list[Path]]:
    """Return the results of a model and the paths of their documents."""
    results = run(model, selected, options, report)
    paths: list[Path] = []
    for result in results:
        folder = get_model_folder(options.output, result["source"], model.name, options.limit)
        paths.append(get_result_path(folder, result["task"]))
    return results, paths


def read_examples(paths: Sequence[Path]) -> pd.DataFrame:
    """Read the per-example tables of several results and concatenate them."""
    return pd.concat(
        [parquet.read_table(path.with_suffix(".parquet")).to_pandas() for path in paths]
    )


def find_recovered_pairs(probe: Probe, pairs: pd.DataFrame) -> np.ndarray:
    """Return a boolean mask (P,): True if the probe recovers both captions of a pair exactly."""
    captions = sorted({*pairs["caption_0"], *pairs["caption_1"]})
    recovered: list[str] = []
    for start in range(0, len(captions), BATCH_SIZE):
        recovered += probe.recover(captions[start : start + BATCH_SIZE])
    is_recovered = dict(zip(captions, recovery.exact_match(recovered, captions), strict=True))
    return np.array(
        [
            is_recovered[a] and is_recovered[b]
            for a, b in zip(pairs["caption_0"], pairs["caption_1"], strict=True)
        ]
    )
