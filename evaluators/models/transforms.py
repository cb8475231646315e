"""Divide an image transform into a part for the processors, which returns bytes, and a part for the model's device.

The known transforms are those of open_clip for evaluation: resize, centre crop, conversion to RGB, ``ToTensor`` and
``Normalize``. Shapes: B images, H height, W width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from open_clip import transform as library
from PIL import Image
from torch import Tensor
from torchvision import transforms
from torchvision.transforms.functional import InterpolationMode

from compeval.evaluators.models import pixels
from compeval.evaluators.models.pixels import PixelTransform

RESAMPLING = {
    InterpolationMode.BICUBIC: Image.Resampling.BICUBIC,
    InterpolationMode.BILINEAR: Image.Resampling.BILINEAR,
}
# Since 3.3, open_clip has these two classes of its own; earlier releases use torchvision's ToTensor and no other.
MAYBE_TO_TENSOR: Any = getattr(library, "MaybeToTensor", transforms.ToTensor)
MAYBE_CONVERT_MODE: Any = getattr(library, "MaybeConvertMode", None)
KNOWN_ENDS = [[kind, transforms.Normalize] for kind in (transforms.ToTensor, MAYBE_TO_TENSOR)]
PROBE_SIZE = (313, 250)


class DividedTransform(NamedTuple):
    """An image transform in two parts."""

    get_pixels: PixelTransform
    most: Tensor
    """255, in a tensor on the device, because CUDA multiplies by the rounded reciprocal of a number."""
    mean_CHW: Tensor
    std_CHW: Tensor

    def normalize(self, pixels_BHWC: Tensor) -> Tensor:
        """Return what the transform makes of pixels (uint8) on the device: float32 (B, 3, H, W)."""
        pixels_BCHW = pixels_BHWC.permute(0, 3, 1, 2).float().contiguous()
        return pixels_BCHW.div_(self.most).sub_(self.mean_CHW).div_(self.std_CHW)


def divide(preprocess: Any, device: str) -> DividedTransform | None:
    """Return both parts of a transform; None if it is unknown, or if they disagree with it on a random image."""
    steps: Any = preprocess.transforms if type(preprocess) is transforms.Compose else ()
    if [type(step) for step in steps[-2:]] not in KNOWN_ENDS:
        return None
    translated = [_translate(step) for step in steps[:-2] if not _converts_to_rgb(step)]
    if (
        None in translated
        or not translated
        or not isinstance(translated[-1], pixels.ResizeTo | pixels.CenterCrop)
    ):
        return None  # a step is unknown, or the size depends on the image
    get_pixels = PixelTransform(tuple(step for step in translated if step), translated[-1].size)
    constants = (
        torch.tensor(values, dtype=torch.float32, device=device).reshape(-1, 1, 1)
        for values in (255.0, steps[-1].mean, steps[-1].std)
    )
    divided = DividedTransform(get_pixels, *constants)
    noise = np.random.default_rng(0).integers(0, 256, (*PROBE_SIZE, 3), dtype=np.uint8)
    probe: Any = Image.fromarray(noise)
    pixels_BHWC = torch.from_numpy(get_pixels(probe)[None].copy()).to(device)
    return (
        divided
        if torch.equal(divided.normalize(pixels_BHWC)[0].cpu(), torch.as_tensor(preprocess(probe)))
        else None
    )


def _converts_to_rgb(step: Any) -> bool:
    """Return True for a step that leaves an RGB image as it is."""
    return step is library._convert_to_rgb or (
        type(step) is MAYBE_CONVERT_MODE and step.mode == "RGB"
    )


def _translate(step: Any) -> pixels.Step | None:
    """Return a step in Pillow. None: it is unknown, or random."""
    resample = RESAMPLING.get(getattr(step, "interpolation", InterpolationMode.NEAREST))
    match step:
        case transforms.Resize(max_size=None) if (
            type(step) is transforms.Resize and resample is not None
        ):
            sizes = [step.size] if isinstance(step.size, int) else list(step.size)
            if len(sizes) == 1:
                return pixels.ResizeShortest(sizes[0], resample)
            return pixels.ResizeTo((int(sizes[0]), int(sizes[1])), resample)
        case library.ResizeKeepRatio(random_scale_prob=0.0, random_aspect_prob=0.0) if (
            resample is not None
        ):
            return pixels.ResizeKeepRatio((step.size[0], step.size[1]), step.longest, resample)
        case transforms.CenterCrop():
            return pixels.CenterCrop((step.size[0], step.size[1]))
        case library.CenterCropOrPad() if isinstance(step.fill, int):
            return pixels.CenterCrop((step.size[0], step.size[1]), step.fill)
    return None
