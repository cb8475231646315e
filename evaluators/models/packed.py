"""Causal text towers without padding and without repeated beginnings.

In a causal tower a token sees only what stands before it, so texts that begin alike share the work of their beginning,
and what follows the end-of-text token is never needed. Sorted texts form a forest of tokens in which a position attends
to its ancestors and takes the position embedding of its depth; the last layer is finished for the texts' ends alone.

In float32 on the CPU positions attend one by one (ancestors.py). Elsewhere attention goes by tiles of consecutive
positions, which are in preorder: whatever an ancestor of a tile's position lies before the tile is an ancestor of the
tile's first position too. So a tile needs the keys of its own positions and of one path, and nothing grows with the
square of the forest.

Works with open_clip's own modules (``CLIP`` and ``TextTransformer`` that are causal and pool at the end of text).
Shapes: P positions, S texts, W width, H heads, D width of a head, T tiles of Q queries and K keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from evaluators.models import ancestors, layers
from evaluators.models.products import Linear

Attend = Callable[[Tensor], Tensor]
"""What each position reads (P, W), its heads side by side, of queries, keys and values (P, 3, H, D)."""

TILE = 64
"""Queries of a tile: enough for one matrix product, few enough to share most of their keys."""
KEYS_A_STEP = 8
"""Keys of a tile come in multiples of this, for aligned attention kernels."""


@dataclass
class Forest:
    """A forest of tokens in preorder."""

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """-1 at a root."""
    ends: list[int] = field(default_factory=list)
    """Position of each text's last token."""

    def path(self, position: int) -> list[int]:
        """The ancestors of a position, from its root down to its parent."""
        above, parent = [], self.parents[position]
        while parent >= 0:
            above.append(parent)
            parent = self.parents[parent]
        return above[::-1]

    def subtree_ends(self) -> np.ndarray:
        """int64 (P,): the position after the last one below each."""
        size_P = np.ones(len(self.tokens), dtype=np.int64)
        for position in range(len(self.tokens) - 1, -1, -1):
            if self.parents[position] >= 0:
                size_P[self.parents[position]] += size_P[position]
        return np.arange(len(self.tokens)) + size_P


class Tiles(NamedTuple):
    """Who attends to whom in a forest."""

    key_TK: np.ndarray
    """Positions whose keys and values a tile reads; some only fill it up."""
    seen_TQK: np.ndarray
    """bool: the key is the query's ancestor or itself."""


