"""Pixels in bytes, normalised on the device, equal the tensor of open_clip's transform bit by bit."""

import io
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from open_clip.transform import (
    PreprocessCfg,
    ResizeKeepRatio,
    image_transform_v2,
    merge_preprocess_dict,
)
from PIL import Image
from torchvision import transforms

from compeval.base.files.untrusted import decode_image
from compeval.evaluators.models.transforms import divide

SIZES = [
    (1, 1),
    (7, 3),
    (3, 500),
    (641, 2),
    (31, 32),
    (32, 31),
    (33, 65),
    (224, 224),
    (223, 225),
    (500, 375),
]
MODES = ["RGB", "L", "RGBA", "P", "CMYK", "1", "LA", "I;16"]


def write_images() -> list[bytes]:
    """Return the files of 20 images of odd sizes, in several modes and formats, half of them rotated by EXIF."""
    files = []
    for number in range(20):
        width, height = SIZES[number % len(SIZES)]
        mode = MODES[number % len(MODES)]
        noise = np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)
        image = Image.fromarray(noise)
        image = (
            Image.fromarray(noise[..., 0].astype(np.uint16) * 256)
            if mode == "I;16"
            else image.convert(mode)
        )
        exif = Image.Exif()
        exif[0x0112] = 1 + number % 8  # orientation
        buffer = io.BytesIO()
        image.save(buffer, "JPEG" if mode in ("RGB", "L", "CMYK") else "PNG", exif=exif)
        files.append(buffer.getvalue())
    return files


def list_configurations() -> set[tuple[Any, ...]]:
    """Return the distinct preprocessing configurations of open_clip's pretrained models."""
    found = set()
    for architecture, tag in open_clip.list_pretrained():
        named = open_clip.get_pretrained_cfg(architecture, tag)
        config = open_clip.get_model_config(architecture) or {}
        size = named.get("size") or config.get("vision_cfg", {}).get("image_size", 224)
        merged = merge_preprocess_dict(PreprocessCfg(), named | {"size": size})
        found.add(
            tuple(
                (name, tuple(value) if isinstance(value, list) else value)
                for name, value in merged.items()
            )
        )
    return found


@pytest.fixture(scope="module")
def images() -> list[Image.Image]:
    return [decode_image(data) for data in write_images()]


def check_equal(transform: Any, images: list[Image.Image]) -> None:
    divided = divide(transform, "cpu")
    assert divided is not None
    pixels_BHWC = torch.from_numpy(np.stack([divided.get_pixels(image) for image in images]))
    assert pixels_BHWC.shape == (len(images), *divided.get_pixels.size, 3)
    assert torch.equal(
        divided.normalize(pixels_BHWC), torch.stack([transform(image) for image in images])
    )


@pytest.mark.parametrize("size", [30, (20, 33)])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize(
    ("resize_mode", "fill"), [("shortest", 0), ("squash", 0), ("longest", 0), ("longest", 77)]
)
def test_small_transforms(
    images: list[Image.Image], size: Any, interpolation: str, resize_mode: str, fill: int
):
    if resize_mode == "longest":  # the library fails on images that become less than one pixel wide
        images = [image for image in images if max(image.size) < 10 * min(image.size)]
    options: Any = {"interpolation": interpolation, "resize_mode": resize_mode, "fill_color": fill}
    check_equal(open_clip.image_transform(size, is_train=False, **options), images)


@pytest.mark.acceptance
@pytest.mark.parametrize("configuration", sorted(list_configurations(), key=str), ids=str)
def test_every_configuration_of_pretrained_models(
    images: list[Image.Image], configuration: tuple[Any, ...]
):
    check_equal(image_transform_v2(PreprocessCfg(**dict(configuration)), is_train=False), images)


@pytest.mark.parametrize(
    "steps",
    [
        [transforms.Resize(8), transforms.ColorJitter()],
        [transforms.Resize(8)],  # the size depends on the image
        [ResizeKeepRatio(8)],
        [transforms.Resize(8, max_size=9), transforms.CenterCrop(8)],
        [
            transforms.Resize(8, interpolation=transforms.InterpolationMode.LANCZOS),
            transforms.CenterCrop(8),
        ],
        [],
    ],
)
def test_other_transforms_are_not_divided(steps: list[Any]):
    whole = transforms.Compose(
        [*steps, transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)]
    )
    assert divide(whole, "cpu") is None
    assert divide(transforms.ToTensor(), "cpu") is None
    assert divide(open_clip.image_transform(8, is_train=True), "cpu") is None
