"""Images and their captions, read one by one: what fine-tuning trains on and is validated with.

Two sources: a file in the format of Karpathy's splits (COCO, Flickr30k) with the folder of its images, and a folder of
webdataset shards, whose images are read where they lie in the tar files. Only captions are held in memory.

Shapes: I images, C captions.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from generators.readers import karpathy, shards

HELD_BYTES = 1_000_000_000
"""Preprocessed images that together are no larger are read once and held in memory."""


class Place(NamedTuple):
    """Where an image's bytes are: a file, or a part of one. ``name`` is the image's in its source."""

    name: str
    path: Path
    start: int = 0
    size: int | None = None

    def read(self) -> bytes:
        if self.size is None:
            return self.path.read_bytes()
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


@dataclass(frozen=True)
class ImageText:
    """``image_C`` is the position of each caption's image; every image has a caption."""

    places: tuple[Place, ...]
    captions: tuple[str, ...]
    image_C: np.ndarray

    @property
    def digest(self) -> str:
        """12 hex digits over the captions and the images' names and sizes."""
        said = [[place.name, place.size] for place in self.places], self.captions, self.image_C.tolist()
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]

    def with_captions(self, keep_C: np.ndarray) -> ImageText:
        """The captions that ``keep_C`` (bool) marks, and the images that still have one."""
        image_C = self.image_C[keep_C]
        kept_I, renumbered_C = np.unique(image_C, return_inverse=True)
        captions = tuple(text for text, keep in zip(self.captions, keep_C, strict=True) if keep)
        return ImageText(tuple(self.places[image] for image in kept_I), captions, renumbered_C)

    def split(self, last: int) -> tuple[ImageText, ImageText]:
        """All but the last images, and the last ones. ValueError where nothing would be left on one side."""
        cut = len(self.places) - last
        if not 0 < cut < len(self.places):
            raise ValueError(f"{last:,} of {len(self.places):,} images cannot be held out for validation.")
        return self.with_captions(self.image_C < cut), self.with_captions(self.image_C >= cut)


def read(data: Path, images: Path | None = None) -> ImageText:
    """A Karpathy file (``images``: the folder that its paths start from), or a folder of shards.

    FileNotFoundError, naming the first, where images or shards are missing; ValueError for what holds no pair and for
    a shard that is cut off or damaged.
    """
    found = _shards(data) if data.is_dir() else _karpathy(data, images or data.parent)
    if not found.captions:
        raise ValueError(f"{data}: no image with a caption in it.")
    return found


def _karpathy(file: Path, images: Path) -> ImageText:
    captioned = [item for item in karpathy.read_images(file, images) if item.captions]
    missing = [item.path for item in captioned if not item.path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{missing[0]}: not found, as {len(missing):,} of the {len(captioned):,} images of {file}. "
            "Name the folder that the paths in the file start from (--images)."
        )
    places = tuple(Place(item.image_id, item.path) for item in captioned)
    captions = tuple(text for item in captioned for text in item.captions)
    return ImageText(places, captions, np.repeat(np.arange(len(places)), [len(item.captions) for item in captioned]))


def _shards(folder: Path) -> ImageText:
    paths = sorted(folder.glob("*.tar"))
    if not paths:
        raise FileNotFoundError(f"{folder}: no webdataset shard (*.tar) in it.")
    skipped = Counter[str]()
    pairs = [(path, pair) for path in paths for pair in shards.read_pairs(path, skipped, read_images=False)]
    shards.print_skipped(folder, skipped)
    places = tuple(Place(pair.key, path, pair.image.start, pair.image.size) for path, pair in pairs)
    return ImageText(places, tuple(pair.caption for _, pair in pairs), np.arange(len(pairs)))


class Pixels(Dataset[Tensor]):
    """The images of places as the model's preprocessing leaves them (CHW); few and small ones stay in memory."""

    def __init__(self, places: Sequence[Place], preprocess: Callable[[Image.Image], Tensor]) -> None:
        self._places, self._preprocess = places, preprocess
        self._held: dict[int, Tensor] | None = None
        if self[0].nbytes * len(places) <= HELD_BYTES:
            self._held = {}

    @property
    def is_held(self) -> bool:
        """Whether images stay in memory, so that worker processes would only copy them."""
        return self._held is not None

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, position: int) -> Tensor:
        """ValueError naming the image where it cannot be read."""
        if self._held is not None and position in self._held:
            return self._held[position]
        place = self._places[position]
        try:
            pixels_CHW = self._preprocess(Image.open(io.BytesIO(place.read())).convert("RGB"))
        except OSError as error:
            raise ValueError(f"{place.path}, {place.name}: the image cannot be read ({error}).") from None
        if self._held is not None:
            self._held[position] = pixels_CHW
        return pixels_CHW

    def batches(self, positions: Sequence[Sequence[int]], workers: int = 0) -> Iterator[Tensor]:
        """The images (B, C, H, W) of lists of positions, in their order; with ``workers`` processes where they pay."""
        return iter(
            DataLoader(
                self,
                batch_sampler=positions,  # pyright: ignore[reportArgumentType]
                num_workers=0 if self.is_held else workers,
                collate_fn=torch.stack,
            )
        )

    def in_order(self, size: int, workers: int = 0) -> Iterator[Tensor]:
        """All images, ``size`` at a time."""
        positions = range(len(self))
        return self.batches([positions[start : start + size] for start in positions[::size]], workers)
