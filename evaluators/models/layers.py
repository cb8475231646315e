"""A layer of open_clip's transformers in pieces, so that a tower may attend and pool in a way of its own.

Shapes: ... any number of axes, N items, W width, H heads, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from open_clip.transformer import ResidualAttentionBlock
from torch import Tensor, nn

from evaluators.models.products import Linear

POSITIONS_A_CORE = 1600
"""About the most positions that a core computes at a time: enough rows for a matrix product, not too much memory."""

Item = TypeVar("Item")
Found = TypeVar("Found")


def known(blocks: Iterable[nn.Module]) -> bool:
    """Whether the functions here know all layers: none is scaled, quantised, adapted or without bias."""
    return all(
        type(block) is ResidualAttentionBlock
        and type(block.ls_1) is type(block.ls_2) is nn.Identity
        and type(block.attn) is nn.MultiheadAttention
        and type(block.mlp.c_fc) is type(block.mlp.c_proj) is nn.Linear
        and block.attn.in_proj_weight is not None
        and block.attn.in_proj_bias is not None
        and all(getattr(layer, "bias", None) is not None for layer in (block.mlp.c_fc, block.mlp.c_proj))
        for block in blocks
    )


def heads(block: Any, x_W: Tensor, linear: Linear) -> Tensor:
    """Queries, keys and values (..., 3, H, D) of a layer's inputs (..., W). They may last until ``linear`` is called
    again only."""
    attention = block.attn
    part_C = linear(x_W, attention.in_proj_weight, attention.in_proj_bias, before=block.ln_1)
    return part_C.unflatten(-1, (3, attention.num_heads, -1))


def finish(block: Any, x_W: Tensor, read_W: Tensor, linear: Linear) -> Tensor:
    """Outputs (..., W) of a layer's inputs (..., W) that read ``read_W`` (..., W), its heads side by side.

    May take the memory of the inputs for the outputs.
    """
    out, mlp = block.attn.out_proj, block.mlp
    x_W = linear(read_W, out.weight, out.bias, before=nn.Identity(), onto_N=x_W)
    return linear.feed_forward(x_W, mlp.c_fc, mlp.c_proj, before=block.ln_2, between=mlp.gelu)


def project(projection: Any, pooled_W: Tensor) -> Tensor:
    """Pooled outputs in the space that images and texts share; a tower without a projection has it already."""
    if projection is None:
        return pooled_W
    return projection(pooled_W) if isinstance(projection, nn.Linear) else pooled_W @ projection


def pieces(positions_N: Sequence[int], device: str, most: int) -> list[slice]:
    """N items, of so many positions each, cut into pieces of about as many positions, about ``most`` of them or fewer.

    On the CPU there are as many pieces for each core, if there are items enough, and none beyond what suits a core.
    """
    cores, most = (torch.get_num_threads(), min(most, POSITIONS_A_CORE)) if device == "cpu" else (1, most)
    end_N = np.cumsum(positions_N)
    count = cores * -(-int(end_N[-1]) // (cores * most))
    piece_N = (end_N - np.asarray(positions_N) / 2) * count // end_N[-1]
    edges = [0, *(np.flatnonzero(np.diff(piece_N)) + 1).tolist(), len(end_N)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def side_by_side(work: Callable[[Item], Found], items: Sequence[Item], device: str) -> list[Found]:
    """What ``work`` makes of each item, in order; on the CPU several at once, the cores shared out among them.

    That leaves fewer cores waiting than every operation on all cores does.
    """
    threads = torch.get_num_threads()
    workers = min(threads, len(items)) if device == "cpu" else 1
    if workers <= 1:
        return [work(item) for item in items]
    torch.set_num_threads(threads // workers)
    try:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(threads)
