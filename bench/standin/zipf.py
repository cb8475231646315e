"""Draws from ranked items whose frequencies follow Zipf's law."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Sequence
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Zipf(Generic[T]):
    """Draws item ``r`` (from 0) with a weight of ``(r + shift) ** -exponent``; a larger shift flattens the head."""

    def __init__(self, items: Sequence[T], exponent: float = 1.0, shift: float = 1.0) -> None:
        self.items = items
        self._cumulative = list(itertools.accumulate((rank + shift) ** -exponent for rank in range(len(items))))

    def draw(self, rng: Random) -> T:
        return self.items[bisect(self._cumulative, rng.random() * self._cumulative[-1], hi=len(self.items) - 1)]


def draw_count(rng: Random, mean: float, sigma: float, maximum: int) -> int:
    """Return a log-normal count of at least one with the given mean, cut off at ``maximum``."""
    return max(1, min(maximum, round(rng.lognormvariate(0, sigma) * mean * 2.718281828459045 ** (-sigma * sigma / 2))))
