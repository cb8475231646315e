"""Run probes on CompPrompts, and their models on ControlledImCaps: what ``compeval probe run`` does.

    python -m evaluators.probes.run checkpoints/probe/of-*    # the experiment: writes experiments/probe/

Everything is a task of ``evaluators.run``: what lies in the results folder and is up to date is not done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluators import run
from evaluators.engine import tasks
from evaluators.engine.encode import Report, quiet
from evaluators.models import DualEncoder, Model, pick_device, resolve
from evaluators.models.recovery_probe import Probe
from evaluators.probes.analysis import Condition, Correlation, Recovered, conditions, correlation
from evaluators.protocols import recovery
from evaluators.report import recovery_tables
from evaluators.report.recovery_tables import Scores, scores_by_type
from evaluators.report.tables import Table, to_markdown
from evaluators.results.compare import Comparison, compare
from evaluators.results.documents import path_of
from generators.storage import parquet, stage

BATCH = 250
"""Texts whose beams are searched together."""
IMAGES = "controlledimcaps"


@dataclass(frozen=True)
class Found:
    """One probe, and its model where that reads images."""

    recovered: Recovered
    scores: dict[str, Scores] = field(default_factory=dict)
    """Type of ControlledImCaps -> scores of the whole model."""
    conditions: dict[bool, Condition] | None = None
    results: Path | None = None
    """Folder of the model's results on ControlledImCaps."""


def run_probe(
    probe: Model,
    *,
    data_dir: Path | None = None,
    limit: int | None = None,
    output: Path = Path("results"),
    device: str = "cpu",
    report: Report = quiet,
) -> Found:
    """Recover CompPrompts; match ControlledImCaps and recover its captions, where there is such a dataset.

    ``limit``: only the first rows of each config. ValueError if the model is no probe.
    """
    if not isinstance(probe.encoder, Probe):
        raise ValueError(f"{probe.spec} is not a probe. `compeval train probe` makes one.")
    known = tasks.discover(data_dir)
    how: dict[str, Any] = {"data_dir": data_dir, "limit": limit, "output": output, "device": device, "report": report}
    prompts = tasks.select(known, ["compprompts/*"])
    done = run.run(probe, prompts, batch_size=BATCH, **how)
    paths = [path_of(output, result["source"], probe.spec, result["task"], limit) for result in done]
    recovered = Recovered(probe.name, read_examples(paths))
    pairs = [task for task in known if task.dataset == IMAGES]
    whole = probe.encoder.encoder
    if not pairs or not isinstance(whole.encoder, DualEncoder):
        return Found(recovered)
    matched = run.run(whole, pairs, **how)
    paths = [path_of(output, result["source"], whole.spec, result["task"], limit) for result in matched]
    rows = read_examples(paths)
    both_P = both_recovered(probe.encoder, rows)
    found = conditions(both_P, rows["image_hit"].to_numpy(bool), rows["text_hit"].to_numpy(bool))
    return Found(recovered, scores_by_type(matched), found, paths[0].parent)


def read_examples(paths: Sequence[Path]) -> pd.DataFrame:
    """The examples of results."""
    return pd.concat([parquet.read_table(path.with_suffix(".parquet")).to_pandas() for path in paths])


def both_recovered(probe: Probe, rows: pd.DataFrame) -> np.ndarray:
    """Whether both captions (bool, P) of the pairs were recovered exactly."""
    captions = sorted({*rows["caption_0"], *rows["caption_1"]})
    found: list[str] = []
    for start in range(0, len(captions), BATCH):
        found += probe.recover(captions[start : start + BATCH])
    right = dict(zip(captions, recovery.exact_match(found, captions), strict=True))
    return np.array([right[a] and right[b] for a, b in zip(rows["caption_0"], rows["caption_1"], strict=True)])


def compare_models(found: Sequence[Found]) -> dict[str, list[Comparison]]:
    """Every two models that read images, B minus A, by type of ControlledImCaps."""
    able = [one for one in found if one.results is not None]
    return {
        f"{a.recovered.name}, {b.recovered.name}": compare(a.results, b.results)
        for a, b in combinations(able, 2)
        if a.results is not None and b.results is not None
    }


def correlate(found: Sequence[Found]) -> dict[str, Correlation]:
    """Table 4's correlation for either score, over types and models."""
    lines = {}
    for score in ("image", "text"):
        matches = {f"{one.recovered.name} {kind}": one.recovered.of_type(kind) for one in found for kind in one.scores}
        scores = {
            f"{one.recovered.name} {kind}": getattr(told, score) for one in found for kind, told in one.scores.items()
        }
        if line := correlation(matches, scores):
            lines[score] = line
    return lines


def tables(found: Sequence[Found]) -> list[Table]:
    """All tables that there are results for."""
    probes = [one.recovered for one in found]
    made = [recovery_tables.overall(probes), *recovery_tables.by_prompt_type(probes)]
    made += [recovery_tables.beside_images(one.recovered, one.scores) for one in found if one.scores]
    if met := {one.recovered.name: one.conditions for one in found if one.conditions}:
        made.append(recovery_tables.necessity(met))
    if lines := correlate(found):
        made.append(recovery_tables.correlations(lines))
    if compared := compare_models(found):
        made.append(recovery_tables.comparisons(compared))
    return made


def figures(found: Sequence[Found]) -> dict[str, Any]:
    """The numbers behind the tables, by probe, for a JSON file; shares are fractions of 1."""
    return {
        one.recovered.name: {
            "exact_match_cell_mean": one.recovered.cell_mean(),
            "exact_match_prompt_mean": one.recovered.prompt_mean(),
            "bleu4_cell_mean": one.recovered.cell_mean("bleu4"),
            "bleu4_prompt_mean": one.recovered.prompt_mean("bleu4"),
            "shuffled": None if np.isnan(share := one.recovered.shuffled()) else share,
            "exact_match": one.recovered.by_cell().to_dict(),
            "controlledimcaps": {kind: score._asdict() for kind, score in one.scores.items()},
            "by_recovery": {
                "recovered" if both else "not recovered": condition._asdict()
                for both, condition in (one.conditions or {}).items()
                if condition.pairs
            },
        }
        for one in found
    }


def write(folder: Path, found: Sequence[Found]) -> None:
    """``README.md``, the tables, and ``figures.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(map(to_markdown, tables(found))))
    stage.write_json(folder / "figures.json", figures(found))


def main(probes: list[Path], output: Path = Path("experiments/probe"), results: Path = Path("results/probe")) -> None:
    """Run the PROBES, folders, and write their tables to OUTPUT, each task's result to RESULTS."""
    device = pick_device()
    write(output, [run_probe(resolve(f"local:{folder}", device), output=results, device=device) for folder in probes])


if __name__ == "__main__":
    stage.run(main)
