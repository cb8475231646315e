import numpy as np
import pytest

from compeval.evaluators.metrics import statistics
from tests.close import assert_close


def test_interval_of_a_constant_is_the_constant():
    assert statistics.bootstrap_interval(np.full(6, 0.25), list("aabbcc")) == (0.25, 0.25)


def test_interval_is_deterministic_and_contains_the_mean():
    values = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    low, high = statistics.bootstrap_interval(values, np.arange(200))
    assert (low, high) == statistics.bootstrap_interval(values, np.arange(200))
    # Normal approximation: half the width is 1.96 * sqrt(p (1 - p) / 200), at most 0.0693.
    assert low < values.mean() < high
    assert 0.10 < high - low < 0.15


def test_rows_of_the_same_image_are_not_independent():
    values = np.repeat(np.random.default_rng(2).integers(0, 2, 40).astype(float), 25)
    independent = np.subtract(*statistics.bootstrap_interval(values, np.arange(1000))[::-1])
    clustered = np.subtract(
        *statistics.bootstrap_interval(values, np.repeat(np.arange(40), 25))[::-1]
    )
    # 25 equal rows per image have the information of one row, so the interval is sqrt(25) = 5 times as wide.
    assert 4 < clustered / independent < 6


def test_mcnemar():
    # Only b is right on 5 rows, only a on no row: p = 2 * (1/2)^5 = 1/16.
    a = np.array([True, False, False, False, False, False, True])
    b = np.array([True, True, True, True, True, True, True])
    assert_close(statistics.mcnemar_p(a, b), 1 / 16)
    assert statistics.mcnemar_p(a, a) == 1.0


def test_wilcoxon():
    # Six positive differences of different size: the exact two-sided p-value is 2 / 2^6 = 1/32.
    a = np.array([2, 3, 4, 5, 6, 7])
    assert_close(statistics.wilcoxon_p(a, np.ones(6, dtype=int)), 1 / 32)
    assert statistics.wilcoxon_p(a, a) == 1.0


def test_every_resample_contains_a_group_with_rows_of_one_image():
    # Group a has one row (0.25), group b has rows of two images. If images were drawn with replacement, 8 of 27
    # resamples would not contain group a.
    means_RG = statistics.bootstrap_group_means(
        np.array([0.0, 0.25, 1.0]), ["b", "a", "b"], ["x", "y", "z"]
    )
    assert means_RG.shape == (statistics.NUM_RESAMPLES, 2)
    assert np.isfinite(means_RG).all()
    assert_close(means_RG[:, 0], 0.25)
    # The weights of x and z are exchangeable, so the mean of b is uniformly distributed between 0 and 1.
    assert_close(means_RG[:, 1].mean(), 0.5, within=0.04)
    assert_close(means_RG[:, 1].std(), 12**-0.5, within=0.03)


def test_the_interval_leaves_out_a_fortieth_on_each_side():
    assert_close(statistics.compute_interval(np.arange(1001.0)), (25, 975))


def test_mcnemar_with_differences_in_both_directions():
    # Only a is right on 1 row, only b on 5: p = 2 * (1 + 6) / 2^6.
    a, b = np.array([1, 0, 0, 0, 0, 0, 1], bool), np.array([0, 1, 1, 1, 1, 1, 1], bool)
    assert_close([statistics.mcnemar_p(a, b), statistics.mcnemar_p(b, a)], [14 / 64, 14 / 64])
    assert statistics.mcnemar_p(a[:2], b[:2]) == 1.0


def test_resamples_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch):
    values, groups, images = np.array([0.0, 0.25, 1.0, 0.5]), list("bbaa"), list("wxyz")
    means_RG = statistics.bootstrap_group_means(values, groups, images, 10)
    # Three resamples of four images, and one at the end.
    monkeypatch.setattr(statistics, "CLUSTERS_PER_BLOCK", 12)
    assert np.array_equal(statistics.bootstrap_group_means(values, groups, images, 10), means_RG)
    assert len(means_RG) == 10
