"""Read, decode, crop and preprocess images. Importing this module does not import torch.

An image from which several crops are cut is decoded once.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from PIL import Image

from compeval.base.files.untrusted import (
    IMAGE_FORMATS,
    UnsafeNameError,
    decode_image,
    read_file,
    resolve_image,
)
from compeval.base.storage.crops import crop_image, make_crop_id, round_corners
from compeval.base.storage.patches import arrange_patches
from compeval.evaluators.engine.task_dataset import CropSource
from compeval.evaluators.models.fingerprint import digest


class UnreadableImageError(ValueError):
    """Raised for an image that is missing, cannot be decoded or cropped, or has changed since the dataset was built."""


def _explain(crop: CropSource, reason: str) -> UnreadableImageError:
    """Return the error for a crop. ``reason`` ends in what the user can do instead of skipping such rows."""
    return UnreadableImageError(f"{crop}: {reason}, or skip such rows with `--on-error skip`.")


ImageFile = bytes | UnreadableImageError
"""The bytes of an image file, or the error if it is unreadable."""
KEPT_BYTES = 50_000_000
"""Image files of a chunk that are kept between hashing and decoding. The others are read twice."""
Question = str | tuple[str, str]
"""A caption, or two captions to choose from in this order."""


class ImageCrops(NamedTuple):
    """Crops to encode of one source image, or one crop and the questions about it."""

    file: ImageFile | None
    """None: it is read again when it is decoded, because the files of a chunk need too much memory."""
    crops: list[CropSource]
    questions: Sequence[Question] = ()
    keys: Sequence[bytes] = ()
    """Keys of the answers in the cache."""


def read(crops: Sequence[CropSource]) -> Iterator[ImageFile]:
    """Yield the image file of each crop. Consecutive crops of one source image share one bytes object.

    The image file of a crop is compared with the hash in the dataset, so that the cached feature of a different image
    is never used.
    """
    for _, group in groupby(crops, key=lambda crop: (crop.image, _find_refusal(crop))):
        same_source = list(group)
        try:
            data = _read_source(same_source[0])
        except (OSError, ValueError) as error:
            yield from (
                _explain(crop, f"the image cannot be read ({error}). Restore the file")
                for crop in same_source
            )
            continue
        file_hash = hashlib.sha256(data).hexdigest() if same_source[0].reference else ""
        yield from (_check_reference(crop, file_hash) or data for crop in same_source)


def read_with_keys(
    crops: Sequence[CropSource], is_kept: Sequence[bool]
) -> tuple[list[bytes], list[ImageFile | None]]:
    """Return the keys of crops in the feature cache, and their image files.

    After KEPT_BYTES, a file is None unless it ``is_kept``.
    """
    keys: list[bytes] = []
    files: list[ImageFile | None] = []
    kept_bytes = 0
    last: ImageFile | None = None
    for crop, must_keep, file in zip(crops, is_kept, read(crops), strict=True):
        keys.append(make_key(file, crop))
        if isinstance(file, bytes) and file is not last:
            kept_bytes += len(file)
        last = file
        must_keep = must_keep or isinstance(file, UnreadableImageError)
        files.append(file if must_keep or kept_bytes <= KEPT_BYTES else None)
    return keys, files


def _find_refusal(crop: CropSource) -> str | None:
    """Return why a crop's image file must not be read: its path leads outside the folders that the dataset may use."""
    try:
        if crop.reference:
            resolve_image(crop.dataset.folder, crop.reference.name)
    except UnsafeNameError as error:
        return str(error)
    return None


def _read_source(crop: CropSource) -> bytes:
    """Return the bytes of the crop's source image. Raises OSError or ValueError if it cannot or must not be read."""
    if crop.reference is None:
        return crop.dataset.read_image(crop.row, crop.column)
    return read_file(resolve_image(crop.dataset.folder, crop.reference.name))


def _check_reference(crop: CropSource, file_hash: str) -> UnreadableImageError | None:
    """Return the error if the box of a crop is invalid, or its file is not the one that the dataset was built from."""
    if crop.reference is None:
        return None
    try:
        is_original = (
            make_crop_id(file_hash, crop.reference.box, crop.patches) == crop.reference.crop_id
        )
    except ValueError as error:
        return _explain(crop, f"{error} Correct the row")
    if is_original:
        return None
    path = crop.reference.path
    remedy = "Restore the file, build the dataset again"
    return _explain(crop, f"{path} is not the image that the dataset was built from. {remedy}")


def make_key(data: ImageFile, crop: CropSource) -> bytes:
    """Return the key of a crop in the feature cache. No feature is ever stored for an unreadable image."""
    if isinstance(data, UnreadableImageError):
        return digest(str(data).encode())
    corners = [] if crop.reference is None else [str(round_corners(crop.reference.box)).encode()]
    return digest(data, *corners, *([] if crop.patches is None else [str(crop.patches).encode()]))


def decode(data: ImageFile, crop: CropSource) -> Image.Image:
    """Return the whole image in RGB. Raises UnreadableImageError, which names the row, if it cannot be decoded."""
    if isinstance(data, UnreadableImageError):
        raise data
    try:
        return decode_image(data)
    except ValueError as error:
        raise _explain(
            crop, f"the image cannot be decoded ({error}). Build the dataset again"
        ) from None


def measure_decoded(item: ImageCrops) -> int:
    """Return the bytes of the decoded image and its crops, from the header of the file; 0 if it is unreadable."""
    data = next(read(item.crops[:1])) if item.file is None else item.file
    if isinstance(data, UnreadableImageError):
        return 0
    try:
        with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
            return 3 * image.width * image.height * len(item.crops)
    except Exception:  # of any class, as in decode_image, which reports it
        return 0


def cut(image: Image.Image, crop: CropSource) -> Image.Image:
    """Return the crop of the whole image, or the image itself if the dataset stores crops instead of whole images.

    The patches of a perturbed image are rearranged. Raises UnreadableImageError, which names the row, if the box or the
    patches do not fit the image.
    """
    try:
        part = image if crop.reference is None else crop_image(image, crop.reference.box)
        return arrange_patches(part, crop.patches)
    except ValueError as error:
        raise _explain(crop, f"{error} Correct the row") from None


def preprocess_crops(preprocess: Callable[[Image.Image], Any], item: ImageCrops) -> list[Any]:
    """Return the preprocessed crops of one image. A crop that is unreadable is returned as its error."""

    def preprocess_crop(image: Image.Image, crop: CropSource) -> Any:
        try:
            return preprocess(cut(image, crop))
        except UnreadableImageError as error:
            return error

    try:
        image = decode(next(read(item.crops)) if item.file is None else item.file, item.crops[0])
    except UnreadableImageError as error:
        return [error] * len(item.crops)
    return [preprocess_crop(image, crop) for crop in item.crops]
