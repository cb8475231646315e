"""Encoding in batches, and features at unit length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def in_batches(encode: Callable[[Sequence[Item]], np.ndarray], items: Sequence[Item], size: int) -> np.ndarray:
    """The concatenated outputs of ``encode`` on batches of ``size`` items."""
    return np.concatenate([encode(items[start : start + size]) for start in range(0, len(items), size)])


def unit_length(feature_ND: np.ndarray, name: str, kind: str) -> np.ndarray:
    """Features at unit length, float32. ValueError, with the model's name, if one is not finite or is zero."""
    feature_ND = np.asarray(feature_ND, dtype=np.float32)
    length_N = np.linalg.norm(feature_ND, axis=1)
    invalid_N = ~np.isfinite(length_N) | (length_N == 0)
    if invalid_N.any():
        raise ValueError(
            f"{name}: {int(invalid_N.sum())} of {len(invalid_N)} {kind} features are zero, infinite or not a number. "
            "Check the weights, or try `--precision fp32`."
        )
    return feature_ND / length_N[:, None]
