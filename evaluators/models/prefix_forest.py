"""Compute causal text towers on prefix forests: without padding, and with every shared prefix computed once.

In a causal tower, a token's output depends only on this token and the tokens before it. Texts with a common prefix
therefore share its computation, and tokens after the end-of-text token are never needed. The token sequences of a batch
are stored as a forest of prefix trees (tries), with one node per distinct prefix. A node attends to its ancestors and
itself, and its depth selects its position embedding. The last layer is computed only for the last token of each text.

Attention runs over blocks of consecutive nodes. The nodes are in preorder, therefore an ancestor that comes before a
block is an ancestor of the block's first node. The keys of a block are its own nodes and the path to its first node, so
that memory grows linearly with the forest.

Supports open_clip's ``CLIP`` and ``TextTransformer`` if they are causal and pool at the end-of-text token.
Shapes: N nodes, S texts, L tokens of a padded text, W width, H heads, D head width, B blocks of Q queries and K keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from open_clip.transformer import ResidualAttentionBlock
from torch import Tensor, nn
from torch.nn import functional

BLOCK_SIZE = 64
"""Number of nodes per attention block: enough for efficient matrix products, few enough to share most keys."""


@dataclass
class PrefixForest:
    """Token sequences as a forest of prefix trees, with the nodes in preorder."""

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """Parent of each node; -1 for a root."""
    ends: list[int] = field(default_factory=list)
    """Node of the last token of each sequence."""

    def path(self, node: int) -> list[int]:
        """Return the ancestors of a node, from its root to its parent."""
        ancestors = []
        parent = self.parents[node]
        while parent >= 0:
            ancestors.append(parent)
            parent = self.parents[parent]
        return ancestors[::-1]

    def subtree_ends(self) -> np.ndarray:
        """Return for each node the node after its last descendant, int64 (N,)."""
        size_N = np.ones(len(self.tokens), dtype=np.int64)
        for node in range(len(self.tokens) - 1, -1, -1):
            if self.parents[node] >= 0:
                size_N[self.parents[node]] += size_N[node]
        return np.arange(len(self.tokens)) + size_N


class AttentionBlocks(NamedTuple):
    """Attention of a forest's nodes to their ancestors and themselves, in blocks."""

    key_BK: np.ndarray
    """Nodes whose keys and values each block reads (int64), padded with nodes that the mask excludes."""
    mask_BQK: np.ndarray
    """True if the key is an ancestor of the query or the query itself (bool)."""


def attention_blocks(forest: PrefixForest, size: int = BLOCK_SIZE) -> AttentionBlocks:
    """Divide a forest into blocks of ``size`` queries. Queries that pad the last block attend to themselves."""
    num_nodes = len(forest.tokens)
    num_blocks = -(-num_nodes // size)
    start_B = np.arange(num_blocks) * size
    paths = [forest.path(start) for start in start_B.tolist()]
    longest = max(map(len, paths))
    padding = num_blocks * size  # greater than every query, so the mask excludes it
    key_BK = np.full((num_blocks, longest + size), padding, dtype=np.int64)
    for block, path in enumerate(paths):
        key_BK[block, : len(path)] = path
    query_BQ = start_B[:, None] + np.arange(size)
    key_BK[:, longest:] = query_BQ
    end_N = np.concatenate([forest.subtree_ends(), np.arange(num_nodes, padding) + 1, [0]])
    mask_BQK = (key_BK[:, None] <= query_BQ[..., None]) & (
        query_BQ[..., None] < end_N[key_BK][:, None]
    )
    return AttentionBlocks(np.minimum(key_BK, num_nodes - 1), mask_BQK)


def count_new_tokens(sequences: Sequence[Sequence[int]]) -> list[int]:
    """Return for each sequence the number of tokens after its common prefix with the previous sequence."""
    return [
        len(sequence) - _common_prefix(previous, sequence)
        for previous, sequence in pairwise([(), *sequences])
    ]


def build(sequences: Sequence[Sequence[int]]) -> PrefixForest:
    """Build the prefix forest of sorted sequences."""
    forest = PrefixForest()
    path = []
    for sequence, num_new in zip(sequences, count_new_tokens(sequences), strict=True):
        shared = len(sequence) - num_new
        path = path[:shared]
        for depth in range(shared, len(sequence)):
            forest.parents.append(path[-1] if path else -1)
            path.append(len(forest.tokens))
            forest.tokens.append(sequence[depth])
            forest.depths.append(depth)
        forest.ends.append(path[-1])
    return forest


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))


def causal_tower(model: Any) -> Any | None:
    """Return the text tower of an open_clip model, or None if it is not causal or pools elsewhere than at the end."""
    tower = getattr(model, "text", model)
    needed = (
        "token_embedding",
        "positional_embedding",
        "transformer",
        "ln_final",
        "text_projection",
    )
    if (
        any(not hasattr(tower, name) for name in needed)
        or getattr(tower, "attn_mask", None) is None
    ):
        return None
    if getattr(tower, "cls_emb", None) is not None or _pooling(tower) not in ("argmax", "eos"):
        return None
    # The attention has to be PyTorch's, neither subclassed nor wrapped by an adapter.
    is_supported = all(
        type(layer) is ResidualAttentionBlock and type(layer.attn) is nn.MultiheadAttention
        for layer in tower.transformer.resblocks
    )
    return tower if is_supported else None


