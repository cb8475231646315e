"""Unit features of images and texts by an open_clip model in training, and its retrieval scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evaluators.models.prefix_forest import causal_tower
from evaluators.protocols import recall
from trainers.clip.training import encode_images, encode_text
from trainers.negclip.image_text import ImageText, Pixels

IMAGES_PER_BATCH = 256
CUTOFFS = (1, 5)


def encode_texts(model: Any, text_TL: Tensor) -> Tensor:
    """Return unit features (T, D) in single precision, computed without padding if the tower allows it."""
    device = text_TL.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        is_plain = causal_tower(model) is model and model.text_pool_type == "argmax"
        text_TD = encode_text(model, text_TL) if is_plain else model.encode_text(text_TL, normalize=True)
    return text_TD.float()


@torch.no_grad()
def embed_all(model: Any, pixels: Pixels, workers: int = 0, report: Callable | None = None) -> Tensor:
    """Return the unit features (I, D) of all images on the CPU; the training mode of the model is restored."""
    was_training, device = model.training, model.logit_scale.device
    model.eval()
    parts: list[Tensor] = []
    for pixels_NCHW in pixels.in_order(IMAGES_PER_BATCH, workers):
        parts.append(encode_images(model, pixels_NCHW.to(device)).cpu())
        if report:
            report("images", sum(map(len, parts)), len(pixels))
    model.train(was_training)
    return torch.cat(parts)


@torch.no_grad()
def retrieval(
    model: Any, data: ImageText, pixels: Pixels, tokenizer: Callable[[list[str]], Tensor], workers: int = 0
) -> dict[str, float]:
    """Return recall@1 and recall@5 among all images and captions in both directions, as ``i2t_recall@1`` ..."""
    image_ID = embed_all(model, pixels, workers).numpy()
    was_training, device = model.training, model.logit_scale.device
    model.eval()
    parts = [
        encode_texts(model, part.to(device)).cpu()
        for part in tokenizer(list(data.captions)).split(2 * IMAGES_PER_BATCH)
    ]
    model.train(was_training)
    text_CD = torch.cat(parts).numpy()
    text_IT = texts_of_images(data)
    ranks_by_direction = recall.both_directions(
        np.arange(len(image_ID)),
        text_IT,
        lambda position: image_ID[position],
        lambda position: text_CD[position],
    )
    return {
        f"{direction}_recall@{k}": float((ranks.rank_N <= k).mean())
        for direction, ranks in ranks_by_direction.items()
        for k in CUTOFFS
    }


def texts_of_images(data: ImageText) -> np.ndarray:
    """Return the caption numbers (I, T) of each image, padded with -1; equal captions have equal numbers."""
    count_I = np.bincount(data.image_C)
    text_IT = np.full((len(count_I), count_I.max()), -1)
    text_IT[np.arange(count_I.max()) < count_I[:, None]] = np.unique(data.captions, return_inverse=True)[1]
    return text_IT
