"""Choose the image that a caption describes among similar images.

Source: Krojer et al. 2022 (ImageCoDe, arXiv:2203.15867), section 3: the accuracy of the choice among ten images. Also
Hendricks and Nematzadeh 2021 (SVO-Probes, arXiv:2106.09141), with two images, and Peng et al. 2024 (SPEC,
arXiv:2312.00081), with two to nine. Difference from the papers: the tie rule
(ranking.py).

Shapes: N rows, I images, of which the first is true, 1 caption. Chance of recall@1 (accuracy): 1 / I.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol
from compeval.evaluators.protocols.ranking import add_pairwise, compute_ranks, to_metrics

COUNTS = (2, 3, 4, 9, 10)
"""Numbers of images per row in the known benchmarks."""


def evaluate(score_NIT: np.ndarray) -> Directions:
    ranks = compute_ranks(score_NIT[:, 0, 0], score_NIT[:, 1:, 0])
    return {"": add_pairwise(to_metrics(ranks), ranks)}


def _columns(count: int) -> tuple[str, ...]:
    return ("image", *(f"image_n{number}" for number in range(1, count)))


PROTOCOLS = tuple(
    RowProtocol("image_choice", ("caption",), _columns(count), evaluate=evaluate)
    for count in COUNTS
)
