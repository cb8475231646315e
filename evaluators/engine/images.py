"""Read, decode, crop and preprocess images in threads.

Crops with identical pixels are preprocessed once. An image from which several crops are cut is decoded once.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from evaluators.engine.plan import CropSource
from evaluators.models.fingerprint import digest
from generators.files.untrusted import decode_image, read_file
from generators.storage.crops import crop_image, make_crop_id, round_corners
from generators.storage.patches import arrange_patches

NUM_THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

READ_AHEAD_BYTES = 500_000_000


class UnreadableImageError(ValueError):
    """Raised for an image that is missing, cannot be decoded or cropped, or has changed since the dataset was built."""


def read(crops: Sequence[CropSource]) -> list[bytes | UnreadableImageError]:
    """Return for each crop the bytes of its image file, or the error if the image is unreadable.

    Consecutive crops of one source image share one bytes object. The image file of a crop is compared with the hash in
    the dataset, so that the cached feature of a different image is never used.
    """
    images: list[bytes | UnreadableImageError] = []
    for (source, refusal), group in groupby(crops, key=lambda crop: (crop.image_file or crop.rows.files, crop.refusal)):
        source_crops = list(group)
        if refusal is not None:
            images += [_describe_error(ValueError(refusal), crop) for crop in source_crops]
        elif isinstance(source, Path):
            images += _read_referenced(source, source_crops)
        else:
            cells = source_crops[0].rows.images([(crop.row, crop.column) for crop in source_crops])
            images += [_describe_error(cell, crop) for cell, crop in zip(cells, source_crops, strict=True)]
    return images


def _describe_error(data: bytes | OSError | ValueError, crop: CropSource) -> bytes | UnreadableImageError:
    """Return the bytes unchanged, or an error as an UnreadableImageError that names the row."""
    if isinstance(data, bytes):
        return data
    return UnreadableImageError(
        f"{crop}: the image cannot be read ({data}). Restore the file, or skip such rows with `--on-error skip`."
    )


def _read_referenced(path: Path, crops: Sequence[CropSource]) -> list[bytes | UnreadableImageError]:
    """Read the source image of ``crops`` once, and check the box and hash of each crop."""
    try:
        data = read_file(path)
    except OSError as error:
        return [_describe_error(error, crop) for crop in crops]
    file_hash = hashlib.sha256(data).hexdigest()
    return [_check_crop(crop, file_hash) or data for crop in crops]


def _check_crop(crop: CropSource, file_hash: str) -> UnreadableImageError | None:
    """Return None if the crop is valid and its file is the one that the dataset was built from, else the error."""
    assert crop.reference is not None
    try:
        is_original = make_crop_id(file_hash, crop.reference.crop.box, crop.patches) == crop.reference.crop_id
    except ValueError as error:
        return UnreadableImageError(f"{crop}: {error} Correct the row, or skip such rows with `--on-error skip`.")
    if is_original:
        return None
    return UnreadableImageError(
        f"{crop}: {crop.image_file} is not the image that the dataset was built from. Restore the file, build the "
        "dataset again, or skip such rows with `--on-error skip`."
    )


def key(data: bytes | UnreadableImageError, crop: CropSource) -> bytes:
    """Return the key of a crop in the feature cache. No feature is ever stored for an unreadable image."""
    if isinstance(data, UnreadableImageError):
        return digest(str(data).encode())
    corners = [] if crop.reference is None else [str(round_corners(crop.reference.crop.box)).encode()]
    return digest(data, *corners, *([] if crop.patches is None else [str(crop.patches).encode()]))


def decode(data: bytes | UnreadableImageError, crop: CropSource) -> Image.Image:
    """Return the whole image in RGB. Raises UnreadableImageError, which names the row, if it cannot be decoded."""
    if isinstance(data, UnreadableImageError):
        raise data
    try:
        return decode_image(data)
    except ValueError as error:
        raise UnreadableImageError(
            f"{crop}: the image cannot be decoded ({error}). Build the dataset again, or skip such rows with "
            "`--on-error skip`."
        ) from None


def cut(image: Image.Image, crop: CropSource) -> Image.Image:
    """Return the crop of the whole image, or the image itself if the dataset stores crops instead of whole images.

    The patches of a perturbed image are rearranged. Raises UnreadableImageError, which names the row, if the box or the
    patches do not fit the image.
    """
    try:
        part = image if crop.reference is None else crop_image(image, crop.reference.crop.box)
        return arrange_patches(part, crop.patches)
    except ValueError as error:
        raise UnreadableImageError(
            f"{crop}: {error} Correct the row, or skip such rows with `--on-error skip`."
        ) from None


@dataclass(frozen=True)
class Chunk:
    """A chunk of the plan's crops, with the preprocessed images of the crops that are not cached yet."""

    start: int
    """Position of the chunk's first crop in the plan."""
    keys: list[bytes]
    missing: list[int]
    """Positions of the crops to encode, within the chunk."""
    images: list[Any]
    """Preprocessed images, one per position in ``missing``."""
    errors: dict[int, str]
    """Error message of each unreadable image, by its position in the chunk."""


