"""Captioned images in the format of Karpathy's splits: COCO's and Flickr30k's, and the micro-world's.

Source: Karpathy and Fei-Fei 2015, in the files that ARO and BLIP read: a list of {"image": path, "caption": [five]}.
The training file has one caption an entry (a string); entries of one image are put together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class CaptionedImage(NamedTuple):
    """``image_id`` is the image's path as the file has it; ``path`` is where it lies."""

    image_id: str
    path: Path
    captions: tuple[str, ...]


def read_images(file: Path, images: Path) -> Iterator[CaptionedImage]:
    """Every image of a file in its order, with its distinct captions, stripped; ``images`` is the folder of the images.

    FileNotFoundError for a missing file; ValueError, naming the entry, for broken JSON and for what is no entry.
    """
    if not file.exists():
        raise FileNotFoundError(f"{file}: not found.")
    try:
        entries = json.loads(file.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}: broken JSON ({error}).") from None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: got {type(entries).__name__} at the top, expected a list of entries.")
    captions: dict[str, dict[str, None]] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not {"image", "caption"} <= entry.keys():
            found = ", ".join(entry) if isinstance(entry, dict) else type(entry).__name__
            raise ValueError(f"{file}, entry {number}: got {found}, expected the keys 'image' and 'caption'.")
        said = [entry["caption"]] if isinstance(entry["caption"], str) else entry["caption"]
        if not (isinstance(said, list) and all(isinstance(text, str) for text in (entry["image"], *said))):
            raise ValueError(f"{file}, entry {number}: 'image' is not a path, or 'caption' neither a text nor several.")
        captions.setdefault(entry["image"], {}).update(dict.fromkeys(text.strip() for text in said if text.strip()))
    for name, texts in captions.items():
        yield CaptionedImage(name, images / name, tuple(texts))
