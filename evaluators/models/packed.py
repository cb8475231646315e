"""Causal text towers without padding and without repeated beginnings.

In a causal tower a token sees only what stands before it, so texts that begin alike share the work of their beginning,
and what follows the end-of-text token is never needed. Texts sorted by their tokens are cut into blocks of a fixed
number of positions; a block is a forest of tokens in which a position attends to its ancestors and takes the position
embedding of its depth. All blocks of a batch have nearly the same size, so almost nothing is padded.

Works with open_clip's own modules (``CLIP`` and ``TextTransformer`` that are causal and pool at the end of text).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

BLOCK = 256
"""Positions of a block: enough to share in, and few enough for the quadratic attention mask to stay small."""


@dataclass
class Block:
    """A forest of tokens. P positions, S texts."""

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """-1 at a root."""
    ends: list[int] = field(default_factory=list)
    """Position of each text's last token."""

    def ancestors(self) -> np.ndarray:
        """bool (P, P): row p marks p and all its ancestors."""
        seen_PP = np.eye(len(self.tokens), dtype=bool)
        for position, parent in enumerate(self.parents):
            if parent >= 0:
                seen_PP[position] |= seen_PP[parent]
        return seen_PP


def pack(sequences: Sequence[Sequence[int]], size: int = BLOCK) -> Iterator[Block]:
    """Blocks that hold the sequences in order, which should be sorted so that common beginnings meet.

    A sequence that is longer than ``size`` gets a block of its own.
    """
    block, path, previous = Block(), [], ()
    for sequence in sequences:
        shared = _common_prefix(previous, sequence)
        if block.tokens and len(block.tokens) + len(sequence) - shared > size:
            yield block
            block, path, shared = Block(), [], 0
        path = path[:shared]
        for depth in range(shared, len(sequence)):
            block.parents.append(path[-1] if path else -1)
            path.append(len(block.tokens))
            block.tokens.append(sequence[depth])
            block.depths.append(depth)
        block.ends.append(path[-1])
        previous = sequence
    if block.tokens:
        yield block


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
    return tower


def _pooling(tower: Any) -> str:
    return getattr(tower, "text_pool_type", None) or getattr(tower, "pool_type", "")


def end_positions(tower: Any, tokens_TL: Tensor) -> Tensor:
    """Where the tower pools each text (T,): at the largest token id, or at its first end-of-text token."""
    if _pooling(tower) == "argmax":
        return tokens_TL.argmax(dim=-1)
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    return (tokens_TL == end).int().argmax(dim=-1)


class PackedText:
    """Encodes texts with a causal tower, block by block."""

    def __init__(self, tower: Any, device: str) -> None:
        self._tower = tower
        self._device = device
        self._heads = tower.transformer.resblocks[0].attn.num_heads
        self.positions = 0
        """Positions computed so far, padding included."""

    @torch.inference_mode()
    def __call__(self, tokens_TL: Tensor, batch_positions: int) -> np.ndarray:
        """Features (T, D) float32 of T tokenised texts, about ``batch_positions`` positions at a time."""
        end_T = end_positions(self._tower, tokens_TL)
        sequences = [tuple(row[: end + 1]) for row, end in zip(tokens_TL.tolist(), end_T.tolist(), strict=True)]
        order = sorted(range(len(sequences)), key=sequences.__getitem__)
        blocks = list(pack([sequences[index] for index in order]))
        step = max(1, batch_positions // BLOCK)
        parts = [self._encode(blocks[start : start + step]) for start in range(0, len(blocks), step)]
        feature_TD = np.concatenate(parts)
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return feature_TD[inverse]

    def _encode(self, blocks: Sequence[Block]) -> np.ndarray:
        """Features of the blocks' texts, block by block."""
        tower, size = self._tower, max(len(block.tokens) for block in blocks)
        dtype = tower.transformer.get_cast_dtype()
        token_BP = torch.zeros(len(blocks), size, dtype=torch.long)
        depth_BP = torch.zeros(len(blocks), size, dtype=torch.long)
        seen_BPP = torch.eye(size, dtype=torch.bool).repeat(len(blocks), 1, 1)
        for index, block in enumerate(blocks):
            length = len(block.tokens)
            token_BP[index, :length] = torch.tensor(block.tokens)
            depth_BP[index, :length] = torch.tensor(block.depths)
            seen_BPP[index, :length, :length] = torch.from_numpy(block.ancestors())
        self.positions += token_BP.numel()
        mask_BPP = torch.zeros(seen_BPP.shape).masked_fill_(~seen_BPP, float("-inf")).to(self._device, dtype)
        x_BPW = tower.token_embedding(token_BP.to(self._device)).to(dtype)
        x_BPW = x_BPW + tower.positional_embedding.to(dtype)[depth_BP.to(self._device)]
        x_BPW = tower.transformer(x_BPW, attn_mask=mask_BPP.repeat_interleave(self._heads, dim=0))
        owner = torch.tensor([index for index, block in enumerate(blocks) for _ in block.ends])
        ends = torch.tensor([end for block in blocks for end in block.ends])
        pooled_SW = tower.ln_final(x_BPW[owner.to(self._device), ends.to(self._device)])
        return _project(tower.text_projection, pooled_SW).float().cpu().numpy()


def _project(projection: Any, pooled_SW: Tensor) -> Tensor:
    if projection is None:
        return pooled_SW
    return projection(pooled_SW) if isinstance(projection, torch.nn.Linear) else pooled_SW @ projection
