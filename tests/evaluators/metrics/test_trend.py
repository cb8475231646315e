import numpy as np
import pytest

from compeval.evaluators.metrics.trend import regress
from tests.close import assert_close


def test_difference_of_two_groups_of_independent_rows_by_hand():
    # 12 of 20 rows against 6 of 20: the slope is 0.3. The clustered variance of the slope for rows of their own images
    # is (0.6 * 0.4 + 0.3 * 0.7) / 20 * N / (N - 2) * C / (C - 1) * (N - 1) / N ... with N = C = 40: 0.0225 * 40 / 38.
    hit_N = np.array([1] * 12 + [0] * 8 + [1] * 6 + [0] * 14)
    found = regress(hit_N, np.repeat([1, 0], 20), ["m"] * 40, np.arange(40))
    assert found
    assert_close(found.slope, 0.3, summed=40)
    standard_error = (0.0225 * 40 / 38) ** 0.5
    # Student's t, 39 degrees, to four decimals.
    assert_close(found.high - found.slope, 2.0227 * standard_error, within=5e-5 * standard_error)
    assert not found.is_significant  # 0.3 / 0.154 = 1.95


def test_models_of_different_level_do_not_make_a_trend():
    # Both models are evaluated on x = 0 and 1. Model a is always right and model b always wrong: no trend within them.
    x_N = np.tile([0, 1], 20)
    found = regress(
        np.repeat([1, 0], 20), x_N, np.repeat(["a", "b"], 20), np.tile(np.arange(20), 2)
    )
    assert found
    assert_close(found.slope, 0, size=1, summed=40)


def test_rows_of_one_image_are_not_independent():
    generator = np.random.default_rng(0)
    hit_C, x_C = generator.integers(0, 2, 30), np.arange(30) % 3
    once = regress(hit_C, x_C, ["m"] * 30, np.arange(30))
    repeated = regress(
        np.repeat(hit_C, 5), np.repeat(x_C, 5), ["m"] * 150, np.repeat(np.arange(30), 5)
    )
    assert once
    assert repeated
    assert_close(repeated.slope, once.slope, summed=150, size=1)
    # The small-sample factor N / (N - 2) is 1.07 for 30 rows and 1.01 for 150; the width has its root.
    width = once.high - once.low
    assert_close(repeated.high - repeated.low, width, within=0.05 * width)


@pytest.mark.parametrize(
    ("hit_N", "x_N", "image_N"),
    [
        ([0, 1] * 4, [0, 1] * 4, range(8)),  # too few images
        ([0, 1] * 10, [1] * 20, range(20)),
        ([0] * 20, [0, 1] * 10, range(20)),
    ],
)
def test_nothing_to_test(hit_N: list[int], x_N: list[int], image_N: range):
    assert regress(np.array(hit_N), np.array(x_N), ["m"] * len(hit_N), np.array(image_N)) is None


@pytest.mark.acceptance
def test_level_of_the_test():
    # No trend, images of three rows with correlated hits: 5 % of the tests are significant.
    generator = np.random.default_rng(0)
    image_N, x_N = np.repeat(np.arange(60), 3), np.repeat(np.arange(60) % 9, 3)
    found = [
        regress(
            (generator.random(180) < np.repeat(generator.beta(1, 2, 60), 3)).astype(float),
            x_N,
            ["m"] * 180,
            image_N,
        )
        for _ in range(1000)
    ]
    assert 0.035 <= np.mean([slope.is_significant for slope in found if slope]) <= 0.07
