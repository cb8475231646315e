"""Refuse a model whose features depend on tensors that its files lack: these are random in every process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from PIL import Image

from compeval.base.pretrained import describe_missing

TEXT = "a dog on a red table"


def check_missing(spec: str, model: Any, encoder: Any, missing: Iterable[str]) -> None:
    """Raise ValueError if other values of the missing tensors change the features or scores.

    Tensors that are not used may be missing: the pooling layer of a text encoder that takes the mean of its tokens.
    ``encoder`` is the adapter around ``model``.
    """
    ends = tuple(f".{name}" for name in missing)
    random = (
        {
            name: tensor
            for name, tensor in model.state_dict().items()
            if f".{name}".endswith(ends) and tensor.is_floating_point()
        }
        if ends
        else {}
    )
    if not random:
        return
    before = _compute(encoder)
    values = {name: tensor.clone() for name, tensor in random.items()}
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in random.values():  # noise, since a layer norm would remove a constant
            tensor.add_(torch.randn(tensor.shape, generator=generator).to(tensor))
        after = _compute(encoder)
        for name, tensor in random.items():
            tensor.copy_(values[name])
    if not all(map(np.array_equal, before, after)):
        raise ValueError(describe_missing(spec, random))


def _compute(encoder: Any) -> list[np.ndarray]:
    """Return the features and scores that an adapter computes of a drawn image and a text."""
    results: list[np.ndarray] = []
    if hasattr(encoder, "encode_texts"):
        results.append(encoder.encode_texts([TEXT], 1))
    if hasattr(encoder, "preprocess"):
        picture = encoder.preprocess(Image.linear_gradient("L").resize((96, 64)).convert("RGB"))
        if hasattr(encoder, "encode_images"):
            results.append(encoder.encode_images([picture], 1))
        if hasattr(encoder, "score"):
            results.append(encoder.score([picture], [TEXT]))
    return results