class Selected(NamedTuple):
    """A chunk of the plan's crops with their encoded images, and the crops of which a feature is missing."""

    start: int
    """Position of the chunk's first crop in the plan."""
    keys: list[bytes]
    missing: list[int]
    """Positions within the chunk, in increasing order."""
    crops: Sequence[CropSource]
    data: list[bytes | UnreadableImageError]

    def group_missing(self) -> list[tuple[bytes | UnreadableImageError, list[CropSource]]]:
        """Return each image that has missing crops, and these crops, in the order of ``missing``."""
        groups = (list(group) for _, group in groupby(self.missing, key=lambda index: id(self.data[index])))
        return [(self.data[group[0]], [self.crops[index] for index in group]) for group in groups]


def select(
    crops: Sequence[CropSource], chunks: Iterable[slice], missing: Callable[[Sequence[bytes]], list[int]]
) -> Iterator[Selected]:
    """Yield the chunks with the crops to encode. ``missing`` returns the positions of keys that are not in the cache.

    A crop with the same pixels as an earlier one is not encoded again, whether or not the earlier one is finished.
    """
    submitted: set[bytes] = set()
    for chunk in chunks:
        part = crops[chunk]
        data = read(part)
        keys = [key(image, crop) for image, crop in zip(data, part, strict=True)]
        first_index = {keys[index]: index for index in reversed(missing(keys)) if keys[index] not in submitted}
        submitted.update(first_index)
        yield Selected(chunk.start, keys, sorted(first_index.values()), part, data)


def preprocess_crops(
    preprocess: Callable[[Image.Image], Any], data: bytes | UnreadableImageError, crops: Sequence[CropSource]
) -> list[Any]:
    """Return the preprocessed crops of one image. A crop that is unreadable is returned as its error."""

    def preprocess_crop(image: Image.Image, crop: CropSource) -> Any:
        try:
            return preprocess(cut(image, crop))
        except UnreadableImageError as error:
            return error

    try:
        image = decode(data, crops[0])
    except UnreadableImageError as error:
        return [error] * len(crops)
    return [preprocess_crop(image, crop) for crop in crops]


def stream(
    crops: Sequence[CropSource],
    chunks: Iterable[slice],
    missing: Callable[[Sequence[bytes]], list[int]],
    preprocess: Callable[[Image.Image], Any],
) -> Iterator[Chunk]:
    """Yield the chunks with their crops decoded and preprocessed in threads.

    While the caller encodes one chunk, the next one is decoded, unless a chunk takes more than READ_AHEAD_BYTES. Only
    crops without a cached feature are decoded.
    """
    pool = ThreadPoolExecutor(NUM_THREADS)
    pending: deque[tuple[int, list[bytes], list[int], list[Future[list[Any]]]]] = deque()
    chunk_bytes = READ_AHEAD_BYTES + 1  # unknown before the first chunk
    try:
        for selected in select(crops, chunks, missing):
            futures = [pool.submit(preprocess_crops, preprocess, *group) for group in selected.group_missing()]
            pending.append((selected.start, selected.keys, selected.missing, futures))
            while len(pending) > (chunk_bytes <= READ_AHEAD_BYTES):
                collected = _collect(*pending.popleft())
                chunk_bytes = max(map(_size, collected.images), default=0) * len(selected.keys)
                yield collected
        while pending:
            yield _collect(*pending.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _size(preprocessed: Any) -> int:
    """Return the size in bytes of a preprocessed image, which may be a tensor, a dict of tensors, or an image."""
    if isinstance(preprocessed, Image.Image):
        return 3 * preprocessed.width * preprocessed.height
    if isinstance(preprocessed, dict):
        return sum(map(_size, preprocessed.values()))
    return getattr(preprocessed, "nbytes", 0)


def _collect(start: int, keys: list[bytes], todo: list[int], futures: list[Future[list[Any]]]) -> Chunk:
    """Wait for the preprocessed images of a chunk and return the chunk."""
    results = dict(zip(todo, (result for future in futures for result in future.result()), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    readable = [index for index in todo if index not in errors]
    return Chunk(start, keys, readable, [results[index] for index in readable], errors)
