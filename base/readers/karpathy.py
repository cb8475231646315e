"""Read captioned images in the format of Karpathy's splits of COCO and Flickr30k.

Source: Karpathy and Fei-Fei 2015. Two layouts of his are read:

- the files of ARO and BLIP: a JSON list of {"image": path, "caption": [captions]}. In the training file, "caption" is a
  string and an image has several entries, which are merged. The micro-world writes the same layout.
- Karpathy's own: {"images": [{"filename", "filepath" (COCO only), "split", "sentences": [{"raw"}]}]}, with all splits
  in one file (dataset_coco.json, dataset_flickr30k.json).

COCO's own files of captions (captions_val2017.json) are read as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.files.json_lines import make_object
from compeval.base.texts import normalize_text

TRAIN = ("train", "restval")
"""The splits of Karpathy's own layout that people train on."""
LAYOUTS = (
    'a list of {"image": path, "caption": [captions]}, or Karpathy\'s own layout {"images": [{"filename", "filepath", '
    '"split", "sentences": [{"raw"}]}]}'
)


class CaptionedImage(NamedTuple):
    """An image with its captions. ``image_id`` is the path in the JSON file, ``path`` the path on disk."""

    image_id: str
    path: Path
    captions: tuple[str, ...]


def read_images(
    file: Path, image_folder: Path, splits: Collection[str] = ()
) -> Iterator[CaptionedImage]:
    """Yield the images of a file in file order, with their distinct captions, stripped.

    The paths of the images are relative to ``image_folder``. ``splits``: those to read of a file in Karpathy's own
    layout; by default all. Raises FileNotFoundError without the file, and ValueError if the file is not valid JSON, an
    entry is malformed, or no image is in one of the splits.
    """
    captions: dict[str, dict[str, None]] = {}
    for number, entry in enumerate(read_entries(file, splits)):
        if not isinstance(entry, dict) or not {"image", "caption"} <= entry.keys():
            content = ", ".join(entry) if isinstance(entry, dict) else type(entry).__name__
            raise ValueError(
                f"{file}, entry {number}: got {content}, expected the keys 'image' and 'caption'. Layouts: {LAYOUTS}."
            )
        texts = [entry["caption"]] if isinstance(entry["caption"], str) else entry["caption"]
        if not (
            isinstance(texts, list)
            and all(isinstance(text, str) for text in (entry["image"], *texts))
        ):
            raise ValueError(
                f"{file}, entry {number}: expected a string 'image', and a string or a list 'caption'."
            )
        captions.setdefault(entry["image"], {}).update(
            dict.fromkeys(filter(None, (normalize_text(text).strip() for text in texts)))
        )
    for image_id, image_captions in captions.items():
        yield CaptionedImage(image_id, image_folder / image_id, tuple(image_captions))


def read_entries(file: Path, splits: Collection[str] = ()) -> list[Any]:
    """Return the entries of a file in the layout of ARO, also of a file in Karpathy's own layout or of COCO's captions.

    Those of Karpathy's own layout have the key ``split`` as well.

    Raises FileNotFoundError or ValueError as :func:`read_images` does.
    """
    if not file.exists():
        raise FileNotFoundError(f"{file}: not found.")
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=make_object)
    except (ValueError, RecursionError) as error:
        if file.suffix != ".json":
            raise ValueError(f"{file}: expected a JSON file: {LAYOUTS}.") from None
        raise ValueError(f"{file}: broken JSON ({error}).") from None
    if isinstance(content, dict) and isinstance(content.get("images"), list):
        if "annotations" in content:
            return _join_coco(file, content)
        return _convert(file, content["images"], splits)
    if not isinstance(content, list):
        raise ValueError(
            f"{file}: got {type(content).__name__} at the top level, expected {LAYOUTS}."
        )
    return content


def _join_coco(file: Path, content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of COCO's captions, whose "annotations" have "image_id" and "caption".

    Raises ValueError for a malformed image or annotation, such as one without a caption.
    """
    captions: dict[Any, list[str]] = {}
    place = "images"
    try:
        names = {image["id"]: image["file_name"] for image in content["images"]}
        for index, annotation in enumerate(content["annotations"]):
            place = f"annotation {index}"
            if annotation["image_id"] not in names:
                raise ValueError(f"image_id {annotation['image_id']!r} is not in images")
            captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    except (KeyError, TypeError, ValueError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{file}, {place}: {reason}. Expected a file of captions, such as captions_val2017.json: "
            '{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}.'
        ) from None
    return [{"image": names[key], "caption": texts} for key, texts in captions.items()]


def _convert(file: Path, images: list[Any], splits: Collection[str]) -> list[dict[str, Any]]:
    """Return the entries of images in Karpathy's own layout."""
    entries: list[dict[str, Any]] = []
    split_names: dict[str, None] = {}
    for number, image in enumerate(images):
        try:
            split_names[image["split"]] = None
            if not splits or image["split"] in splits:
                path = "/".join(filter(None, (image.get("filepath"), image["filename"])))
                texts = [sentence["raw"] for sentence in image["sentences"]]
                entries.append({"image": path, "caption": texts, "split": image["split"]})
        except KeyError as error:
            raise ValueError(
                f"{file}, image {number}: no field {error}. Layouts: {LAYOUTS}."
            ) from None
        except (TypeError, AttributeError):
            content = json.dumps(image)[:100]
            raise ValueError(
                f"{file}, image {number}: got {content}. Layouts: {LAYOUTS}."
            ) from None
    if not entries:
        raise ValueError(
            f"{file}: no image of the split {', '.join(splits)}; it has {', '.join(split_names) or 'none'}."
        )
    return entries
