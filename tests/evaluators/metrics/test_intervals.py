from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from compeval.evaluators.metrics import intervals, statistics
from tests.close import assert_close

REPETITIONS = 10_000


def list_near_shares(share: float, rows: int) -> np.ndarray:
    """Return shares whose odds are between half and twice the odds; at 0 and 1, with up to three expected hits."""
    if share in (0, 1):
        return np.abs(share - np.linspace(0, 3 / rows, REPETITIONS))
    odds = np.linspace(0.5, 2, REPETITIONS) * share / (1 - share)
    return odds / (1 + odds)


@pytest.mark.parametrize(
    ("hits", "rows"), [(0, 7), (1, 7), (7, 7), (1, 100), (50, 100), (299, 300)]
)
def test_independent_rows_have_statsmodels_wilson_interval(hits: int, rows: int):
    value_N = np.arange(rows) < hits
    expected = proportion_confint(hits, rows, method="wilson")
    # Bounds of shares of 1: a bound of 0 is a difference of such.
    assert_close(
        intervals.compute_share_interval(value_N, np.arange(rows)), expected, summed=rows, size=1
    )


def test_an_image_counts_as_one_row_if_all_rows_are_equal_or_there_are_few_images():
    image_N = np.repeat(np.arange(20), 5)
    assert_close(
        intervals.compute_share_interval(np.ones(100), image_N),
        proportion_confint(20, 20, method="wilson"),
        summed=100,
    )
    few = np.arange(50) < 25
    assert_close(
        intervals.compute_share_interval(few, np.arange(50) // 10),
        proportion_confint(2.5, 5, method="wilson"),
        summed=50,
    )


def test_effective_rows_by_hand():
    # 12 images of 2 equal rows: the design effect is 2 * C / (C - 1) = 24 / 11, so 24 rows count as 11. Student's
    # quantile with 11 degrees of freedom is 2.2010, so they are reduced to 11 * (1.95996 / 2.2010)^2 = 8.723.
    value_N = np.repeat([1, 0] * 6, 2)
    assert_close(
        intervals.count_effective_rows(value_N, np.repeat(np.arange(12), 2)), 8.723, within=5e-4
    )


def test_difference_of_two_models_by_hand():
    # 4 rows up, 1 down of 10: (5 - 2) / 12 = 0.25 and 1.95996 * sqrt((7/12 - 1/16) / 12) = 0.4083.
    difference_N = np.array([1] * 4 + [-1] + [0] * 5)
    bounds = intervals.compute_difference_interval(difference_N, np.arange(10))
    assert_close(bounds, (0.25 - 0.4083, 0.25 + 0.4083), within=5e-5)
    # Equal models: the interval is not a point. 0 +- 1.95996 * sqrt(2 / 12 / 12).
    assert_close(
        intervals.compute_difference_interval(np.zeros(10), np.arange(10)),
        (-0.231, 0.231),
        within=5e-4,
    )
    # Shares of pairs: 10 rows of 1/2 and the added 1 and -1 have the mean 5/12 and the mean square 4.5/12.
    bounds = intervals.compute_difference_interval(np.full(10, 0.5), np.arange(10))
    assert_close(bounds, (5 / 12 - 0.2539, 5 / 12 + 0.2539), within=5e-5)


def test_the_interval_of_shares_of_pairs_is_near_the_bootstrap_over_images():
    difference_N = np.random.default_rng(0).choice([-0.6, -0.4, -0.2, 0.0, 0.2], 400)
    for image_N in (np.arange(400), np.arange(400) // 4):
        bounds = intervals.compute_difference_interval(difference_N, image_N)
        # A quantile of the resamples has a standard error of about 0.004.
        assert_close(bounds, statistics.bootstrap_interval(difference_N, image_N), within=0.015)


def test_means_without_bounds_are_bootstrapped_or_have_no_interval():
    rank_N = np.array([1.0, 2.0] * 10)
    values = {"mean_rank": rank_N, "recall@1": rank_N == 1}
    bounds = intervals.compute_intervals(values, np.arange(20), {"mean_rank"})
    low, high = bounds["mean_rank"] or (0, 0)
    assert 1 < low < 1.5 < high < 2
    assert_close(bounds["recall@1"], proportion_confint(10, 20, method="wilson"))
    assert intervals.compute_mean_interval(np.ones(20), np.arange(20)) is None
    assert intervals.compute_mean_interval(rank_N[:9], np.arange(9)) is None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 14)), min_size=1, max_size=60))
def test_the_interval_contains_the_share_and_is_wider_than_that_of_independent_rows(
    rows: list[tuple[bool, int]],
):
    hit_N, image_N = np.array([hit for hit, _ in rows]), np.array([image for _, image in rows])
    low, high = intervals.compute_share_interval(hit_N, image_N)
    independent_low, independent_high = intervals.compute_share_interval(
        hit_N, np.arange(len(rows))
    )
    assert 0 <= low <= hit_N.mean() <= high <= 1
    assert high - low >= independent_high - independent_low - 1e-9


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("share", "rows"), [(1 / 6, 7), (0.01, 100), (1 / 300, 300), (0, 50), (1, 50), (0.05, 20)]
)
def test_coverage_is_95_percent_over_the_shares_near_a_share(share: float, rows: int):
    """At one share, the coverage of any interval jumps with the few numbers of hits that have a probability."""
    low_K, high_K = np.transpose(
        [intervals.wilson_interval(hits / rows, rows) for hits in range(rows + 1)]
    )
    coverages = [
        binom.pmf(np.arange(rows + 1), rows, near)[
            (low_K <= near + 1e-12) & (near - 1e-12 <= high_K)
        ].sum()
        for near in list_near_shares(share, rows)
    ]
    assert 0.93 <= np.mean(coverages) <= 0.97


def measure_coverage(
    shares: Iterable[float], clusters: int, size: int, correlation: float
) -> float:
    """Return how many intervals contain the true share of simulated rows; the share of an image is beta-distributed."""
    generator, cluster_N = np.random.default_rng(0), np.repeat(np.arange(clusters), size)
    is_covered = []
    for share in shares:
        share_C = np.full(clusters, share)
        if correlation:
            scale = 1 / correlation - 1
            share_C = generator.beta(share * scale, (1 - share) * scale, clusters)
        hit_N = (generator.random((clusters, size)) < share_C[:, None]).astype(float).ravel()
        low, high = intervals.compute_share_interval(hit_N, cluster_N)
        is_covered.append(low <= share <= high)
    return float(np.mean(is_covered))


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("share", "clusters", "size", "correlation"),
    [
        (0.05, 60, 1, 0.0),
        (0.2, 60, 1, 0.0),
        (0.17, 40, 4, 0.3),
        (0.5, 15, 4, 0.3),
        (0.9, 40, 4, 0.3),
    ],
)
def test_coverage(share: float, clusters: int, size: int, correlation: float):
    assert 0.93 <= measure_coverage([share] * REPETITIONS, clusters, size, correlation) <= 0.975
    assert (
        0.93
        <= measure_coverage(list_near_shares(share, clusters * size), clusters, size, correlation)
        <= 0.97
    )
