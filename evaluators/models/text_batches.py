"""Compute causal text towers on batches of texts of similar length, without the padding behind the longest one.

Exact for the towers that ``prefix_forest`` supports. A prefix that texts share is computed again for each of them; in
return, a batch is prepared in a few operations. On a GPU this is faster than the forest, which is built in Python.
Shapes: S texts, L tokens of a padded text, D dimensions of a feature, B texts of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compeval.evaluators.models.prefix_forest import find_end_positions, project


class LengthBatchEncoder:
    """Encoder of texts that are sorted by length."""

    per_text = 64
    """Tokens of a batch, padding included, for each text of a batch size."""

    def __init__(self, tower: Any, device: str) -> None:
        self._tower = tower
        self._device = device

    def __call__(self, tokens_SL: Tensor, batch_tokens: int) -> np.ndarray:
        """Return features (S, D) in float32 of tokenised texts, encoded in batches of at most ``batch_tokens``."""
        return self.start(tokens_SL, batch_tokens).cpu().numpy()

    @torch.inference_mode()
    def start(self, tokens_SL: Tensor, batch_tokens: int) -> Tensor:
        """Return the features on the device. A GPU may still compute them."""
        end_S, order_S = find_end_positions(self._tower, tokens_SL).sort(stable=True)
        lengths = (end_S + 1).tolist()
        tokens_SL, end_S, rank_S = (
            start_copy(values, self._device)
            for values in (tokens_SL[order_S], end_S, order_S.argsort())
        )
        features = [
            self._encode(tokens_SL[batch, : lengths[batch.stop - 1]], end_S[batch])
            for batch in batches(lengths, batch_tokens)
        ]
        return torch.cat(features)[rank_S]

    def _encode(self, tokens_BL: Tensor, end_B: Tensor) -> Tensor:
        """Return the features (B, D), float32. ``end_B``: the positions at which the tower pools."""
        tower = self._tower
        length = tokens_BL.shape[1]
        dtype = tower.transformer.get_cast_dtype()
        x_BLW = tower.token_embedding(tokens_BL).to(dtype) + tower.positional_embedding[:length].to(
            dtype
        )
        x_BLW = tower.transformer(x_BLW, attn_mask=tower.attn_mask[:length, :length])
        x_BW = x_BLW[torch.arange(len(x_BLW), device=self._device), end_B]
        return project(tower.text_projection, tower.ln_final(x_BW)).float()


def start_copy(values: Tensor, device: str) -> Tensor:
    """Copy a tensor to a device. Only a copy from pinned memory does not wait for what a GPU computes."""
    return (
        values.pin_memory().to(device, non_blocking=True)
        if device.startswith("cuda")
        else values.to(device)
    )


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[slice]:
    """Yield batches of sorted lengths. The texts of a batch, padded to the longest, have at most ``batch_tokens``."""
    start = 0
    for index, length in enumerate(lengths):
        if index > start and (index + 1 - start) * length > batch_tokens:
            yield slice(start, index)
            start = index
    yield slice(start, len(lengths))
