"""Float32 numbers as sums of two bfloat16 ones, compiled: PyTorch needs five passes over memory for what is one here.

The splitting is Veltkamp's (Dekker 1971, "A floating-point technique for extending the available precision").
Shapes: M rows, K numbers of a row, P places for them.
"""

from __future__ import annotations

from contextlib import suppress
from pickle import UnpicklingError

import numpy as np
from numba import njit

_SPLITTER = np.float32(2**16 + 1)
"""Veltkamp's constant that leaves the eight leading bits of a float32's twenty-four."""


@njit(inline="always")
def _leading(number: np.float32) -> np.float32:
    """The nearest number of eight bits, which bfloat16 holds."""
    scaled = number * _SPLITTER
    return np.float32(scaled - np.float32(scaled - number))


@njit(inline="always")
def _bits(number: np.float32) -> np.uint16:
    """What bfloat16 keeps of a float32: the upper half."""
    return np.uint16(np.float32(number).view(np.uint32) >> np.uint32(16))


@njit(nogil=True, error_model="numpy")
def take_apart(x_MK: np.ndarray, part_MPK: np.ndarray) -> None:
    """Fill the bits (M, P, K) uint16 of rows (M, K) float32: the high part in all places but the last, which gets the
    low part. Of what is not finite or beyond 1e33, the parts' sum is not finite."""
    for row in range(len(x_MK)):
        x_K, high_K, low_K = x_MK[row], part_MPK[row, 0], part_MPK[row, -1]
        for index in range(len(x_K)):
            high_K[index] = _bits(_leading(x_K[index]))
        for index in range(len(x_K)):  # a single loop with both stores takes three times as long
            low_K[index] = _bits(_leading(np.float32(x_K[index] - _leading(x_K[index]))))
        for place in range(1, part_MPK.shape[1] - 1):
            part_MPK[row, place] = high_K


def prepare() -> None:
    """Compile :func:`take_apart`, or read what an earlier process compiled and kept beside this file or in the user's
    cache. Where neither can be written, the disk is full or what was kept is damaged, it is compiled all the same."""
    with suppress(RuntimeError):
        take_apart.enable_caching()
    try:
        _compile()
    except (UnpicklingError, EOFError):
        take_apart.recompile()  # forgets what was kept
        _compile()


def _compile() -> None:
    with suppress(OSError):
        take_apart.compile("void(float32[:, ::1], uint16[:, :, ::1])")
