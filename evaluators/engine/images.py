"""Pixels of crops: read undecoded, decoded once, preprocessed in threads.

Equal pixels of several crops are preprocessed once, and an image that several crops are cut from is decoded once.
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
from typing import Any

from PIL import Image

from evaluators.engine.plan import CropSource
from evaluators.models.fingerprint import digest
from generators.storage.crops import crop_image, make_crop_id, round_corners
from generators.storage.untrusted import decode_image, read_file

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

READ_AHEAD_BYTES = 500_000_000


class UnreadableImageError(ValueError):
    """An image that is missing, cannot be decoded or cut, or has changed since the dataset was built."""


def read(crops: Sequence[CropSource]) -> list[bytes | UnreadableImageError]:
    """Return the encoded image of each crop, or its error; crops of one source image share one object.

    The image file of a crop is compared with the hash in the row, so that no cached feature of another image is used.
    """
    images: list[bytes | UnreadableImageError] = []
    for source, run in groupby(crops, key=lambda crop: crop.image_file or crop.rows):
        of_source = list(run)
        if isinstance(source, Path):
            images += _read_referenced(source, of_source)
        else:
            cells = source.images([(crop.row, crop.column) for crop in of_source])
            images += [_checked(cell, crop) for cell, crop in zip(cells, of_source, strict=True)]
    return images


def _checked(data: bytes | OSError | ValueError, crop: CropSource) -> bytes | UnreadableImageError:
    if isinstance(data, bytes):
        return data
    return UnreadableImageError(
        f"{crop}: the image cannot be read ({data}). Restore the file, or skip such rows with `--on-error skip`."
    )


def _read_referenced(path: Path, crops: Sequence[CropSource]) -> list[bytes | UnreadableImageError]:
    """Read the source image of some crops once, and check each crop's box and hash."""
    try:
        data = read_file(path)
    except OSError as error:
        return [_checked(error, crop) for crop in crops]
    file_hash = hashlib.sha256(data).hexdigest()
    return [_check_crop(crop, file_hash) or data for crop in crops]


def _check_crop(crop: CropSource, file_hash: str) -> UnreadableImageError | None:
    assert crop.reference is not None
    try:
        is_original = make_crop_id(file_hash, crop.reference.crop.box) == crop.reference.crop_id
    except ValueError as error:
        return UnreadableImageError(f"{crop}: {error} Correct the row, or skip such rows with `--on-error skip`.")
    if is_original:
        return None
    return UnreadableImageError(
        f"{crop}: {crop.image_file} is not the image that the dataset was built from. Restore the file, build the "
        "dataset again, or skip such rows with `--on-error skip`."
    )


def key(data: bytes | UnreadableImageError, crop: CropSource) -> bytes:
    """Return the feature cache's key of a crop; no feature is ever stored for an unreadable image."""
    if isinstance(data, UnreadableImageError):
        return digest(str(data).encode())
    return digest(data, *([] if crop.reference is None else [str(round_corners(crop.reference.crop.box)).encode()]))


def decode(data: bytes | UnreadableImageError, crop: CropSource) -> Image.Image:
    """Return the whole RGB image. Raises UnreadableImageError, which names the row."""
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
    """Cut the crop from the whole image; return the image itself if the dataset embeds its crops.

    Raises UnreadableImageError, which names the row, if the box does not fit the image.
    """
    if crop.reference is None:
        return image
    try:
        return crop_image(image, crop.reference.crop.box)
    except ValueError as error:
        raise UnreadableImageError(
            f"{crop}: {error} Correct the row, or skip such rows with `--on-error skip`."
        ) from None


@dataclass(frozen=True)
class Chunk:
    """A chunk of the plan's crops, with those that have to be encoded preprocessed."""

    start: int
    """Position of its first crop in the plan."""
    keys: list[bytes]
    missing: list[int]
    """Positions in the chunk of the crops to encode."""
    images: list[Any]
    """Preprocessed, one per position in ``missing``."""
    errors: dict[int, str]
    """Position in the chunk -> message, for unreadable images."""


def stream(
    crops: Sequence[CropSource],
    chunks: Iterable[slice],
    missing: Callable[[Sequence[bytes]], list[int]],
    preprocess: Callable[[Image.Image], Any],
) -> Iterator[Chunk]:
    """Yield the crops of some chunks, decoded in threads, by default one chunk ahead of the chunk that is encoded.

    Chunks of more than READ_AHEAD_BYTES are not decoded ahead. ``missing`` returns the positions of the keys without a
    cached feature; only those crops are decoded.
    """

    def preprocess_all(data: bytes | UnreadableImageError, of_image: Sequence[CropSource]) -> list[Any]:
        """Return each crop of one image preprocessed, or its UnreadableImageError."""
        try:
            image = decode(data, of_image[0])
        except UnreadableImageError as error:
            return [error] * len(of_image)
        return [preprocess_crop(image, crop) for crop in of_image]

    def preprocess_crop(image: Image.Image, crop: CropSource) -> Any:
        try:
            return preprocess(cut(image, crop))
        except UnreadableImageError as error:
            return error

    pool = ThreadPoolExecutor(THREADS)
    submitted: set[bytes] = set()
    pending: deque[tuple[int, list[bytes], list[int], list[Future[list[Any]]]]] = deque()
    chunk_bytes = READ_AHEAD_BYTES + 1  # unknown before the first chunk
    try:
        for chunk in chunks:
            part = crops[chunk]
            encoded = read(part)
            keys = [key(data, crop) for data, crop in zip(encoded, part, strict=True)]
            first = {keys[index]: index for index in reversed(missing(keys)) if keys[index] not in submitted}
            submitted.update(first)
            todo = sorted(first.values())
            runs = (list(run) for _, run in groupby(todo, key=lambda index: id(encoded[index])))
            futures = [pool.submit(preprocess_all, encoded[run[0]], [part[index] for index in run]) for run in runs]
            pending.append((chunk.start, keys, todo, futures))
            while len(pending) > (chunk_bytes <= READ_AHEAD_BYTES):
                collected = _collect(*pending.popleft())
                chunk_bytes = max(map(_size, collected.images), default=0) * len(keys)
                yield collected
        while pending:
            yield _collect(*pending.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _size(preprocessed: Any) -> int:
    """Return the bytes of a preprocessed image: a tensor, a dict of tensors, or an image."""
    if isinstance(preprocessed, Image.Image):
        return 3 * preprocessed.width * preprocessed.height
    if isinstance(preprocessed, dict):
        return sum(map(_size, preprocessed.values()))
    return getattr(preprocessed, "nbytes", 0)


def _collect(start: int, keys: list[bytes], todo: list[int], futures: list[Future[list[Any]]]) -> Chunk:
    results = dict(zip(todo, (result for future in futures for result in future.result()), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    readable = [index for index in todo if index not in errors]
    return Chunk(start, keys, readable, [results[index] for index in readable], errors)
