"""Float32 numbers as sums of two bfloat16 ones, compiled: PyTorch needs five passes over memory for what is one here.

The splitting is Veltkamp's (Dekker 1971, "A floating-point technique for extending the available precision"), the error
function in GELU (Hendrycks and Gimpel 2016, equation 1) is Abramowitz and Stegun's 7.1.28, right to 3e-7, in float32 to
1.4e-6.

Shapes: M rows, K numbers of a row, P places for them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evaluators.models import compiled

_SPLITTER = np.float32(2**16 + 1)
"""Veltkamp's constant that leaves the eight leading bits of a float32's twenty-four."""
_A1, _A2, _A3, _A4, _A5, _A6 = (
    np.float32(coefficient / 2 ** (power / 2))
    for power, coefficient in enumerate(
        (0.0705230784, 0.0422820123, 0.0092705272, 0.0001520143, 0.0002765672, 0.0000430638), start=1
    )
)
"""Of Abramowitz and Stegun's polynomial, for an argument that is yet to be divided by the root of two."""
_HALF, _ONE = np.float32(0.5), np.float32(1)


@njit(inline="always")
def _leading(number: np.float32) -> np.float32:
    """The nearest number of eight bits, which bfloat16 holds."""
    scaled = number * _SPLITTER
    return np.float32(scaled - np.float32(scaled - number))


@njit(inline="always")
def _bits(number: np.float32) -> np.uint16:
    """What bfloat16 keeps of a float32: the upper half."""
    return np.uint16(np.float32(number).view(np.uint32) >> np.uint32(16))


@njit(inline="always")
def _take_row_apart(x_K: np.ndarray, part_PK: np.ndarray) -> None:
    high_K, low_K = part_PK[0], part_PK[-1]
    for index in range(len(x_K)):
        high_K[index] = _bits(_leading(x_K[index]))
    for index in range(len(x_K)):  # a single loop with both stores takes three times as long
        low_K[index] = _bits(_leading(np.float32(x_K[index] - _leading(x_K[index]))))
    for place in range(1, len(part_PK) - 1):
        part_PK[place] = high_K


@njit(nogil=True, error_model="numpy")
def take_apart(x_MK: np.ndarray, part_MPK: np.ndarray) -> None:
    """Fill the bits (M, P, K) uint16 of rows (M, K) float32: the high part in all places but the last, which gets the
    low part. Of what is not finite or beyond 1e33, the parts' sum is not finite."""
    for row in range(len(x_MK)):
        _take_row_apart(x_MK[row], part_MPK[row])


@njit(error_model="numpy", fastmath={"contract"})
def _gelu(number: np.float32) -> np.float32:
    """x times the standard normal distribution function of x, as max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2, which keeps
    small values small left of zero."""
    size = abs(number)
    root = _ONE + size * (_A1 + size * (_A2 + size * (_A3 + size * (_A4 + size * (_A5 + size * _A6)))))
    root *= root
    root *= root
    root *= root
    root *= root
    return np.float32(max(number, np.float32(0)) - _HALF * size / root)


@njit(nogil=True, error_model="numpy")
def take_gelu_apart(x_MK: np.ndarray, bias_K: np.ndarray, part_MPK: np.ndarray) -> None:
    """Fill the bits (M, P, K) uint16, as :func:`take_apart` does, of GELU of rows (M, K) float32 plus a bias (K,)."""
    y_K = np.empty_like(bias_K)
    for row in range(len(x_MK)):
        x_K = x_MK[row]
        for index in range(len(x_K)):
            y_K[index] = _gelu(x_K[index] + bias_K[index])
        _take_row_apart(y_K, part_MPK[row])


def prepare() -> None:
    """Compile the functions, as :func:`compiled.prepare` does."""
    compiled.prepare(
        {
            take_apart: "void(float32[:, ::1], uint16[:, :, ::1])",
            take_gelu_apart: "void(float32[:, ::1], float32[::1], uint16[:, :, ::1])",
        }
    )
