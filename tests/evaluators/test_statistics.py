import numpy as np
import pytest

from evaluators import statistics


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
