"""Split a preprocessing into a part that reads pixels as uint8 and a part that normalises them.

Processes that read images send a quarter of the bytes, and the model's device normalises. The result is the same: both
parts together compute what torchvision's ``ToTensor`` and ``Normalize`` compute, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from PIL.Image import Image
from torch import Tensor
from torchvision.transforms import Compose, Normalize, PILToTensor, ToTensor

Read = Callable[[Image], Tensor]
Normalise = Callable[[Tensor], Tensor]


def split_preprocess(preprocess: Read) -> tuple[Read, Normalise]:
    """Return a function that reads an image as uint8 (CHW), and one that normalises a batch (BCHW) or an image.

    A preprocessing that does not end in ``ToTensor`` and ``Normalize`` is not split: its second part does nothing.
    """
    steps = preprocess.transforms if isinstance(preprocess, Compose) else []
    if len(steps) < 2 or not isinstance(steps[-2], ToTensor) or not isinstance(steps[-1], Normalize):
        return preprocess, _keep
    mean, std = (torch.tensor(value).view(-1, 1, 1) for value in (steps[-1].mean, steps[-1].std))
    return Compose([*steps[:-2], PILToTensor()]), partial(_normalise, mean, std)


def _keep(pixels: Tensor) -> Tensor:
    return pixels


def _normalise(mean_C11: Tensor, std_C11: Tensor, pixels: Tensor) -> Tensor:
    return (pixels.float() / 255).sub_(mean_C11.to(pixels.device)).div_(std_C11.to(pixels.device))
