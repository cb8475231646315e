"""Read the images and captions for fine-tuning and validation.

There are two sources: a file in the format of Karpathy's splits (COCO, Flickr30k) with a folder of images, and a folder
of webdataset shards, whose images are read directly from the tar files. Captions are held in memory; images are read
when they are needed.

Letters at the end of an array's name are its axes: I images, C captions (``image_C``). In arrays of pixels, CHW are
channels, height and width, and B is the batch.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import Compose, ConvertImageDtype, Normalize, PILToTensor, ToTensor

from compeval.base.files.listing import list_files
from compeval.base.files.untrusted import decode_image
from compeval.base.readers import karpathy, shards

MAX_CACHED_BYTES = 1_000_000_000
"""Preprocessed images are kept in memory if their total size is at most this number of bytes."""
IMAGES_PER_PART = 32
"""Number of images that a process sends at once: 5 MB for images of 224 x 224 pixels."""


class ImageLocation(NamedTuple):
    """Location of an encoded image: a file, or a part of a tar file."""

    name: str
    """Image id."""
    path: Path
    start: int = 0
    """Offset of the image in the file, in bytes."""
    size: int | None = None
    """Number of bytes. None: the whole file."""

    def read(self) -> bytes:
        """Return the bytes of the encoded image."""
        if self.size is None:
            return self.path.read_bytes()
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


@dataclass(frozen=True)
class CaptionedImages:
    """I images with C captions in total. Every image has at least one caption."""

    locations: tuple[ImageLocation, ...]
    captions: tuple[str, ...]
    image_C: np.ndarray
    """Index of each caption's image, in increasing order."""

    @cached_property
    def digest(self) -> str:
        """Hash (12 hex digits) of the captions, the image ids and the sizes of the images in tar files."""
        content = (
            [[item.name, item.size] for item in self.locations],
            self.captions,
            self.image_C.tolist(),
        )
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    @cached_property
    def file_states(self) -> str:
        """Hash (12 hex digits) of the sizes and modification times of the files that contain the images.

        Work on these images is resumed only as long as it is the same. Unlike ``digest``, it is not part of a result.
        """
        paths = dict.fromkeys(location.path for location in self.locations)
        states = [
            (status.st_size, status.st_mtime_ns)
            for path in paths
            if path.exists() and (status := path.stat())
        ]
        return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:12]

    def find_caption_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of each image's first caption, and each image's number of captions."""
        _, start_I, count_I = np.unique(self.image_C, return_index=True, return_counts=True)
        return start_I, count_I

    def with_captions(self, keep_C: np.ndarray) -> CaptionedImages:
        """Return the captions for which ``keep_C`` (bool) is True, and the images of these captions."""
        image_I, image_C = np.unique(self.image_C[keep_C], return_inverse=True)
        captions = tuple(text for text, keep in zip(self.captions, keep_C, strict=True) if keep)
        return CaptionedImages(tuple(self.locations[image] for image in image_I), captions, image_C)

    def split(self, num_held_out: int) -> tuple[CaptionedImages, CaptionedImages]:
        """Return (train, held_out): ``held_out`` has the last ``num_held_out`` images, ``train`` has all other images.

        Raises ValueError if one of them would be empty.
        """
        num_train = len(self.locations) - num_held_out
        if not 0 < num_train < len(self.locations):
            raise ValueError(
                f"Cannot hold out {num_held_out:,} of {len(self.locations):,} images for validation: training and "
                "validation need at least one image each."
            )
        return self.with_captions(self.image_C < num_train), self.with_captions(
            self.image_C >= num_train
        )


def read_captioned_images(
    data: Path, image_folder: Path | None = None, splits: Collection[str] = karpathy.TRAIN
) -> CaptionedImages:
    """Read a folder of webdataset shards or a Karpathy file.

    ``image_folder``: the folder of a Karpathy file's images; by default, the folder of the file. ``splits``: the splits
    to read from a file in Karpathy's own layout. Raises FileNotFoundError if shards or images are missing. Raises
    ValueError if a shard is damaged or no image has a caption.
    """
    captioned_images = (
        _read_shards(data)
        if data.is_dir()
        else _read_karpathy(data, image_folder or data.parent, splits)
    )
    if not captioned_images.captions:
        raise ValueError(f"{data}: found no image with a caption.")
    return captioned_images


def _read_karpathy(file: Path, image_folder: Path, splits: Collection[str]) -> CaptionedImages:
    captioned = [item for item in karpathy.read_images(file, image_folder, splits) if item.captions]
    missing = [item.path for item in captioned if not item.path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{missing[0]}: not found ({len(missing):,} of the {len(captioned):,} images of {file} are missing). "
            "Pass the folder that contains the images with --images."
        )
    locations = tuple(ImageLocation(item.image_id, item.path) for item in captioned)
    captions = tuple(text for item in captioned for text in item.captions)
    num_captions = [len(item.captions) for item in captioned]
    return CaptionedImages(locations, captions, np.repeat(np.arange(len(locations)), num_captions))


def _read_shards(folder: Path) -> CaptionedImages:
    paths = list_files(folder, "*.tar")
    if not paths:
        raise FileNotFoundError(f"{folder}: found no webdataset shard (*.tar).")
    skipped = Counter[str]()
    pairs = [
        (path, pair)
        for path in paths
        for pair in shards.read_pairs(path, skipped, read_images=False)
    ]
    shards.print_skipped(folder, skipped)
    locations = tuple(
        ImageLocation(pair.key, path, pair.image.start, pair.image.size) for path, pair in pairs
    )
    return CaptionedImages(
        locations, tuple(pair.caption for _, pair in pairs), np.arange(len(pairs))
    )


Read = Callable[[Image], Tensor]
Normalise = Callable[[Tensor], Tensor]


def split_preprocess(preprocess: Read) -> tuple[Read, Normalise]:
    """Return a function that reads an image as uint8 (CHW), and one that normalises a batch (BCHW) or an image.

    Processes that read images then send a quarter of the bytes, and the model's device normalises. Both functions
    together compute what torchvision's ``ToTensor`` and ``Normalize`` compute. A preprocessing that does not end in
    these two is not split: its second part does nothing.
    """
    steps = preprocess.transforms if isinstance(preprocess, Compose) else []
    if (
        len(steps) < 2
        or not isinstance(steps[-2], ToTensor)
        or not isinstance(steps[-1], Normalize)
    ):
        return preprocess, Compose([])
    return Compose([*steps[:-2], PILToTensor()]), Compose(
        [ConvertImageDtype(torch.float32), steps[-1]]
    )


class ImageDataset(Dataset[Tensor]):
    """Dataset of images (CHW): uint8 if possible, before ``normalise``.

    Each image is kept in memory after it was read for the first time, unless ``cache`` is False or the dataset is
    larger than MAX_CACHED_BYTES. Images that are read only once need no cache. With ``seed``, the preprocessing is
    random: it depends on the seed, the epoch and the image, and nothing is cached.
    """

    def __init__(
        self,
        locations: Sequence[ImageLocation],
        preprocess: Read,
        *,
        cache: bool = True,
        seed: int | None = None,
    ) -> None:
        self._locations = locations
        self._seed = seed
        self._epoch = 0
        self._preprocess, self.normalise = split_preprocess(preprocess)
        self._cache: dict[int, Tensor] | None = None
        if cache and seed is None and self[0].nbytes * len(locations) <= MAX_CACHED_BYTES:
            self._cache = {}

    @property
    def is_cached(self) -> bool:
        """True if images are kept in memory.

        No worker processes are used in this case: each process would fill its own cache, which is lost when it ends.
        """
        return self._cache is not None

    def __getitem__(self, index: int) -> Tensor:
        """Return an image (CHW). Raises ValueError if it cannot be read."""
        if self._cache is not None and index in self._cache:
            return self._cache[index]
        location = self._locations[index]
        try:
            pixels_CHW = self._preprocess_image(decode_image(location.read()), index)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{location.path}, {location.name}: the image cannot be read ({error})."
            ) from None
        if self._cache is not None:
            self._cache[index] = pixels_CHW
        return pixels_CHW

    def _preprocess_image(self, image: Image, index: int) -> Tensor:
        if self._seed is None:
            return self._preprocess(image)
        with torch.random.fork_rng(devices=[]):
            digest = hashlib.sha256(f"{self._seed}:{self._epoch}:{index}".encode()).digest()
            torch.manual_seed(int.from_bytes(digest[:4]))
            return self._preprocess(image)

    def read_batches(
        self, batch_indices: Sequence[Sequence[int]], workers: int = 0, epoch: int = 0
    ) -> Iterator[Tensor]:
        """Yield one batch (B, C, H, W) per list of image indices. The model's input is ``normalise(batch)``.

        ``workers``: number of processes that read images; 0 reads them in this process. Not used if ``is_cached``.
        Processes send parts of batches as arrays, which need no shared memory, and read up to one batch ahead.
        """
        self._epoch = epoch
        workers = 0 if self.is_cached else workers
        batches = [_divide(indices, IMAGES_PER_PART) for indices in batch_indices]
        parts_ahead = max(map(len, batches), default=0)
        loader = DataLoader(
            self,
            batch_sampler=[part for parts in batches for part in parts],  # pyright: ignore[reportArgumentType]
            num_workers=workers,
            prefetch_factor=max(2, -(-parts_ahead // workers)) if workers else None,
            collate_fn=np.stack,
        )
        arrays = iter(loader)
        for parts in batches:
            yield torch.from_numpy(np.concatenate([next(arrays) for _ in parts]))

    def read_in_order(self, batch_size: int, workers: int = 0) -> Iterator[Tensor]:
        """Yield all images in batches of ``batch_size``."""
        return self.read_batches(_divide(range(len(self._locations)), batch_size), workers)


def _divide(items: Sequence[int], size: int) -> list[Sequence[int]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
