"""Text-only baselines, which select a caption without the image, and when one of them beats chance."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from evaluators.metrics.intervals import Interval
from generators.text_only.baselines import (
    HELD_OUT_SCORERS,
    Scorer,
    score_by_function,
    score_cooccurrence,
)
from generators.text_only.relative_baselines import COMPARING_SCORERS
from loaders.audit import CUE_MARGIN, CUES

LENGTH_SCORERS = ("wordiest", "tersest")
"""Held-out scorers that the cues of the audit repeat."""
BASELINES: Mapping[str, Scorer] = {
    **{name: partial(score_by_function, function=value, sign=-1) for name, value in CUES.items()},
    **{name: scorer for name, scorer in HELD_OUT_SCORERS.items() if name not in LENGTH_SCORERS},
    "cooccurrence": score_cooccurrence,
    **COMPARING_SCORERS,
}
SLOW_BASELINES = ("learned", "character_trigrams", "nearest_to_mean")
"""The baselines that take more than a few seconds on a thousand rows."""


def beats_chance(recall: float, interval: Interval, chance: float) -> bool:
    """Return True if a recall is above chance by more than ``CUE_MARGIN``, and its whole interval is above chance."""
    return interval[0] > chance and recall > chance + CUE_MARGIN
