import numpy as np
import pytest

from evaluators.metrics import statistics


def test_interval_of_a_constant_is_the_constant():
    assert statistics.bootstrap_interval(np.full(6, 0.25), list("aabbcc")) == (0.25, 0.25)


def test_interval_is_deterministic_and_holds_the_mean():
    values = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    low, high = statistics.bootstrap_interval(values, np.arange(200))
    assert (low, high) == statistics.bootstrap_interval(values, np.arange(200))
    # Normal approximation: 1.96 * sqrt(p (1 - p) / 200) is at most 0.0693 to each side.
    assert low < values.mean() < high
    assert 0.10 < high - low < 0.15


def test_rows_of_one_image_do_not_count_as_independent():
    values = np.repeat(np.random.default_rng(2).integers(0, 2, 40).astype(float), 25)
    alone = np.subtract(*statistics.bootstrap_interval(values, np.arange(1000))[::-1])
    clustered = np.subtract(*statistics.bootstrap_interval(values, np.repeat(np.arange(40), 25))[::-1])
    # 25 equal rows an image carry one row's information: the interval is sqrt(25) = 5 times as wide.
    assert 4 < clustered / alone < 6


def test_mcnemar_by_hand():
    # Only b is right on 5 rows, only a on none: 2 * (1/2)^5 = 1/16.
    a = np.array([True, False, False, False, False, False, True])
    b = np.array([True, True, True, True, True, True, True])
    assert statistics.mcnemar(a, b) == pytest.approx(1 / 16)
    assert statistics.mcnemar(a, a) == 1.0


def test_wilcoxon_by_hand():
    # Six positive differences of different size: the exact two-sided p is 2 / 2^6 = 1/32.
    a = np.array([2, 3, 4, 5, 6, 7])
    assert statistics.wilcoxon(a, np.ones(6, dtype=int)) == pytest.approx(1 / 32)
    assert statistics.wilcoxon(a, a) == 1.0


def test_no_resample_loses_a_group_with_rows_in_one_image():
    # Group a has one row (0.25), group b rows in two images; drawing images would lose a in 8 of 27 resamples.
    means_RG = statistics.group_means(np.array([0.0, 0.25, 1.0]), ["b", "a", "b"], ["x", "y", "z"])
    assert means_RG.shape == (statistics.RESAMPLES, 2)
    assert np.isfinite(means_RG).all()
    assert means_RG[:, 0] == pytest.approx(0.25)
    # The weights of x and z are exchangeable: the mean of b is uniform between 0 and 1.
    assert means_RG[:, 1].mean() == pytest.approx(0.5, abs=0.04)
    assert means_RG[:, 1].std() == pytest.approx(12**-0.5, abs=0.03)


def test_all_values_are_resampled_by_the_same_draws():
    values = {"one": np.arange(6.0), "double": 2 * np.arange(6.0)}
    found = statistics.bootstrap_intervals(values, np.arange(6))
    assert found["double"] == pytest.approx(tuple(2 * bound for bound in found["one"]))
    assert found["one"] == statistics.bootstrap_interval(values["one"], np.arange(6))
