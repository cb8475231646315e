"""Image towers that are read at their class token: the last layer is finished for that token alone.

Works with open_clip's own ``VisionTransformer`` that pools there.
Shapes: B images, C channels, P positions (class token and patches), Q queries, W width, H heads, D width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from open_clip.transformer import VisionTransformer
from torch import Tensor
from torch.nn import functional

from evaluators.models import layers
from evaluators.models.products import Linear


def class_token_tower(model: Any) -> VisionTransformer | None:
    """The image tower of an open_clip model if it is a transformer that pools at its class token, else None."""
    tower = getattr(model, "visual", None)
    if type(tower) is not VisionTransformer or tower.attn_pool is not None or tower.pool_type != "tok":
        return None
    return tower if layers.known(tower.transformer.resblocks) else None


class PooledImages:
    """Encodes images with such a tower."""

    def __init__(self, tower: VisionTransformer, device: str, dtype: torch.dtype, linear: Linear) -> None:
        self._tower: Any = tower
        self._device, self._dtype, self.linear = device, dtype, linear

    def __call__(self, images: Sequence[Tensor], batch_size: int) -> np.ndarray:
        """Features (B, D) float32 of preprocessed images, about ``batch_size`` of them at a time."""
        each = len(self._tower.positional_embedding)
        parts = [images[piece] for piece in layers.pieces([each] * len(images), self._device, batch_size * each)]
        return np.concatenate(layers.side_by_side(self._encode, parts, self._device))

    @torch.inference_mode()
    def _encode(self, images: Sequence[Tensor]) -> np.ndarray:
        """Features of a few images."""
        tower, linear = self._tower, self.linear
        x_BPW = tower._embeds(torch.stack(list(images)).to(self._device, self._dtype))
        *blocks, last = tower.transformer.resblocks
        for block in blocks:
            x_BPW = layers.finish(block, x_BPW, _read(block, x_BPW, None, linear), linear)
        x_BW = layers.finish(last, x_BPW[:, 0], _read(last, x_BPW, 1, linear)[:, 0], linear)
        return layers.project(tower.proj, tower.ln_post(x_BW)).float().cpu().numpy()


def _read(block: Any, x_BPW: Tensor, queries: int | None, linear: Linear) -> Tensor:
    """What so many first positions, or all, read from all positions (B, Q, W), before the output projection."""
    query_BPHD, key_BPHD, value_BPHD = layers.heads(block, x_BPW, linear).unbind(2)
    read_BHQD = functional.scaled_dot_product_attention(
        query_BPHD[:, :queries].transpose(1, 2), key_BPHD.transpose(1, 2), value_BPHD.transpose(1, 2)
    )
    return read_BHQD.transpose(1, 2).flatten(2)
