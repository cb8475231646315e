"""Export a training set with hard negatives: captioned images with negative captions and neighbours.

    compeval train export --model ViT-B-32/openai --data coco_karpathy_train.json --images coco --output sets/negclip

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), appendix C. NegCLIP's training data is written in one of two
formats:

- ``parquet``: one row per image, for ``datasets.load_dataset``. ``neighbours`` are row numbers.
- ``webdataset``: shards with ``<key>.jpg`` (or png, webp), ``<key>.txt`` (the first caption, for trainers of image-text
  pairs) and ``<key>.json`` (all captions with their negatives). ``neighbours`` are keys.
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

from generators.files.atomic import atomic_folder
from generators.storage.dataset import write_split
from trainers.negclip.mining import MinedData

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
"""An image, its captions with their negatives, and the images that are most similar to it by the model's features.

``kind``: the part of speech of the swapped words.
"""


def export(mined: MinedData, folder: Path, format_: Format) -> int:
    """Write the training set to ``folder`` atomically and return the number of images."""
    with atomic_folder(folder) as scratch:
        if format_ == "parquet":
            return write_split(scratch, "train", make_rows(mined), SCHEMA)
        return _write_shards(scratch, mined)


def make_rows(mined: MinedData) -> Iterator[dict[str, Any]]:
    """Yield one row of SCHEMA per image."""
    start_I, count_I = mined.data.find_caption_ranges()
    for index, location in enumerate(mined.data.locations):
        captions = range(start_I[index], start_I[index] + count_I[index])
        yield {
            "image": {"bytes": location.read(), "path": None},
            "image_id": location.name,
            "captions": [
                {
                    "text": mined.data.captions[caption],
                    "negatives": [negative._asdict() for negative in mined.negatives[caption]],
                }
                for caption in captions
            ],
            "neighbours": mined.neighbour_IK[index].tolist(),
        }


def _write_shards(folder: Path, mined: MinedData) -> int:
    """Write webdataset shards and return the number of images."""
    count = 0
    with ShardWriter(str(folder / "%05d.tar"), maxcount=IMAGES_PER_SHARD, mtime=0, verbose=0) as shards:
        for count, row in enumerate(make_rows(mined), 1):
            record = {
                "image_id": row["image_id"],
                "captions": row["captions"],
                "neighbours": [_format_key(index) for index in row["neighbours"]],
            }
            image = row["image"]["bytes"]
            shards.write(
                {
                    "__key__": _format_key(count - 1),
                    _find_suffix(image): image,
                    "txt": row["captions"][0]["text"],
                    "json": json.dumps(record, ensure_ascii=False).encode(),
                }
            )
    return count


def _format_key(index: int) -> str:
    return f"{index:08d}"


def _find_suffix(image: bytes) -> str:
    image_format = (Image.open(io.BytesIO(image)).format or "jpeg").lower()
    return "jpg" if image_format == "jpeg" else image_format
