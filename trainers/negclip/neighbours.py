"""Each image's nearest images by the features of a CLIP: the strong alternatives of NegCLIP.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), appendix C.2 (K = 3). Exact: blocks of single-precision scores find
some candidates more than are asked for, which double-precision scores then order, equal ones by position. Memory: one
block of scores, whatever the number of images.
"""

from __future__ import annotations

import torch
from torch import Tensor

SPARE = 8
"""Candidates beyond K, which rounding in single precision might have put behind."""
QUERIES_A_BLOCK, ITEMS_A_BLOCK = 2048, 16384


def nearest(feature_ND: Tensor, k: int = 3) -> Tensor:
    """Positions (N, k) int64 of the k most similar other rows, the most similar first.

    Unit-length features, float32. ValueError where there are not k other rows.
    """
    count = len(feature_ND)
    if count <= k:
        raise ValueError(f"{count} images have no {k} neighbours each: at least {k + 1} expected.")
    starts = range(0, count, QUERIES_A_BLOCK)
    return torch.cat([_nearest_of(feature_ND, start, min(start + QUERIES_A_BLOCK, count), k) for start in starts])


def _nearest_of(feature_ND: Tensor, start: int, stop: int, k: int) -> Tensor:
    """The same for the rows from ``start`` to ``stop``."""
    query_QD, own_Q = feature_ND[start:stop], torch.arange(start, stop)
    wanted = min(k + SPARE, len(feature_ND) - 1)
    score_QC = torch.empty(len(query_QD), 0)
    item_QC = torch.empty(len(query_QD), 0, dtype=torch.long)
    for left in range(0, len(feature_ND), ITEMS_A_BLOCK):
        block_QJ = query_QD @ feature_ND[left : left + ITEMS_A_BLOCK].T
        inside_Q = (own_Q >= left) & (own_Q < left + block_QJ.shape[1])
        block_QJ[inside_Q, own_Q[inside_Q] - left] = -torch.inf
        best = block_QJ.topk(min(wanted, block_QJ.shape[1]), dim=1)
        score_QC = torch.cat((score_QC, best.values), dim=1)
        item_QC = torch.cat((item_QC, best.indices + left), dim=1)
        kept = score_QC.topk(min(wanted, score_QC.shape[1]), dim=1)
        score_QC, item_QC = kept.values, item_QC.gather(1, kept.indices)
    item_QC = item_QC.sort(dim=1).values  # so that a stable sort leaves equal ones in the order of their positions
    exact_QC = torch.einsum("qd,qcd->qc", query_QD.double(), feature_ND[item_QC].double())
    exact_QC[item_QC == own_Q[:, None]] = -torch.inf
    order_QC = exact_QC.argsort(dim=1, descending=True, stable=True)
    return item_QC.gather(1, order_QC[:, :k])
