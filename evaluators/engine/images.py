"""Pixels of crops: read undecoded, decoded once, preprocessed in threads.

A crop that cannot be read or decoded is an error that names its row; with ``skip`` its rows are left out and recorded.
Pixels that several crops share are decoded for the first of them alone; an image that several are cut from, once.
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

from evaluators.engine.plan import Place
from evaluators.engine.rows import read_file
from evaluators.models.fingerprint import digest
from generators.storage.crops import id_of, rounded

WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Threads that decode: as many as there are processors for this process."""


class UnreadableImageError(ValueError):
    """An image file that is not there, that no decoder reads, or that is not the one that was there."""


def read(places: Sequence[Place]) -> list[bytes | OSError]:
    """The encoded image of each place, in order, or why its file cannot be read: the one that the row holds, or the one
    that the crop is to be cut from, the same object for neighbours."""
    found: list[bytes | OSError] = []
    for source, run in groupby(places, key=lambda place: place.source_image or place.rows):
        cells = [(place.row, place.column) for place in run]
        found += [read_file(source)] * len(cells) if isinstance(source, Path) else source.images(cells)
    return found


def key(data: bytes | OSError, place: Place) -> bytes:
    """Where the store has the features of a crop; of a file that cannot be read it never has any."""
    if isinstance(data, OSError):
        return digest(str(data).encode())
    return digest(data, *([] if place.reference is None else [str(rounded(place.reference.crop.box)).encode()]))


def decode(data: bytes | OSError, place: Place) -> Image.Image:
    """The RGB image, whole. UnreadableImageError, naming the row, if it cannot be read or decoded, or is another one
    than when the dataset was built."""
    if isinstance(data, OSError):
        raise UnreadableImageError(
            f"{place}: the image cannot be read ({data}). Put it there, or leave such rows out with `--on-error skip`."
        )
    if place.reference and id_of(hashlib.sha256(data).hexdigest(), place.reference.crop.box) != place.reference.crop_id:
        raise UnreadableImageError(
            f"{place}: {place.source_image} is not the image that the dataset was built from. Put that one there, "
            "build the dataset again, or leave such rows out with `--on-error skip`."
        )
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, SyntaxError, ValueError, RuntimeError, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"{place}: the image cannot be decoded ({error}). Build the dataset again, or leave such rows out with "
            "`--on-error skip`."
        ) from None


def cut(image: Image.Image, place: Place) -> Image.Image:
    """The crop of a decoded image, which is all of it where a row holds its crop. Corners are rounded."""
    return image if place.reference is None else image.crop(rounded(place.reference.crop.box))


@dataclass(frozen=True)
class Chunk:
    """Some crops of the plan, and those of them that have to be encoded, preprocessed."""

    start: int
    """Position of the first of them in the plan."""
    keys: list[bytes]
    """Digest of each crop's encoded pixels."""
    missing: list[int]
    """Positions in the chunk of the crops that were decoded."""
    images: list[Any]
    """Preprocessed, one per position in ``missing``."""
    errors: dict[int, str]
    """Positions in the chunk that could not be decoded, and why."""


def stream(
    places: Sequence[Place],
    chunks: Iterable[slice],
    missing: Callable[[Sequence[bytes]], list[int]],
    preprocess: Callable[[Image.Image], Any],
) -> Iterator[Chunk]:
    """The crops of some chunks; threads decode one chunk ahead of the one being encoded.

    ``missing`` says which of some keys have no feature yet; only those are decoded.
    """

    def prepared(data: bytes | OSError, some: Sequence[Place]) -> list[Any | UnreadableImageError]:
        """Of one image, the crops at some places."""
        try:
            image = decode(data, some[0])
        except UnreadableImageError as error:
            return [error] * len(some)
        return [preprocess(cut(image, place)) for place in some]

    pool = ThreadPoolExecutor(WORKERS)
    begun: set[bytes] = set()
    ahead: deque[tuple[int, list[bytes], list[int], list[Future[list[Any]]]]] = deque()
    try:
        for chunk in chunks:
            part = places[chunk]
            pixels = read(part)
            keys = [key(data, place) for data, place in zip(pixels, part, strict=True)]
            first = {keys[index]: index for index in reversed(missing(keys)) if keys[index] not in begun}
            begun.update(first)
            todo = sorted(first.values())
            of_images = (list(run) for _, run in groupby(todo, key=lambda index: id(pixels[index])))
            futures = [pool.submit(prepared, pixels[run[0]], [part[index] for index in run]) for run in of_images]
            ahead.append((chunk.start, keys, todo, futures))
            if len(ahead) > 1:
                yield _collect(*ahead.popleft())
        while ahead:
            yield _collect(*ahead.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _collect(start: int, keys: list[bytes], todo: list[int], futures: list[Future[list[Any]]]) -> Chunk:
    results = dict(zip(todo, (result for future in futures for result in future.result()), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    good = [index for index in todo if index not in errors]
    return Chunk(start, keys, good, [results[index] for index in good], errors)