def tiles(forest: Forest, size: int = TILE) -> Tiles:
    """The forest cut into tiles of ``size`` positions; what lies after its last one sees a key of no matter."""
    positions = len(forest.tokens)
    count = -(-positions // size)
    start_T = np.arange(count) * size
    paths = [forest.path(start) for start in start_T.tolist()]
    above = -(-max(map(len, paths)) // KEYS_A_STEP) * KEYS_A_STEP
    nowhere = count * size
    key_TK = np.full((count, above + size), nowhere, dtype=np.int64)
    for tile, path in enumerate(paths):
        key_TK[tile, : len(path)] = path
    query_TQ = start_T[:, None] + np.arange(size)
    key_TK[:, above:] = query_TQ
    end_P = np.concatenate([forest.subtree_ends(), np.arange(positions, nowhere) + 1, [0]])
    seen_TQK = (key_TK[:, None] <= query_TQ[..., None]) & (query_TQ[..., None] < end_P[key_TK][:, None])
    return Tiles(np.minimum(key_TK, positions - 1), seen_TQK)


def new_tokens(sequences: Sequence[Sequence[int]]) -> list[int]:
    """How many tokens each of some sequences has beyond what it begins with as the one before it does."""
    return [len(sequence) - _common_prefix(before, sequence) for before, sequence in pairwise([(), *sequences])]


def pack(sequences: Sequence[Sequence[int]]) -> Forest:
    """The forest of sequences that are sorted, so that common beginnings meet."""
    forest, path = Forest(), []
    for sequence, new in zip(sequences, new_tokens(sequences), strict=True):
        shared = len(sequence) - new
        path = path[:shared]
        for depth in range(shared, len(sequence)):
            forest.parents.append(path[-1] if path else -1)
            path.append(len(forest.tokens))
            forest.tokens.append(sequence[depth])
            forest.depths.append(depth)
        forest.ends.append(path[-1])
    return forest


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


def causal_tower(model: Any) -> Any | None:
    """The text tower of an open_clip model if it is causal and pools at the end of text, else None."""
    tower = getattr(model, "text", model)
    needed = ("token_embedding", "positional_embedding", "transformer", "ln_final", "text_projection")
    if any(not hasattr(tower, name) for name in needed) or getattr(tower, "attn_mask", None) is None:
        return None
    if getattr(tower, "cls_emb", None) is not None or _pooling(tower) not in ("argmax", "eos"):
        return None
    return tower if layers.known(tower.transformer.resblocks) else None


def _pooling(tower: Any) -> str:
    return getattr(tower, "text_pool_type", None) or getattr(tower, "pool_type", "")


def end_positions(tower: Any, tokens_TL: Tensor) -> Tensor:
    """Where the tower pools each text (T,): at the largest token id, or at its first end-of-text token."""
    if _pooling(tower) == "argmax":
        return tokens_TL.argmax(dim=-1)
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    return (tokens_TL == end).int().argmax(dim=-1)


class PackedText:
    """Encodes texts with a causal tower, forest by forest."""

    def __init__(self, tower: Any, device: str, linear: Linear) -> None:
        self._tower, self._device, self.linear = tower, device, linear
        if ancestors.serve(device, tower.transformer.get_cast_dtype()):
            ancestors.prepare()
        self.positions = 0
        """Positions computed so far."""

    def __call__(self, tokens_SL: Tensor, batch_positions: int) -> np.ndarray:
        """Features (S, D) float32 of S tokenised texts, at most about ``batch_positions`` positions at a time."""
        end_S = end_positions(self._tower, tokens_SL)
        sequences = [tuple(row[: end + 1]) for row, end in zip(tokens_SL.tolist(), end_S.tolist(), strict=True)]
        order = sorted(range(len(sequences)), key=sequences.__getitem__)
        in_order = [sequences[index] for index in order]
        pieces = layers.pieces(new_tokens(in_order), self._device, batch_positions)
        forests = [pack(in_order[piece]) for piece in pieces]
        self.positions += sum(len(forest.tokens) for forest in forests)
        feature_SD = np.concatenate(layers.side_by_side(self._encode, forests, self._device))
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return feature_SD[inverse]

    @torch.inference_mode()
    def _encode(self, forest: Forest) -> np.ndarray:
        """Features of the forest's texts."""
        tower, linear = self._tower, self.linear
        dtype = tower.transformer.get_cast_dtype()
        attend = attention(forest, self._device, dtype)
        ends = torch.tensor(forest.ends, device=self._device)
        x_PW = tower.token_embedding(torch.tensor(forest.tokens, device=self._device)).to(dtype)
        x_PW = x_PW + tower.positional_embedding.to(dtype)[torch.tensor(forest.depths, device=self._device)]
        *blocks, last = tower.transformer.resblocks
        for block in blocks:
            x_PW = layers.finish(block, x_PW, attend(layers.heads(block, x_PW, linear)), linear)
        x_SW = layers.finish(last, x_PW[ends], attend(layers.heads(last, x_PW, linear))[ends], linear)
        return layers.project(tower.text_projection, tower.ln_final(x_SW)).float().cpu().numpy()


def attention(forest: Forest, device: str, dtype: torch.dtype) -> Attend:
    """How the positions of a forest attend to their ancestors and themselves in such a tower."""
    if ancestors.serve(device, dtype):
        return partial(_one_by_one, np.array(forest.depths))
    key_TK, seen_TQK = map(torch.from_numpy, tiles(forest))
    mask_TQK = torch.zeros(seen_TQK.shape).masked_fill_(~seen_TQK, float("-inf"))
    return partial(_by_tiles, key_TK.to(device), mask_TQK.to(device, dtype)[:, None])


def _one_by_one(depth_P: np.ndarray, part_P3HD: Tensor) -> Tensor:
    part_P3HD = part_P3HD.float().contiguous()  # autocast gives another type
    read_PHD = part_P3HD.new_empty(len(depth_P), *part_P3HD.shape[2:])
    ancestors.attend(part_P3HD.numpy(), depth_P, read_PHD.numpy())
    return read_PHD.flatten(1)


def _by_tiles(key_TK: Tensor, mask_T1QK: Tensor, part_P3HD: Tensor) -> Tensor:
    positions, queries = len(part_P3HD), mask_T1QK.shape[2]
    query_PHD = functional.pad(part_P3HD[:, 0], (0, 0, 0, 0, 0, len(key_TK) * queries - positions))
    key_TKHD, value_TKHD = part_P3HD[:, 1:].index_select(0, key_TK.flatten()).unflatten(0, key_TK.shape).unbind(2)
    read_THQD = functional.scaled_dot_product_attention(
        query_PHD.unflatten(0, (-1, queries)).transpose(1, 2),
        key_TKHD.transpose(1, 2),
        value_TKHD.transpose(1, 2),
        attn_mask=mask_T1QK,
    )
    return read_THQD.transpose(1, 2).flatten(2).flatten(0, 1)[:positions]
