"""Read the training and validation files of NegCLIP's authors: captions with the hard negatives that they mined.

    compeval train negclip --model ViT-B-32/openai --data train_neg_clip.tsv --images coco --output checkpoints/negclip

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C; {train,valid}_neg_clip.tsv of
https://github.com/mertyg/vision-language-models-are-bows. A row is a caption (``title``) with its image (``filepath``),
its negatives (``neg_caption``, a Python list) and similar images (``neg_image``, numbers of rows of the file).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from compeval.generators.hard_negatives.negclip.negatives import Negative
from compeval.loaders.importing.images import ImageFinder
from compeval.loaders.published.image_sets import COCO
from compeval.loaders.published.rows import parse_texts, read_csv
from compeval.trainers.negclip.image_text import CaptionedImages, ImageLocation
from compeval.trainers.negclip.mining import NEIGHBOURS, MinedData, to_array

SUFFIX = ".tsv"
COLUMNS = ("title", "filepath", "neg_caption", "neg_image")
KIND = "published"
"""The kind of the negatives, because the file does not say which parts of the caption were exchanged."""


class Caption(NamedTuple):
    """A row of the file."""

    image: str
    text: str
    negatives: tuple[str, ...]
    neighbours: tuple[int, ...]
    """Numbers of rows with similar images."""


def read_rows(file: Path) -> Iterator[Caption | None]:
    """Yield the rows of a file in order; None for a row without a caption, a negative or lists of the right types."""
    for row in read_csv(file, COLUMNS, "\t"):
        try:
            negatives = parse_texts(row["neg_caption"])[0]
            neighbours = json.loads(row["neg_image"])
            is_usable = bool(row["title"].strip() and row["filepath"] and negatives) and isinstance(
                neighbours, list
            )
        except (ValueError, KeyError, RecursionError):
            is_usable = False
            negatives = ()
            neighbours = ()
        if is_usable and all(type(number) is int for number in neighbours):
            yield Caption(row["filepath"], row["title"].strip(), negatives, tuple(neighbours))
        else:
            yield None


def read_captioned_images(file: Path, image_folder: Path) -> CaptionedImages:
    """Read the images and captions of a file. The captions of an image are consecutive.

    Prints the number of unusable rows. Raises FileNotFoundError if images are missing.
    """
    images = ImageFinder(image_folder, image_folder)
    captions = dict[str, dict[str, None]]()
    counts = Counter[bool]()
    for row in read_rows(file):
        counts[row is None] += 1
        if row:
            captions.setdefault(row.image, {})[row.text] = None
    if counts[True]:
        print(
            f"{file}: {counts[True]:,} of {counts.total():,} rows are unusable and skipped.",
            file=sys.stderr,
        )
    images.require(COCO, captions)
    locations = tuple(
        ImageLocation(name, path) for name in captions if (path := images.find(COCO, name))
    )
    texts = tuple(text for image_captions in captions.values() for text in image_captions)
    return CaptionedImages(
        locations, texts, np.repeat(np.arange(len(captions)), [*map(len, captions.values())])
    )


def read_mined(file: Path, data: CaptionedImages) -> MinedData:
    """Read the negatives and similar images of ``data``, which are images of the file.

    An image without a similar image in ``data`` is left out, because every image of a batch adds one. An image with
    fewer than K similar images repeats them. Prints the number of images that are left out.
    """
    negatives, similar = _read_negatives(file, data)
    neighbours = drop_isolated(similar)
    if not neighbours:
        raise ValueError(
            f"{file}: no image has a similar image. The rows of `neg_image` are not in this file."
        )
    if len(neighbours) < len(data.locations):
        print(
            f"{file}: {len(data.locations) - len(neighbours):,} of {len(data.locations):,} images are left out, "
            "because none of their similar images is in the training data.",
            file=sys.stderr,
        )
    new_index = {image: index for index, image in enumerate(neighbours)}
    neighbour_IK = [
        [new_index[items[k % len(items)]] for k in range(NEIGHBOURS)]
        for items in neighbours.values()
    ]
    pairs = [
        pair
        for pair in zip(data.image_C.tolist(), data.captions, strict=True)
        if pair[0] in neighbours
    ]
    return MinedData(
        data.with_captions(np.isin(data.image_C, list(neighbours))),
        pa.chunked_array([to_array(negatives[pair] for pair in pairs)]),
        np.array(neighbour_IK),
    )


def _read_negatives(
    file: Path, data: CaptionedImages
) -> tuple[dict[tuple[int, str], list[Negative]], list[list[int]]]:
    """Return (image, caption) -> negatives, and the similar images of each image of ``data``."""
    image_index = {location.name: index for index, location in enumerate(data.locations)}
    negatives: dict[tuple[int, str], list[Negative]] = {}
    similar_rows: list[dict[int, None]] = [{} for _ in data.locations]
    image_of_row: dict[int, int] = {}
    for number, row in enumerate(read_rows(file)):
        image = image_index.get(row.image) if row else None
        if row and image is not None:
            image_of_row[number] = image
            negatives[image, row.text] = [Negative(text, KIND) for text in row.negatives]
            similar_rows[image].update(dict.fromkeys(row.neighbours))
    similar = [
        list(
            dict.fromkeys(
                image_of_row[number] for number in rows if image_of_row.get(number, image) != image
            )
        )
        for image, rows in enumerate(similar_rows)
    ]
    return negatives, similar


def drop_isolated(similar: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Return image -> similar images, without images that have none. Similar images that are left out do not count."""
    connected_images = {image: list(items) for image, items in enumerate(similar)}
    while True:
        remaining = {
            image: [item for item in items if item in connected_images]
            for image, items in connected_images.items()
        }
        connected = {image: items for image, items in remaining.items() if items}
        if len(connected) == len(connected_images):
            return connected
        connected_images = connected
