"""Encode in batches, and scale features to unit length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def in_batches(
    encode: Callable[[Sequence[Item]], np.ndarray], items: Sequence[Item], size: int
) -> np.ndarray:
    """Call ``encode`` on batches of ``size`` items and return the concatenated outputs."""
    return np.concatenate(
        [encode(items[start : start + size]) for start in range(0, len(items), size)]
    )


def scale_to_unit_length(feature_ND: np.ndarray, name: str, kind: str) -> np.ndarray:
    """Return the features at unit length, in float32. Raises ValueError if a feature is zero or not finite.

    ``name`` is the model and ``kind`` is ``image`` or ``text``; both are used in the error message only.
    """
    feature_ND = np.asarray(feature_ND, dtype=np.float32)
    length_N = np.linalg.norm(feature_ND, axis=1)
    invalid_N = ~np.isfinite(length_N) | (length_N == 0)
    if invalid_N.any():
        raise ValueError(
            f"{name}: {int(invalid_N.sum())} of {len(invalid_N)} {kind} features are zero, infinite or not a number. "
            "Check the weights; in 16 bits, try fp32 (--precision)."
        )
    return feature_ND / length_N[:, None]
