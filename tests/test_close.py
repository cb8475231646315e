"""The rule of close.py, by hand, and that no test chooses a tolerance in another way."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.close import assert_close, count_layers, count_terms, is_close

ROOT = Path(__file__).parent.parent
SINGLE, DOUBLE = 2.0**-23, 2.0**-52
"""Distances from 1 to the next number."""
OTHER_TOLERANCES = re.compile(
    r"\b(approx|isclose|allclose|assert_allclose|assert_almost_equal|testing\.assert_close)\("
)


@pytest.mark.parametrize(
    ("expected", "options", "allowed"),
    [
        # 2 * sqrt(100) * eps * size; the size of a number is its own.
        (1.0, {"summed": 100}, 20 * DOUBLE),
        (-3.0, {"summed": 100}, 60 * DOUBLE),
        (1.0, {"summed": 100, "dtype": np.float32}, 20 * SINGLE),
        (1.0, {"summed": 100, "dtype": torch.float32}, 20 * SINGLE),
        (1.0, {"summed": 4, "dtype": torch.bfloat16}, 4 * 2.0**-7),
        (np.float32(1), {"summed": 100}, 20 * SINGLE),
        (torch.tensor(1.0), {"summed": 100}, 20 * SINGLE),
        # Terms of size 5 that cancel.
        (0.0, {"summed": 100, "size": 5.0}, 100 * DOUBLE),
        (0.489, {"within": 5e-4}, 5e-4),
        (180, {"within": 4}, 4),
        ({"rows": 3, "mean": [0.5, None]}, {"within": 5e-4}, None),
    ],
)
def test_the_tolerance_by_hand(expected: Any, options: dict[str, Any], allowed: float | None):
    assert_close(expected, expected, **options)
    if allowed is not None:
        assert_close(float(expected) + 0.95 * allowed, expected, **options)
        with pytest.raises(AssertionError, match="they differ by"):
            assert_close(float(expected) + 1.05 * allowed, expected, **options)


def test_each_row_of_an_array_has_its_size_and_each_number_of_a_list_its_own():
    small = 100 * DOUBLE
    array = np.array([[1e9, 0.0], [1.0, 0.0]])
    assert_close(array + np.array([[0, small], [0, 0]]), array)
    with pytest.raises(AssertionError, match=r"^\[1, 1\]: 2\.2.*e-14, 0\.0 expected.* \(1 of 4 "):
        assert_close(array + np.array([[0, 0], [0, small]]), array)
    with pytest.raises(AssertionError, match=r"^\[1\]: 2\.2.*e-14, 0\.0 expected"):
        assert_close([1e9, small], [1e9, 0.0])


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([1.0], [1.0, 2.0]),
        (np.ones(2), np.ones((2, 1))),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": [1.0, "x"]}, {"a": [1.0, "y"]}),
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, 1.0),
        (-np.inf, np.inf),
        (3, 4),  # integers are exact
        (None, 1.0),
    ],
)
def test_everything_but_the_last_digits_is_compared(actual: Any, expected: Any):
    with pytest.raises(AssertionError):
        assert_close(actual, expected)


def test_equal_values_that_are_no_finite_numbers():
    assert_close(
        [np.nan, np.inf, -np.inf, True, "x", None], [np.nan, np.inf, -np.inf, True, "x", None]
    )
    assert_close(np.array([np.nan, 1e9]), np.array([np.nan, 1e9]))
    assert is_close(0.1 + 0.2, 0.3)
    assert not is_close(0.3 + 1e-12, 0.3)


def test_terms_and_layers_of_a_network():
    """A convolution with 3 x 2 x 2 inputs, a norm over 8, an activation and a layer with 8 inputs."""
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 2), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 5)
    )
    assert count_terms(network) == 12 + 8 + 8
    assert count_layers(network) == 4


@pytest.mark.parametrize("length", [10, 1000, 10_000])
def test_sums_in_another_order_are_close_and_other_sums_are_not(length: int):
    """In float32, added one by one from either end. One missing term of 10,000 is found."""
    values = np.random.default_rng(length).random(length, dtype=np.float32)
    forwards, backwards = (np.cumsum(order)[-1] for order in (values, values[::-1]))
    assert_close(forwards, backwards, summed=length)
    with pytest.raises(AssertionError):
        assert_close(forwards - values.max(), backwards, summed=length)


def test_no_test_chooses_a_tolerance_in_another_way():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("tests", "bench")
        for path in (ROOT / folder).rglob("*.py")
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if OTHER_TOLERANCES.search(line)
    ]
    assert not found, "use tests.close.assert_close"
