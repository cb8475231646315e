"""Many items, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def in_batches(encode: Callable[[Sequence[Item]], np.ndarray], items: Sequence[Item], size: int) -> np.ndarray:
    """What ``encode`` gives for N items (N, ...), ``size`` of them at a time."""
    return np.concatenate([encode(items[start : start + size]) for start in range(0, len(items), size)])
