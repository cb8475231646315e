"""Texts that join the words of captions with the box of their crop, for judges that read both without a pixel.

A crop follows the objects of its true caption: it is wide for a truck and small for a hat. A word counts only together
with a bin of the box, because other judges read the words alone. A box is x, y, width and height in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from compeval.base.text_only.ngram import TOKEN


def bin_boxes(boxes: Sequence[Sequence[float]], bins: int) -> list[list[str]]:
    """Return the bins of the measures of each box, such as ``width3``. The bins of a measure are equally frequent."""
    x_N, y_N, width_N, height_N = np.array(boxes, dtype=float).reshape(-1, 4).T
    value_by_measure = {
        "x": x_N + width_N / 2,
        "y": y_N + height_N / 2,
        "width": width_N,
        "height": height_N,
        "area": width_N * height_N,
        "aspect": width_N / height_N,
    }
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    bins_by_measure = {
        measure: np.searchsorted(np.quantile(value_N, shares), value_N) if len(value_N) else value_N
        for measure, value_N in value_by_measure.items()
    }
    return [
        [f"{measure}{place_N[row]}" for measure, place_N in bins_by_measure.items()]
        for row in range(len(x_N))
    ]


def pair_bins(bins: Sequence[str]) -> list[str]:
    """Return the pairs of the bins of a box, such as ``width3_height0``."""
    return ["_".join(pair) for pair in combinations(bins, 2)]


def list_differing_words(captions: Sequence[str]) -> list[set[str]]:
    """Return the words of each caption that not all captions have."""
    words = [set(TOKEN.findall(text.lower())) for text in captions]
    return [own - set.intersection(*words) for own in words]


def write_bins(captions: Sequence[str], bins: Sequence[str]) -> list[str]:
    """Return a text of each caption with the pairs of its differing words and the bins: "hat_width3 hat_area2"."""
    return [
        " ".join(f"{word}_{name}" for word in sorted(own) for name in bins)
        for own in list_differing_words(captions)
    ]
