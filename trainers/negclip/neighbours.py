"""Find the nearest images by CLIP features (the "strong alternatives" of NegCLIP).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), appendix C.2 (K = 3). The search is exact: single-precision scores
select K + NUM_SPARE candidates, and double-precision scores rank the candidates. Ties are ranked by index.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

NUM_SPARE = 8
"""Number of additional candidates, in case single-precision rounding changes the order."""
SCORES_PER_BLOCK = 100_000_000
"""Maximum number of scores in memory (400 MB)."""


def find_nearest(feature_ND: Tensor, k: int = 3) -> Tensor:
    """Return the indices (N, k), int64, of the k most similar other rows, the most similar first.

    ``feature_ND``: float32, unit length. Raises ValueError if there are fewer than k other rows.
    """
    count = len(feature_ND)
    if count <= k:
        raise ValueError(f"{count} images are too few for {k} neighbours each; at least {k + 1} are needed.")
    return torch.cat(list(_search_blocks(feature_ND, k)))


def _search_blocks(feature_ND: Tensor, k: int) -> Iterator[Tensor]:
    count = len(feature_ND)
    for query_Q in torch.arange(count).split(max(1, SCORES_PER_BLOCK // count)):
        score_QN = feature_ND[query_Q] @ feature_ND.T
        score_QN[torch.arange(len(query_Q)), query_Q] = -torch.inf
        # Candidates are sorted by index, so that the stable sort by score below ranks ties by index.
        candidate_QC = score_QN.topk(min(k + NUM_SPARE, count - 1)).indices.sort().values
        exact_QC = torch.einsum("qd,qcd->qc", feature_ND[query_Q].double(), feature_ND[candidate_QC].double())
        yield candidate_QC.gather(1, exact_QC.argsort(descending=True, stable=True)[:, :k])
