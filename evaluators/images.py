"""Pixels of crops: read undecoded, decoded once, preprocessed in threads.

A crop that cannot be read or decoded is an error that names its row; with ``skip`` its rows are left out and recorded.
Pixels that several crops share are decoded for the first of them alone.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from PIL import Image

from evaluators.fingerprint import digest
from evaluators.plan import Place

WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Threads that decode: as many as there are processors for this process."""


class UnreadableImageError(ValueError):
    """An image file that is not there, or that no decoder reads."""


def read(places: Sequence[Place]) -> list[bytes | OSError]:
    """The encoded image of each place, in order, or why its file cannot be read."""
    runs = groupby(places, key=lambda place: place.rows)
    return [data for rows, run in runs for data in rows.images([(place.row, place.column) for place in run])]


def key(data: bytes | OSError) -> bytes:
    """Where the store has the features of an image; of a file that cannot be read it never has any."""
    return digest(str(data).encode() if isinstance(data, OSError) else data)


def decode(data: bytes | OSError, place: Place) -> Image.Image:
    """The RGB image. UnreadableImageError, naming the row, if it cannot be read or decoded."""
    if isinstance(data, OSError):
        raise UnreadableImageError(
            f"{place}: the image cannot be read ({data}). Put it there, or leave such rows out with `--on-error skip`."
        )
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, SyntaxError, ValueError, RuntimeError, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"{place}: the image cannot be decoded ({error}). Build the dataset again, or leave such rows out with "
            "`--on-error skip`."
        ) from None


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
    chunk_starts: Iterable[int],
    chunk_size: int,
    missing: Callable[[Sequence[bytes]], list[int]],
    preprocess: Callable[[Image.Image], Any],
) -> Iterator[Chunk]:
    """The crops of the chunks that begin at some positions; threads decode one chunk ahead of the one being encoded.

    ``missing`` says which of some keys have no feature yet; only those are decoded.
    """

    def one(data: bytes | OSError, place: Place) -> Any | UnreadableImageError:
        try:
            return preprocess(decode(data, place))
        except UnreadableImageError as error:
            return error

    pool = ThreadPoolExecutor(WORKERS)
    begun: set[bytes] = set()
    ahead: deque[tuple[int, list[bytes], list[int], list[Future[Any]]]] = deque()
    try:
        for start in chunk_starts:
            part = places[start : start + chunk_size]
            pixels = read(part)
            keys = [key(data) for data in pixels]
            first = {keys[index]: index for index in reversed(missing(keys)) if keys[index] not in begun}
            begun.update(first)
            todo = sorted(first.values())
            ahead.append((start, keys, todo, [pool.submit(one, pixels[index], part[index]) for index in todo]))
            if len(ahead) > 1:
                yield _collect(*ahead.popleft())
        while ahead:
            yield _collect(*ahead.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _collect(start: int, keys: list[bytes], todo: list[int], futures: list[Future[Any]]) -> Chunk:
    results = dict(zip(todo, (future.result() for future in futures), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    good = [index for index in todo if index not in errors]
    return Chunk(start, keys, good, [results[index] for index in good], errors)
