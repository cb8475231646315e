"""Simulate how often 95 % intervals contain the true value: python -m bench.coverage

Rows are hits of a model. A cluster (image) has the same number of rows, whose hits are correlated: the share of a
cluster is drawn from a beta distribution with the given intra-class correlation. Printed next to the interval of
evaluators/metrics/intervals.py: the percentile bootstrap over clusters that it replaced.

Few hits have few possible shares, so the coverage at one true share oscillates around 95 % for every interval without
randomisation (Brown, Cai & DasGupta 2001, Statistical Science 16(2)). The column "near" is the coverage over the true
shares in a neighbourhood: those whose odds are between half and twice the odds of the share; at 0 and 1, those with
up to three expected hits or misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from evaluators.metrics.intervals import compute_difference_interval, compute_share_interval
from evaluators.metrics.statistics import bootstrap_interval

REPETITIONS = 10_000
CASES = [  # true share, clusters, rows per cluster, intra-class correlation
    *((1 / 6, 7, 1, 0.0), (0.01, 100, 1, 0.0), (1 / 300, 300, 1, 0.0), (0.0, 50, 1, 0.0), (1.0, 50, 1, 0.0)),
    *((share, rows, 1, 0.0) for share in (0.05, 0.2, 0.5, 0.95) for rows in (20, 60, 300)),
    *((share, clusters, 4, 0.3) for share in (0.02, 0.17, 0.5, 0.9) for clusters in (15, 40, 150)),
    *((share, clusters, 3, 1.0) for share in (0.05, 0.5) for clusters in (8, 40)),
]
DIFFERENCES = [(0.0, 0.0, 50), (0.0, 0.1, 60), (0.0, 0.3, 300), (0.05, 0.1, 200), (0.3, 0.4, 60), (1.0, 1.0, 30)]
"""True difference, share of rows on which two models disagree, and number of rows."""


def draw_hits(generator: np.random.Generator, share: float, clusters: int, size: int, correlation: float) -> np.ndarray:
    """Return hits (clusters * size,) of correlated rows."""
    if share in (0, 1) or correlation == 0:
        share_C = np.full(clusters, share)
    elif correlation == 1:
        share_C = (generator.random(clusters) < share).astype(float)
    else:
        scale = 1 / correlation - 1
        share_C = generator.beta(share * scale, (1 - share) * scale, clusters)
    return (generator.random((clusters, size)) < share_C[:, None]).astype(float).ravel()


def measure_coverage(
    shares: Iterable[float], clusters: int, size: int, correlation: float, interval: Callable = compute_share_interval
) -> float:
    """Return how many of the intervals contain the true share; one set is simulated per share."""
    generator, cluster_N = np.random.default_rng(0), np.repeat(np.arange(clusters), size)
    is_covered = []
    for share in shares:
        low, high = interval(draw_hits(generator, share, clusters, size, correlation), cluster_N)
        is_covered.append(low <= share + 1e-12 and share - 1e-12 <= high)
    return float(np.mean(is_covered))


def list_near_shares(share: float, rows: int) -> np.ndarray:
    """Return evenly spaced shares in the neighbourhood of ``share``."""
    if share in (0, 1):
        return np.abs(share - np.linspace(0, 3 / rows, REPETITIONS))
    odds = np.linspace(0.5, 2, REPETITIONS) * share / (1 - share)
    return odds / (1 + odds)


def measure_difference_coverage(difference: float, disagreement: float, rows: int) -> float:
    generator = np.random.default_rng(0)
    odds = [(disagreement - difference) / 2, 1 - disagreement, (disagreement + difference) / 2]
    bounds = (
        compute_difference_interval(generator.choice([-1, 0, 1], rows, p=odds), np.arange(rows))
        for _ in range(REPETITIONS)
    )
    return float(np.mean([low <= difference <= high for low, high in bounds]))


def main() -> None:
    header = ("true share", "images", "rows per image", "correlation", "coverage", "near", "bootstrap")
    print(f"| {' | '.join(header)} |\n{'|---' * len(header)}|")
    for share, clusters, size, correlation in CASES:
        ours = measure_coverage([share] * REPETITIONS, clusters, size, correlation)
        near = measure_coverage(list_near_shares(share, clusters * size), clusters, size, correlation)
        before = measure_coverage([share] * (REPETITIONS // 25), clusters, size, correlation, bootstrap_interval)
        print(f"| {share:.3f} | {clusters} | {size} | {correlation} | {ours:.1%} | {near:.1%} | {before:.1%} |")
    print("\n| true difference | disagreement | rows | coverage |\n|---|---|---|---|")
    for difference, disagreement, rows in DIFFERENCES:
        coverage = measure_difference_coverage(difference, disagreement, rows)
        print(f"| {difference} | {disagreement} | {rows} | {coverage:.1%} |")


if __name__ == "__main__":
    main()
