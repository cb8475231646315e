"""Nearest images by CLIP features: NegCLIP's strong alternatives.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), appendix C.2 (K = 3). The search is exact: single-precision scores
select a few candidates more than requested, double-precision scores order them, and ties keep the order of positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

SPARE = 8
"""Candidates beyond K, which single-precision rounding could have misplaced."""
SCORES_PER_BLOCK = 100_000_000
"""Scores in memory at a time (400 MB)."""


def nearest(feature_ND: Tensor, k: int = 3) -> Tensor:
    """Return the positions (N, k), int64, of the k most similar other rows, the most similar first.

    ``feature_ND``: float32, unit length. Raises ValueError if there are fewer than k other rows.
    """
    count = len(feature_ND)
    if count <= k:
        raise ValueError(f"{count} images have no {k} neighbours each: at least {k + 1} expected.")
    return torch.cat(list(_blocks(feature_ND, k)))


def _blocks(feature_ND: Tensor, k: int) -> Iterator[Tensor]:
    count = len(feature_ND)
    for own_Q in torch.arange(count).split(max(1, SCORES_PER_BLOCK // count)):
        score_QN = feature_ND[own_Q] @ feature_ND.T
        score_QN[torch.arange(len(own_Q)), own_Q] = -torch.inf
        # Sorted, so that a stable sort by score keeps ties in the order of their positions.
        item_QC = score_QN.topk(min(k + SPARE, count - 1)).indices.sort().values
        exact_QC = torch.einsum("qd,qcd->qc", feature_ND[own_Q].double(), feature_ND[item_QC].double())
        yield item_QC.gather(1, exact_QC.argsort(descending=True, stable=True)[:, :k])
