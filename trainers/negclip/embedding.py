"""Compute unit features and retrieval scores with an open_clip model during training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from compeval.evaluators.models.prefix_forest import causal_tower
from compeval.evaluators.protocols import recall
from compeval.trainers.clip.precision import has_fast_bfloat16
from compeval.trainers.clip.training import encode_text
from compeval.trainers.negclip.image_text import CaptionedImages, ImageDataset

IMAGES_PER_BATCH = 256
CUTOFFS = (1, 5)


Precision = Literal["auto", "fp32", "bf16"]
"""``bf16``: mixed precision; weights, features and the loss are fp32. ``auto``: bf16 where it is faster, which on CPUs
with AMX is the image tower only."""


def encode_images(model: Any, pixels_NCHW: Tensor, precision: Precision = "auto") -> Tensor:
    """Return unit features (N, D) in fp32."""
    device = pixels_NCHW.device.type
    use_bf16 = has_fast_bfloat16(device) if precision == "auto" else precision == "bf16"
    with torch.autocast(device, torch.bfloat16, enabled=use_bf16):
        image_ND = model.encode_image(
            pixels_NCHW.contiguous(memory_format=torch.channels_last), normalize=False
        )
    return functional.normalize(image_ND.float(), dim=-1)


def encode_texts(model: Any, text_TL: Tensor, precision: Precision = "auto") -> Tensor:
    """Return unit features (T, D) in fp32. Skips padding if the text tower is causal."""
    device = text_TL.device.type
    use_bf16 = device == "cuda" if precision == "auto" else precision == "bf16"
    with torch.autocast(device, torch.bfloat16, enabled=use_bf16):
        is_causal = causal_tower(model) is model and model.text_pool_type == "argmax"
        text_TD = (
            encode_text(model, text_TL) if is_causal else model.encode_text(text_TL, normalize=True)
        )
    return functional.normalize(text_TD.float(), dim=-1) if use_bf16 else text_TD


@torch.no_grad()
def encode_all_images(model: Any, images: ImageDataset, workers: int = 0) -> Tensor:
    """Return the unit features (I, D) of all images on the CPU, computed in evaluation mode."""
    was_training = model.training
    device = model.logit_scale.device
    model.eval()
    batches = images.read_in_order(IMAGES_PER_BATCH, workers)
    parts = [
        encode_images(model, images.normalise(pixels_NCHW.to(device))).cpu()
        for pixels_NCHW in batches
    ]
    model.train(was_training)
    return torch.cat(parts)


@torch.no_grad()
def measure_retrieval(
    model: Any,
    data: CaptionedImages,
    images: ImageDataset,
    tokenizer: Callable[[list[str]], Tensor],
    workers: int = 0,
) -> dict[str, float]:
    """Return ``i2t_recall@1``, ``i2t_recall@5``, ``t2i_recall@1`` and ``t2i_recall@5`` over all images and captions."""
    image_ID = encode_all_images(model, images, workers).numpy()
    was_training = model.training
    device = model.logit_scale.device
    model.eval()
    parts = [
        encode_texts(model, part.to(device)).cpu()
        for part in tokenizer(list(data.captions)).split(2 * IMAGES_PER_BATCH)
    ]
    model.train(was_training)
    text_CD = torch.cat(parts).numpy()
    text_IT = group_captions_by_image(data)
    ranks_by_direction = recall.retrieve_both_directions(
        np.arange(len(image_ID)),
        text_IT,
        lambda index: image_ID[index],
        lambda index: text_CD[index],
    )
    return {
        f"{direction}_recall@{k}": float((ranks.rank_N <= k).mean())
        for direction, ranks in ranks_by_direction.items()
        for k in CUTOFFS
    }


def group_captions_by_image(data: CaptionedImages) -> np.ndarray:
    """Return the caption ids (I, T) of each image, padded with -1. Equal captions have the same id."""
    count_I = np.bincount(data.image_C)
    text_IT = np.full((len(count_I), count_I.max()), -1)
    text_IT[np.arange(count_I.max()) < count_I[:, None]] = np.unique(
        data.captions, return_inverse=True
    )[1]
    return text_IT
