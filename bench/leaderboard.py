"""A leaderboard of a hundred simulated models of known ability: python -m bench.leaderboard FOLDER

Three benchmarks of 2,000 rows (three per image). The ability of a model is its probability to solve a row of mean
difficulty; rows of an image share a difficulty. Twenty groups of five models have equal abilities. Printed: how many
pairs of different ability differ significantly, and in how many simulated benchmarks some pair of equal ability does
(at most 5 % of them, since p-values are Holm-corrected over all pairs). A page is written to FOLDER.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import expit, logit

from evaluators.metrics import ranking

MODELS, GROUP, ROWS, ROWS_PER_IMAGE, REPETITIONS = 100, 5, 2000, 3, 100
BENCHMARKS = {"alpha/choice": 0.5, "beta/choice": 0.2, "gamma/choice": 0.5}
"""Task -> chance."""


def draw_abilities(generator: np.random.Generator) -> np.ndarray:
    """Return the true abilities of the models: equal within each group."""
    return np.repeat(generator.uniform(0.35, 0.9, MODELS // GROUP), GROUP)


def draw_hits(generator: np.random.Generator, ability_M: np.ndarray) -> np.ndarray:
    """Return hits (M, N): logistic, with a difficulty of the image, of the row, and of the row for the model."""
    image_N = generator.normal(0, 0.7, ROWS // ROWS_PER_IMAGE + 1).repeat(ROWS_PER_IMAGE)[:ROWS]
    easiness_N = image_N + generator.normal(0, 0.7, ROWS)
    return generator.random((len(ability_M), ROWS)) < expit(logit(ability_M)[:, None] + easiness_N)


def measure_errors() -> None:
    generator, image_N = np.random.default_rng(0), np.arange(ROWS) // ROWS_PER_IMAGE
    any_false, false_pairs, found, gaps = 0, 0, 0, 0
    near_found, near = 0, 0
    for _ in range(REPETITIONS):
        ability_M = draw_abilities(generator)
        p_MM = ranking.correct_pairs(ranking.compare_all_pairs(draw_hits(generator, ability_M), image_N)[1])
        upper = np.triu_indices(MODELS, 1)
        gap = np.abs(ability_M[:, None] - ability_M)[upper]
        different = p_MM[upper] < 0.05
        any_false += bool(different[gap == 0].any())
        false_pairs += int(different[gap == 0].sum())
        found, gaps = found + int(different[gap > 0].sum()), gaps + int((gap > 0).sum())
        near_found, near = near_found + int(different[gap > 0.05].sum()), near + int((gap > 0.05).sum())
    equal = REPETITIONS * MODELS * (GROUP - 1) // 2
    print(f"leaderboards with a false difference: {any_false} of {REPETITIONS}; pairs: {false_pairs} of {equal:,}")
    print(f"true differences found: {found / gaps:.1%} of {gaps:,}; of those above 5 points: {near_found / near:.1%}")


def write_results(folder: Path) -> None:
    """Write results of the simulated models as `compeval run` writes them."""
    generator = np.random.default_rng(0)
    image_id = [f"image {row // ROWS_PER_IMAGE}" for row in range(ROWS)]
    for task, chance in BENCHMARKS.items():
        candidates = round(1 / chance)
        hit_MN = draw_hits(generator, draw_abilities(generator))
        for model, hit_N in enumerate(hit_MN):
            name = f"Family{model % 4}-B/{model:03}"
            path = folder / f"model-{model:03}" / f"{task}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(_describe(name, task, float(hit_N.mean()), chance)))
            scores = np.where(np.arange(candidates) == 0, np.where(hit_N[:, None], 1.0, 0.0), 0.5)
            table = {
                **{"row": range(ROWS), "image_id": image_id, "rank": np.where(hit_N, 1, 2)},
                "caption": [f"a true caption of row {row}" for row in range(ROWS)],
                "hard_negatives": [[f"{row} {other}" for other in range(1, candidates)] for row in range(ROWS)],
                "scores": list(scores),
            }
            pq.write_table(pa.table(table), path.with_suffix(".parquet"))


def _describe(name: str, task: str, share: float, chance: float) -> dict:
    return {
        **{"schema": 1, "task": task, "dataset": task.split("/")[0], "config": "choice", "split": "test"},
        **{"variant": None, "protocol": "choice", "source": "simulated", "synthetic": False, "main": ["recall@1"]},
        "model": {"spec": name, "name": name, "effective": name, "corpus": None, "contaminated": None},
        "data": {"fingerprint": task, "rows": ROWS, "limit": None, "set_size": round(1 / chance)},
        "code": {"version": "0", "fingerprint": "0"},
        **{"metrics": {"recall@1": share}, "intervals": {"recall@1": [share, share]}, "chance": {"recall@1": chance}},
        **{"std": {}, "categories": {}, "warnings": [], "skipped": []},
    }


def main() -> None:
    from evaluators.leaderboard import build

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/leaderboard")
    write_results(folder / "results")
    start = time.monotonic()
    page = build([folder / "results"], folder / "page")
    print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, built in {time.monotonic() - start:.1f} s")
    measure_errors()


if __name__ == "__main__":
    main()
