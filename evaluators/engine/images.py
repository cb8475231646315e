"""Pixels of crops: read undecoded, decoded once, preprocessed in threads.

Equal pixels of several crops are preprocessed once, and an image that several crops are cut from is decoded once.
"""

from __future__ import annotations

import hashlib
import io
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
from evaluators.engine.rows import read_file
from evaluators.models.fingerprint import digest
from generators.storage.crops import make_crop_id, round_corners

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class UnreadableImageError(ValueError):
    """An image file that is missing, cannot be decoded, or has changed since the dataset was built."""


def read(crops: Sequence[CropSource]) -> list[bytes | OSError]:
    """The encoded image of each crop, or the error of its file; crops of one source image share one object."""
    found: list[bytes | OSError] = []
    for source, run in groupby(crops, key=lambda crop: crop.image_file or crop.rows):
        cells = [(crop.row, crop.column) for crop in run]
        found += [read_file(source)] * len(cells) if isinstance(source, Path) else source.images(cells)
    return found


def key(data: bytes | OSError, crop: CropSource) -> bytes:
    """The feature cache's key of a crop; no feature is ever stored for an unreadable file."""
    if isinstance(data, OSError):
        return digest(str(data).encode())
    return digest(data, *([] if crop.reference is None else [str(round_corners(crop.reference.crop.box)).encode()]))


def decode(data: bytes | OSError, crop: CropSource) -> Image.Image:
    """The whole RGB image. UnreadableImageError, naming the row, if it is unreadable or not the original image."""
    if isinstance(data, OSError):
        raise UnreadableImageError(
            f"{crop}: the image cannot be read ({data}). Put it there, or skip such rows with `--on-error skip`."
        )
    if (
        crop.reference
        and make_crop_id(hashlib.sha256(data).hexdigest(), crop.reference.crop.box) != crop.reference.crop_id
    ):
        raise UnreadableImageError(
            f"{crop}: {crop.image_file} is not the image that the dataset was built from. Put that one there, "
            "build the dataset again, or skip such rows with `--on-error skip`."
        )
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, SyntaxError, ValueError, RuntimeError, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"{crop}: the image cannot be decoded ({error}). Build the dataset again, or skip such rows with "
            "`--on-error skip`."
        ) from None


def cut(image: Image.Image, crop: CropSource) -> Image.Image:
    """The crop of a decoded image, its corners rounded; the image itself if the dataset embeds its crops."""
    return image if crop.reference is None else image.crop(round_corners(crop.reference.crop.box))


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
    """The crops of some chunks; threads decode one chunk ahead of the one that is encoded.

    ``missing``: positions of the keys without a cached feature; only those crops are decoded.
    """

    def preprocess_all(data: bytes | OSError, of_image: Sequence[CropSource]) -> list[Any | UnreadableImageError]:
        """The preprocessed crops of one image, or the error for each."""
        try:
            image = decode(data, of_image[0])
        except UnreadableImageError as error:
            return [error] * len(of_image)
        return [preprocess(cut(image, crop)) for crop in of_image]

    pool = ThreadPoolExecutor(THREADS)
    submitted: set[bytes] = set()
    pending: deque[tuple[int, list[bytes], list[int], list[Future[list[Any]]]]] = deque()
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
            if len(pending) > 1:
                yield _collect(*pending.popleft())
        while pending:
            yield _collect(*pending.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _collect(start: int, keys: list[bytes], todo: list[int], futures: list[Future[list[Any]]]) -> Chunk:
    results = dict(zip(todo, (result for future in futures for result in future.result()), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    readable = [index for index in todo if index not in errors]
    return Chunk(start, keys, readable, [results[index] for index in readable], errors)
