"""Read captioned images in the format of Karpathy's splits of COCO and Flickr30k.

Source: Karpathy and Fei-Fei 2015, in the files of ARO and BLIP: a JSON list of {"image": path, "caption": [captions]}.
In the training file, "caption" is a string and an image has several entries, which are merged. The micro-world writes
the same format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class CaptionedImage(NamedTuple):
    """An image with its captions. ``image_id`` is the path in the JSON file, ``path`` the path on disk."""

    image_id: str
    path: Path
    captions: tuple[str, ...]


def read_images(file: Path, image_folder: Path) -> Iterator[CaptionedImage]:
    """Yield the images of a file in file order, with their distinct captions, stripped.

    The paths of the images are relative to ``image_folder``. Raises FileNotFoundError without the file, and ValueError
    if the file is not valid JSON or an entry is malformed.
    """
    if not file.exists():
        raise FileNotFoundError(f"{file}: not found.")
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: broken JSON ({error}).") from None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: got {type(entries).__name__} at the top level, expected a list of entries.")
    captions: dict[str, dict[str, None]] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not {"image", "caption"} <= entry.keys():
            content = ", ".join(entry) if isinstance(entry, dict) else type(entry).__name__
            raise ValueError(f"{file}, entry {number}: got {content}, expected the keys 'image' and 'caption'.")
        texts = [entry["caption"]] if isinstance(entry["caption"], str) else entry["caption"]
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in (entry["image"], *texts))):
            raise ValueError(f"{file}, entry {number}: expected a string 'image', and a string or a list 'caption'.")
        captions.setdefault(entry["image"], {}).update(dict.fromkeys(text.strip() for text in texts if text.strip()))
    for image_id, image_captions in captions.items():
        yield CaptionedImage(image_id, image_folder / image_id, tuple(image_captions))
