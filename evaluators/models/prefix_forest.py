"""Causal text towers on prefix forests: no padding, and every shared prefix is computed once.

A token of a causal tower depends on the tokens before it only. So texts that start alike share the computation of their
common prefix, and tokens after the end-of-text token are never needed. The token sequences of a batch are stored as a
forest of prefix trees (tries), with one node per distinct prefix. A node attends to its ancestors and itself, and its
depth selects its position embedding. The last layer is computed for the last token of each text only.

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
"""Nodes per attention block: enough for an efficient matrix product, few enough to share most of their keys."""


@dataclass
class PrefixForest:
    """Token sequences as a forest of prefix trees, with its nodes in preorder."""

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """-1 for a root."""
    ends: list[int] = field(default_factory=list)
    """The node of each sequence's last token."""

    def path(self, node: int) -> list[int]:
        """The ancestors of a node, from its root to its parent."""
        ancestors, parent = [], self.parents[node]
        while parent >= 0:
            ancestors.append(parent)
            parent = self.parents[parent]
        return ancestors[::-1]

    def subtree_ends(self) -> np.ndarray:
        """int64 (N,): the node after the last descendant of each node."""
        size_N = np.ones(len(self.tokens), dtype=np.int64)
        for node in range(len(self.tokens) - 1, -1, -1):
            if self.parents[node] >= 0:
                size_N[self.parents[node]] += size_N[node]
        return np.arange(len(self.tokens)) + size_N


class AttentionBlocks(NamedTuple):
    """Blocked attention of a forest's nodes to their ancestors and themselves."""

    key_BK: np.ndarray
    """int64: the nodes that a block reads keys and values of; padded with nodes that the mask excludes."""
    mask_BQK: np.ndarray
    """bool: True where the key is an ancestor of the query, or the query itself."""


