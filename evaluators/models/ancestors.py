"""Attention of a forest's positions to their ancestors, compiled: PyTorch's computes what no position sees as well.

Positions come in preorder, so the one before a position of depth d is its parent or below a sibling of it, and the last
position of each smaller depth is its ancestor: keys and values kept by depth are those of a position's path.

Shapes: P positions, H heads, N positions of a path by depth, D width of a head.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit

from evaluators.models import compiled


def serve(device: str, dtype: torch.dtype) -> bool:
    """Whether the functions here are for towers of this type on this device."""
    return device == "cpu" and dtype == torch.float32


@njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def attend(part_P3HD: np.ndarray, depth_P: np.ndarray, read_PHD: np.ndarray) -> None:
    """Fill what each position reads from its ancestors and itself (P, H, D) float32, by scaled dot-product attention
    (Vaswani et al. 2017, section 3.2.1) of queries, keys and values (P, 3, H, D) float32; depths (P,) int64 from 0."""
    positions, _, heads, width = part_P3HD.shape
    path_2HND = np.empty((2, heads, depth_P.max() + 1, width), dtype=np.float32)
    key_HND, value_HND = path_2HND
    score_N, sum_D = np.empty(path_2HND.shape[2], dtype=np.float32), np.empty(width, dtype=np.float32)
    scale = np.float32(1 / math.sqrt(width))
    for position in range(positions):
        depth = depth_P[position]
        for head in range(heads):  # inside, so that memory is read in order
            query_D, key_ND, value_ND = part_P3HD[position, 0, head], key_HND[head], value_HND[head]
            key_ND[depth], value_ND[depth] = part_P3HD[position, 1, head], part_P3HD[position, 2, head]
            largest = np.float32(-np.inf)
            for above in range(depth + 1):
                score = np.float32(0)
                for index in range(width):
                    score += query_D[index] * key_ND[above, index]
                score_N[above] = score * scale
                largest = max(largest, score_N[above])
            total = np.float32(0)
            sum_D[:] = 0
            for above in range(depth + 1):
                weight = np.float32(math.exp(score_N[above] - largest))
                total += weight
                for index in range(width):
                    sum_D[index] += weight * value_ND[above, index]
            for index in range(width):
                read_PHD[position, head, index] = sum_D[index] / total


def prepare() -> None:
    """Compile :func:`attend`, as :func:`compiled.prepare` does."""
    compiled.prepare({attend: "void(float32[:, :, :, ::1], int64[::1], float32[:, :, ::1])"})
