"""Image transforms in Pillow and numpy, up to the conversion to a tensor. Importing this module does not import torch.

``PixelTransform`` returns the pixels as bytes: a quarter of the size of a tensor. ``ToTensor`` and ``Normalize`` follow
on the model's device (``compeval.evaluators.models.transforms``). The result equals that of the library's transform bit
by bit.
Sizes are (height, width), as in torchvision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from PIL import Image

Size = tuple[int, int]
Step = Callable[[Image.Image], Image.Image]


class ResizeTo(NamedTuple):
    """Resize to a size, whatever the proportions (``squash``)."""

    size: Size
    resample: Image.Resampling

    def __call__(self, image: Image.Image) -> Image.Image:
        return _resize(image, *self.size, self.resample)


class ResizeShortest(NamedTuple):
    """Resize the shorter side to a length; the longer one is rounded down, as torchvision does."""

    length: int
    resample: Image.Resampling

    def __call__(self, image: Image.Image) -> Image.Image:
        width, height = image.size
        longer = int(self.length * max(width, height) / min(width, height))
        if width <= height:
            return _resize(image, longer, self.length, self.resample)
        return _resize(image, self.length, longer, self.resample)


class ResizeKeepRatio(NamedTuple):
    """Resize until both sides are at most (``longest`` is 1) or at least (0) those of a size, as timm does."""

    size: Size
    longest: float
    resample: Image.Resampling

    def __call__(self, image: Image.Image) -> Image.Image:
        ratios = image.height / self.size[0], image.width / self.size[1]
        ratio = max(ratios) * self.longest + min(ratios) * (1.0 - self.longest)
        return _resize(
            image, round(image.height / ratio), round(image.width / ratio), self.resample
        )


class CenterCrop(NamedTuple):
    """Cut the centre. Where the image is smaller, it is padded with a colour."""

    size: Size
    fill: int = 0

    def __call__(self, image: Image.Image) -> Image.Image:
        left = _find_start(image.width, self.size[1])
        top = _find_start(image.height, self.size[0])
        height, width = self.size
        if self.fill == 0 or (image.width >= width and image.height >= height):
            return image.crop((left, top, left + width, top + height))
        canvas = Image.new("RGB", (width, height), (self.fill,) * 3)
        canvas.paste(image, (-left, -top))
        return canvas


class PixelTransform(NamedTuple):
    """Steps that turn an RGB image into pixels of a fixed size."""

    steps: tuple[Step, ...]
    size: Size

    def __call__(self, image: Image.Image) -> np.ndarray:
        """Return the pixels (H, W, 3), uint8."""
        for step in self.steps:
            image = step(image)
        return np.asarray(image)


def keep_image(image: Image.Image) -> Image.Image:
    """Return the image itself: the transform of models that read whole images."""
    return image


def _resize(image: Image.Image, height: int, width: int, resample: Image.Resampling) -> Image.Image:
    return image if image.size == (width, height) else image.resize((width, height), resample)


def _find_start(length: int, cut: int) -> int:
    """Return where the central ``cut`` pixels of a side begin; negative if the side is shorter."""
    return round((length - cut) / 2) if length >= cut else -((cut - length) // 2)
