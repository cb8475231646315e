"""Hard-negative training sets for other trainers: captioned images with negative captions and neighbours.

    compeval train export --model ViT-B-32/openai --data coco_karpathy_train.json --images coco --output sets/negclip

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), appendix C. NegCLIP's training data in two formats:

- ``parquet``: one row per image, readable with plain ``datasets``; ``neighbours`` are row numbers;
- ``webdataset``: shards with ``<key>.jpg`` (png, webp), ``<key>.txt`` (the first caption, for trainers of pairs) and
  ``<key>.json`` (all captions with their negatives); ``neighbours`` are keys.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from PIL import Image
from webdataset.writer import ShardWriter

from generators.storage.atomic import atomic_folder
from generators.storage.dataset import write_split
from trainers.negclip.mining import Mined

Format = Literal["parquet", "webdataset"]

IMAGES_PER_SHARD = 5000
_text = pa.string()
SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", _text)])),
        ("image_id", _text),
        (
            "captions",
            pa.list_(
                pa.struct([("text", _text), ("negatives", pa.list_(pa.struct([("text", _text), ("kind", _text)])))])
            ),
        ),
        ("neighbours", pa.list_(pa.int64())),
    ]
)
"""An image, its captions with their negatives (``kind``: which parts were exchanged), and the nearest other rows."""


def export(mined: Mined, folder: Path, format_: Format) -> int:
    """Write the set to ``folder`` atomically; return the number of images."""
    with atomic_folder(folder) as scratch:
        if format_ == "parquet":
            return write_split(scratch, "train", rows(mined), SCHEMA)
        return _write_shards(scratch, mined)


def rows(mined: Mined) -> Iterator[dict[str, Any]]:
    """Yield rows of SCHEMA in the order of the images."""
    captions: list[list[dict[str, Any]]] = [[] for _ in mined.data.places]
    for image, text, negatives in zip(mined.data.image_C, mined.data.captions, mined.negatives, strict=True):
        captions[image].append({"text": text, "negatives": [one._asdict() for one in negatives]})
    for place, texts, neighbours in zip(mined.data.places, captions, mined.neighbour_IK.tolist(), strict=True):
        yield {
            "image": {"bytes": place.read(), "path": None},
            "image_id": place.name,
            "captions": texts,
            "neighbours": neighbours,
        }


def _write_shards(folder: Path, mined: Mined) -> int:
    """Write webdataset shards; return the number of images."""
    count = 0
    with ShardWriter(str(folder / "%05d.tar"), maxcount=IMAGES_PER_SHARD, mtime=0, verbose=0) as shards:
        for count, row in enumerate(rows(mined), 1):
            record = {
                "image_id": row["image_id"],
                "captions": row["captions"],
                "neighbours": [_key(position) for position in row["neighbours"]],
            }
            pixels = row["image"]["bytes"]
            shards.write(
                {
                    "__key__": _key(count - 1),
                    _suffix(pixels): pixels,
                    "txt": row["captions"][0]["text"],
                    "json": json.dumps(record, ensure_ascii=False).encode(),
                }
            )
    return count


def _key(position: int) -> str:
    return f"{position:08d}"


def _suffix(pixels: bytes) -> str:
    name = (Image.open(io.BytesIO(pixels)).format or "jpeg").lower()
    return "jpg" if name == "jpeg" else name
