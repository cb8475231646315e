"""Pixels of crops: read undecoded, decoded once, preprocessed in threads.

A crop that cannot be decoded is an error that names its row; with ``skip`` its rows are left out and recorded.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from PIL import Image

from evaluators.fingerprint import digest
from evaluators.plan import Place

WORKERS = os.cpu_count() or 1


class UnreadableImageError(ValueError):
    """An image file that no decoder reads."""


def read_bytes(places: Sequence[Place]) -> list[bytes]:
    """The encoded image of each place, in order."""
    runs = groupby(places, key=lambda place: place.rows)
    return [data for rows, run in runs for data in rows.images([(place.row, place.column) for place in run])]


def decode(data: bytes, place: Place) -> Image.Image:
    """The RGB image. UnreadableImageError, naming the row, if it cannot be decoded."""
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"{place}: the image cannot be decoded ({error}). Build the dataset again, or leave such rows out with "
            "`--on-error skip`."
        ) from None


@dataclass(frozen=True)
class Chunk:
    """Some crops of the plan, and those of them that have to be encoded, preprocessed."""

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
    chunk_size: int,
    missing: Callable[[Sequence[bytes]], list[int]],
    preprocess: Callable[[Image.Image], Any],
) -> Iterator[Chunk]:
    """The crops chunk by chunk; threads decode one chunk ahead of the one that is being encoded.

    ``missing`` says which of some keys have no feature yet; only those are decoded.
    """

    def one(data: bytes, place: Place) -> Any | UnreadableImageError:
        try:
            return preprocess(decode(data, place))
        except UnreadableImageError as error:
            return error

    with ThreadPoolExecutor(WORKERS) as pool:
        ahead: deque[tuple[list[bytes], list[int], list[Future[Any]]]] = deque()
        for start in range(0, len(places), chunk_size):
            part = places[start : start + chunk_size]
            pixels = read_bytes(part)
            keys = [digest(data) for data in pixels]
            todo = missing(keys)
            ahead.append((keys, todo, [pool.submit(one, pixels[index], part[index]) for index in todo]))
            if len(ahead) > 1:
                yield _collect(*ahead.popleft())
        while ahead:
            yield _collect(*ahead.popleft())


def _collect(keys: list[bytes], todo: list[int], futures: list[Future[Any]]) -> Chunk:
    results = dict(zip(todo, (future.result() for future in futures), strict=True))
    errors = {index: str(result) for index, result in results.items() if isinstance(result, UnreadableImageError)}
    good = [index for index in todo if index not in errors]
    return Chunk(keys, good, [results[index] for index in good], errors)
