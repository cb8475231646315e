"""Compare computed numbers: the one place of the tests where a tolerance is chosen.

Another processor, library or number of threads adds the terms of a sum in another order, so the last digits of a result
are no promise. By default, two numbers may differ by

    2 * sqrt(summed) * eps * size

- eps: the distance from 1 to the next number of the less precise of the two types, 1.2e-7 for float32 and 2.2e-16 for
  float64. One rounding is wrong by at most half of it, times the size of the number.
- summed: the number of roundings that follow each other, which is the length of the sum; ten, those of a short formula,
  by default. Rounding errors have either sign, so n of them add up to about sqrt(n) of one, not to n (Higham & Mary
  2019, SIAM J. Sci. Comput. 41(5)).
- size: the largest absolute value of a row (the last axis) of an array; of a single number, its own. A small value of
  a row may be a difference of large ones, whose rounding errors it keeps.
- 2: five standard deviations. A rounding error is uniform within eps / 2 * size, so its standard deviation is
  eps * size / sqrt(12), and that of n on either side is sqrt(2 * n / 12) = 0.41 * sqrt(n) times eps * size.

``within`` replaces this rule where the difference is none of rounding: a printed figure (half a unit of its last
digit), a random sample (a few standard errors), pixels, or a search that ends at a tolerance. Numbers that are equal
by promise (the same operations in the same process, or stored and read again) are compared with ``==``,
``torch.equal`` or ``np.testing.assert_array_equal``, next to a comment that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import torch

ROUNDINGS = 2.0
SHORT = 10


class Rule(NamedTuple):
    """The arguments of ``assert_close``, which documents them."""

    summed: int = SHORT
    size: float | None = None
    dtype: Any = None
    within: float | None = None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    summed: int = SHORT,
    size: float | None = None,
    dtype: Any = None,
    within: float | None = None,
) -> None:
    """Raise AssertionError, with the first difference, unless numbers are close and everything else is equal.

    Args:
        actual: A number, an array or tensor, or a list, tuple or mapping of these, of strings and of None.
        expected: The same. In a list or tuple, each number has its own size. All numbers of an array may be compared
            with a single one.
        summed: The number of terms of the longest sum on the way to a number (``count_terms`` of a network).
        size: The size of the terms that were summed, if their sum is smaller, as for an expected 0.
        dtype: The type in which was computed, if the numbers are of a more precise type now.
        within: The largest allowed difference, instead of the rule above.
    """
    difference = _find_difference(actual, expected, Rule(summed, size, dtype, within))
    if difference:
        raise AssertionError(difference)


def is_close(actual: float, expected: float, summed: int = SHORT) -> bool:
    """Return whether two numbers are close by the rule of ``assert_close``."""
    return not _find_difference(actual, expected, Rule(summed))


def count_terms(module: torch.nn.Module) -> int:
    """Return the number of terms of all sums on the way through a network: the inputs of each of its layers."""
    kinds = (
        torch.nn.Linear,
        torch.nn.modules.conv._ConvNd,
        torch.nn.LayerNorm,
        torch.nn.MultiheadAttention,
    )
    weights = [
        getattr(layer, name)
        for layer in module.modules()
        if isinstance(layer, kinds)
        for name in ("weight", "in_proj_weight")
        if getattr(layer, name, None) is not None
    ]
    return sum(
        weight.numel() // len(weight) if weight.ndim > 1 else len(weight) for weight in weights
    )


def count_layers(module: torch.nn.Module) -> int:
    """Return the number of layers of a network: in half precision each rounds its results once, and sums in float32."""
    return sum(next(layer.children(), None) is None for layer in module.modules())


def _find_difference(actual: Any, expected: Any, rule: Rule, place: str = "") -> str:
    """Return a message about the first difference; an empty one if there is none."""
    if isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"{place or 'keys'}: {list(actual)}, {list(expected)} expected"
        keys = list(expected)
    elif isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            return f"{place or 'length'}: {len(actual)} values, {len(expected)} expected"
        keys = list(range(len(expected)))
    elif isinstance(expected, Number | np.ndarray | torch.Tensor) and not isinstance(
        expected, bool
    ):
        return _compare(actual, expected, rule, place)
    else:
        return "" if actual == expected else f"{place}: {actual!r}, {expected!r} expected"
    parts = (
        _find_difference(actual[key], expected[key], rule, f"{place}[{key!r}]") for key in keys
    )
    return next(filter(None, parts), "")


def _compare(actual: Any, expected: Any, rule: Rule, place: str) -> str:
    """Compare two numbers or two arrays of the same shape."""
    one, other = _widen(actual), _widen(expected)
    if not other.ndim:
        other = np.broadcast_to(other, one.shape)
    if one.shape != other.shape:
        return f"{place}: shape {one.shape}, {other.shape} expected"
    is_same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        difference = np.where(is_same, 0, np.abs(one - other))
    allowed = np.broadcast_to(_find_tolerance(actual, expected, rule), other.shape)
    is_wrong = ~(difference <= allowed)
    if not is_wrong.any():
        return ""
    worst = np.unravel_index(
        np.argmax(np.where(is_wrong, difference - allowed, -np.inf)), other.shape
    )
    where = f"{place}{list(map(int, worst))}" if other.ndim else place
    return (
        f"{where}: {one[worst]!s}, {other[worst]!s} expected; they differ by {difference[worst]:.3g}, and "
        f"{allowed[worst]:.3g} is allowed ({int(is_wrong.sum())} of {other.size} numbers differ by more)"
    )


def _find_tolerance(actual: Any, expected: Any, rule: Rule) -> np.ndarray:
    """Return the largest allowed difference, of a shape that broadcasts to that of ``expected``."""
    if rule.within is not None:
        return np.array(rule.within)
    eps = max(
        _find_eps(actual), _find_eps(expected), 0.0 if rule.dtype is None else _find_eps(rule.dtype)
    )
    if rule.size is not None:
        size = np.array(rule.size)
    else:
        absolute = np.abs(_widen(expected))
        absolute = np.where(np.isfinite(absolute), absolute, 0)
        size = absolute.max(axis=-1, keepdims=True, initial=0) if absolute.ndim else absolute
    return ROUNDINGS * eps * sqrt(rule.summed) * size


def _find_eps(value: Any) -> float:
    """Return the eps of a type, or of the type of a number, an array or a tensor; 0 for integers, which are exact."""
    is_type = isinstance(value, type | np.dtype | torch.dtype)
    kind = value if is_type else getattr(value, "dtype", type(value))
    if isinstance(kind, torch.dtype):
        return torch.finfo(kind).eps if kind.is_floating_point else 0.0
    if not np.issubdtype(kind, np.floating):
        return 0.0
    return float(np.finfo(kind).eps)


def _widen(value: Any) -> np.ndarray:
    """Return numbers as float64; None, which is no number, becomes NaN."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy()
    return np.asarray(value, np.float64)
