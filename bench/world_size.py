"""How many rows the two headlines of the micro-world need: width of interval and p over the rows.

    dvc repro && python -m bench.world_size results/microworld docs/world-size.png

Reads the results of one model per training corpus. For each share, it draws images at random, computes the gap between
seen and unseen compounds and the slope over the number of atoms on the rows of these images as the report does, and
prints the median of ten draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from compeval.evaluators.metrics.seen_gap import compute_gaps
from compeval.evaluators.metrics.trend import regress
from compeval.evaluators.report.results import Result, read_results

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
DRAWS = 10
COLUMNS = ("rows", "effect", "width", "p")
Headline = Callable[[pd.DataFrame], tuple[float, float, float]]


def read_rows(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the HN-Atom sets of systematicity (with corpus and split) and of productivity (with atoms)."""
    systematicity, productivity = [], []
    for result in read_results([folder]):
        name, corpus = result.data["task"], result.data["model"]["corpus"]
        if name in (f"crepe/{corpus}_sc_hnatom", f"crepe/{corpus}_uc_hnatom"):
            systematicity.append(read_hits(result).assign(corpus=corpus, split=name.split("_")[1]))
        elif name.startswith("crepe/prod_hnatom/n"):
            productivity.append(read_hits(result).assign(atoms=int(name.rpartition("/n")[2])))
    return pd.concat(systematicity), pd.concat(productivity)


def read_hits(result: Result) -> pd.DataFrame:
    rows = result.examples
    return rows.assign(model=result.model, hit=(rows["rank"] == 1).astype(float))


def measure_gap(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return the gap between seen and unseen compounds over all corpora, the width of its interval, and p."""
    gap = compute_gaps({str(corpus): part for corpus, part in rows.groupby("corpus")})[-1]
    return gap.gap, gap.high - gap.low, gap.p


def measure_slope(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return the slope of Recall@1 per atom, the width of its interval, and p."""
    slope = regress(*(rows[column].to_numpy() for column in ("hit", "atoms", "model", "image_id")))
    assert slope is not None, "There are too few images."
    return slope.slope, slope.high - slope.low, slope.p


def measure_curve(rows: pd.DataFrame, measure: Headline) -> pd.DataFrame:
    """Return one row per share of the images: the medians of COLUMNS over the draws, effect and width in points."""
    images, generator, curve = rows["image_id"].unique(), np.random.default_rng(0), []
    for share in SHARES:
        draws = []
        for _ in range(DRAWS if share < 1 else 1):
            chosen = generator.choice(images, round(share * len(images)), replace=False)
            part = rows[rows["image_id"].isin(chosen)]
            effect, width, p = measure(part)
            draws.append((len(part) / rows["model"].nunique(), 100 * effect, 100 * width, p))
        curve.append(np.median(draws, axis=0))
    return pd.DataFrame(curve, columns=list(COLUMNS))


def draw(curves: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw one column per headline: effect and width of the interval above, p below, over the rows per model."""
    figure, axes = plt.subplots(2, len(curves), figsize=(9, 6), sharex="col", layout="constrained")
    for (title, curve), (above, below) in zip(curves.items(), axes.T, strict=True):
        above.plot(curve["rows"], curve["effect"].abs(), "o-", label="effect")
        above.plot(curve["rows"], curve["width"], "s--", label="width of the 95 % interval")
        above.set(title=title, ylabel="points", ylim=(0, None))
        above.legend()
        below.plot(curve["rows"], curve["p"], "o-")
        below.axhline(0.05, color="grey", linestyle=":")
        below.set(xlabel="rows per model", ylabel="p", yscale="log")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="?", default=Path("results/microworld"))
    parser.add_argument("figure", type=Path, nargs="?", default=Path("build/world-size.png"))
    arguments = parser.parse_args()
    systematicity, productivity = read_rows(arguments.results)
    curves = {
        "Seen against unseen compounds": measure_curve(systematicity, measure_gap),
        "Slope per atom": measure_curve(productivity, measure_slope),
    }
    for title, curve in curves.items():
        print(title, curve.to_string(index=False, float_format="{:.3g}".format), sep="\n")
    arguments.figure.parent.mkdir(parents=True, exist_ok=True)
    draw(curves, arguments.figure)


if __name__ == "__main__":
    main()