def _pooling(tower: Any) -> str:
    return getattr(tower, "text_pool_type", None) or getattr(tower, "pool_type", "")


def find_end_positions(tower: Any, tokens_SL: Tensor) -> Tensor:
    """Return the position (S,) at which the tower pools each text.

    It is the position of the largest token id or of the first end-of-text token.
    """
    if _pooling(tower) == "argmax":
        return tokens_SL.argmax(dim=-1)
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    return (tokens_SL == end).int().argmax(dim=-1)


class PrefixForestEncoder:
    """Encoder of texts that computes a causal tower on one prefix forest per batch."""

    per_text = 32
    """Nodes of a forest for each text of a batch size."""

    def __init__(self, tower: Any, device: str) -> None:
        self._tower = tower
        self._device = device
        self.nodes = 0
        """Number of nodes encoded so far."""

    def __call__(self, tokens_SL: Tensor, batch_nodes: int) -> np.ndarray:
        """Return features (S, D) in float32 of tokenised texts, encoded in batches of about ``batch_nodes`` nodes."""
        end_S = find_end_positions(self._tower, tokens_SL)
        sequences = [
            tuple(row[: end + 1])
            for row, end in zip(tokens_SL.tolist(), end_S.tolist(), strict=True)
        ]
        order = sorted(range(len(sequences)), key=sequences.__getitem__)
        ordered = [sequences[index] for index in order]
        feature_SD = np.concatenate(
            [self._encode(build(ordered[batch])) for batch in batches(ordered, batch_nodes)]
        )
        return feature_SD[np.argsort(order)]

    @torch.inference_mode()
    def _encode(self, forest: PrefixForest) -> np.ndarray:
        tower = self._tower
        self.nodes += len(forest.tokens)
        dtype = tower.transformer.get_cast_dtype()
        key_BK, mask_BQK = (
            torch.from_numpy(array).to(self._device) for array in attention_blocks(forest)
        )
        tokens, depths, ends = (
            torch.tensor(values, device=self._device)
            for values in (forest.tokens, forest.depths, forest.ends)
        )
        x_NW = (
            tower.token_embedding(tokens).to(dtype) + tower.positional_embedding.to(dtype)[depths]
        )
        *layers, last = tower.transformer.resblocks
        for layer in layers:
            x_NW = _residual(layer, x_NW, attend(layer, x_NW, key_BK, mask_BQK))
        x_SW = _residual(last, x_NW[ends], attend(last, x_NW, key_BK, mask_BQK)[ends])
        return project(tower.text_projection, tower.ln_final(x_SW)).float().cpu().numpy()


def batches(sequences: Sequence[Sequence[int]], batch_nodes: int) -> list[slice]:
    """Divide sorted sequences into batches of similar size, each of about ``batch_nodes`` nodes."""
    end_S = np.cumsum(count_new_tokens(sequences))
    num_batches = -(-int(end_S[-1]) // batch_nodes)
    batch_S = (end_S - 1) * num_batches // end_S[-1]
    edges = [0, *(np.flatnonzero(np.diff(batch_S)) + 1).tolist(), len(end_S)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def attend(layer: Any, x_NW: Tensor, key_BK: Tensor, mask_BQK: Tensor) -> Tensor:
    """Return each node's attention output (N, W) in a layer, before the output projection."""
    attention, (blocks, queries, _) = layer.attn, mask_BQK.shape
    qkv_NC = functional.linear(layer.ln_1(x_NW), attention.in_proj_weight, attention.in_proj_bias)
    qkv_N3HD = qkv_NC.unflatten(-1, (3, attention.num_heads, -1))
    query_NHD = functional.pad(qkv_N3HD[:, 0], (0, 0, 0, 0, 0, blocks * queries - len(x_NW)))
    key_BKHD, value_BKHD = (
        qkv_N3HD[:, 1:].index_select(0, key_BK.flatten()).unflatten(0, key_BK.shape).unbind(2)
    )
    gathered_BHQD = functional.scaled_dot_product_attention(
        query_NHD.unflatten(0, (blocks, queries)).transpose(1, 2),
        key_BKHD.transpose(1, 2),
        value_BKHD.transpose(1, 2),
        attn_mask=mask_BQK[:, None],
    )
    return gathered_BHQD.transpose(1, 2).flatten(2).flatten(0, 1)[: len(x_NW)]


def _residual(layer: Any, x_NW: Tensor, gathered_NW: Tensor) -> Tensor:
    """Return the output (N, W) of a layer, given its input and the attention outputs before projection."""
    x_NW = x_NW + layer.ls_1(layer.attn.out_proj(gathered_NW))
    return x_NW + layer.ls_2(layer.mlp(layer.ln_2(x_NW)))


def project(projection: Any, pooled_SW: Tensor) -> Tensor:
    """Project pooled outputs into the common space of images and texts."""
    if projection is None:
        return pooled_SW
    return projection(pooled_SW) if isinstance(projection, nn.Linear) else pooled_SW @ projection