def attention_blocks(forest: PrefixForest, size: int = BLOCK_SIZE) -> AttentionBlocks:
    """Cut a forest into blocks of ``size`` queries; the queries that pad the last block attend to themselves."""
    nodes = len(forest.tokens)
    blocks = -(-nodes // size)
    start_B = np.arange(blocks) * size
    paths = [forest.path(start) for start in start_B.tolist()]
    longest = max(map(len, paths))
    padding = blocks * size  # after every query, so the mask excludes it
    key_BK = np.full((blocks, longest + size), padding, dtype=np.int64)
    for block, path in enumerate(paths):
        key_BK[block, : len(path)] = path
    query_BQ = start_B[:, None] + np.arange(size)
    key_BK[:, longest:] = query_BQ
    end_N = np.concatenate([forest.subtree_ends(), np.arange(nodes, padding) + 1, [0]])
    mask_BQK = (key_BK[:, None] <= query_BQ[..., None]) & (query_BQ[..., None] < end_N[key_BK][:, None])
    return AttentionBlocks(np.minimum(key_BK, nodes - 1), mask_BQK)


def new_tokens(sequences: Sequence[Sequence[int]]) -> list[int]:
    """The number of tokens of each sequence after the prefix that it shares with the sequence before it."""
    return [len(sequence) - _common_prefix(before, sequence) for before, sequence in pairwise([(), *sequences])]


def build(sequences: Sequence[Sequence[int]]) -> PrefixForest:
    """The prefix forest of sorted sequences."""
    forest, path = PrefixForest(), []
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
    """The text tower of an open_clip model if it is causal and pools at the end-of-text token, else None."""
    tower = getattr(model, "text", model)
    needed = ("token_embedding", "positional_embedding", "transformer", "ln_final", "text_projection")
    if any(not hasattr(tower, name) for name in needed) or getattr(tower, "attn_mask", None) is None:
        return None
    if getattr(tower, "cls_emb", None) is not None or _pooling(tower) not in ("argmax", "eos"):
        return None
    return tower if all(map(_is_supported, tower.transformer.resblocks)) else None


def _is_supported(layer: nn.Module) -> bool:
    """True for a layer whose attention is PyTorch's own, not subclassed or wrapped by an adapter."""
    return type(layer) is ResidualAttentionBlock and type(layer.attn) is nn.MultiheadAttention


def _pooling(tower: Any) -> str:
    return getattr(tower, "text_pool_type", None) or getattr(tower, "pool_type", "")


def end_positions(tower: Any, tokens_SL: Tensor) -> Tensor:
    """The position (S,) at which the tower pools each text: its largest token id, or its first end-of-text token."""
    if _pooling(tower) == "argmax":
        return tokens_SL.argmax(dim=-1)
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    return (tokens_SL == end).int().argmax(dim=-1)


class PrefixForestEncoder:
    """Encodes texts with a causal tower, one prefix forest per batch."""

    def __init__(self, tower: Any, device: str) -> None:
        self._tower, self._device = tower, device
        self.nodes = 0
        """Nodes encoded so far."""

    def __call__(self, tokens_SL: Tensor, batch_nodes: int) -> np.ndarray:
        """Features (S, D) float32 of tokenised texts, in batches of about ``batch_nodes`` nodes."""
        end_S = end_positions(self._tower, tokens_SL)
        sequences = [tuple(row[: end + 1]) for row, end in zip(tokens_SL.tolist(), end_S.tolist(), strict=True)]
        order = sorted(range(len(sequences)), key=sequences.__getitem__)
        ordered = [sequences[index] for index in order]
        feature_SD = np.concatenate([self._encode(build(ordered[batch])) for batch in batches(ordered, batch_nodes)])
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return feature_SD[inverse]

    @torch.inference_mode()
    def _encode(self, forest: PrefixForest) -> np.ndarray:
        tower = self._tower
        self.nodes += len(forest.tokens)
        dtype = tower.transformer.get_cast_dtype()
        key_BK, mask_BQK = (torch.from_numpy(array).to(self._device) for array in attention_blocks(forest))
        tokens, depths, ends = (
            torch.tensor(values, device=self._device) for values in (forest.tokens, forest.depths, forest.ends)
        )
        x_NW = tower.token_embedding(tokens).to(dtype) + tower.positional_embedding.to(dtype)[depths]
        *layers, last = tower.transformer.resblocks
        for layer in layers:
            x_NW = _residual(layer, x_NW, attend(layer, x_NW, key_BK, mask_BQK))
        x_SW = _residual(last, x_NW[ends], attend(last, x_NW, key_BK, mask_BQK)[ends])
        return _project(tower.text_projection, tower.ln_final(x_SW)).float().cpu().numpy()


def batches(sequences: Sequence[Sequence[int]], batch_nodes: int) -> list[slice]:
    """Cut sorted sequences into batches of about ``batch_nodes`` nodes and of about equal size."""
    end_S = np.cumsum(new_tokens(sequences))
    count = -(-int(end_S[-1]) // batch_nodes)
    batch_S = (end_S - 1) * count // end_S[-1]
    edges = [0, *(np.flatnonzero(np.diff(batch_S)) + 1).tolist(), len(end_S)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def attend(layer: Any, x_NW: Tensor, key_BK: Tensor, mask_BQK: Tensor) -> Tensor:
    """The values (N, W) that each node of a layer's input gathers, before the output projection."""
    attention, (blocks, queries, _) = layer.attn, mask_BQK.shape
    qkv_NC = functional.linear(layer.ln_1(x_NW), attention.in_proj_weight, attention.in_proj_bias)
    qkv_N3HD = qkv_NC.unflatten(-1, (3, attention.num_heads, -1))
    query_NHD = functional.pad(qkv_N3HD[:, 0], (0, 0, 0, 0, 0, blocks * queries - len(x_NW)))
    key_BKHD, value_BKHD = qkv_N3HD[:, 1:].index_select(0, key_BK.flatten()).unflatten(0, key_BK.shape).unbind(2)
    gathered_BHQD = functional.scaled_dot_product_attention(
        query_NHD.unflatten(0, (blocks, queries)).transpose(1, 2),
        key_BKHD.transpose(1, 2),
        value_BKHD.transpose(1, 2),
        attn_mask=mask_BQK[:, None],
    )
    return gathered_BHQD.transpose(1, 2).flatten(2).flatten(0, 1)[: len(x_NW)]


def _residual(layer: Any, x_NW: Tensor, gathered_NW: Tensor) -> Tensor:
    """The output (N, W) of a layer, of its input and the gathered values."""
    x_NW = x_NW + layer.ls_1(layer.attn.out_proj(gathered_NW))
    return x_NW + layer.ls_2(layer.mlp(layer.ln_2(x_NW)))


def _project(projection: Any, pooled_SW: Tensor) -> Tensor:
    """Pooled outputs in the space that images and texts share."""
    if projection is None:
        return pooled_SW
    return projection(pooled_SW) if isinstance(projection, nn.Linear) else pooled_SW @ projection
