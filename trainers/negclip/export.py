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

from compeval.base.files.atomic import atomic_folder
from compeval.base.storage.dataset import write_split
from compeval.trainers.negclip.mining import NEGATIVES, MinedData

Format = Literal["parquet", "webdataset"]

IMAGES_PER_SHARD = 5000
KEY = "{:08d}".format
"""Key of an image in the shards, by its index."""
SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("image_id", pa.string()),
        ("captions", pa.list_(pa.struct([("text", pa.string()), ("negatives", NEGATIVES)]))),
        ("neighbours", pa.list_(pa.int64())),
    ]
)
"""An image, its captions with their negatives, and the images that are most similar to it by the model's features."""


def export(mined: MinedData, folder: Path, format_: Format) -> int:
    """Write the training set to ``folder`` atomically and return the number of images."""
    with atomic_folder(folder) as scratch:
        if format_ == "parquet":
            return write_split(scratch, "train", make_rows(mined), SCHEMA)
        _write_shards(scratch, mined)
        return len(mined.data.locations)


def make_rows(mined: MinedData) -> Iterator[dict[str, Any]]:
    """Yield one row of SCHEMA per image."""
    start_I, count_I = mined.data.find_caption_ranges()
    for location, start, count, neighbours in zip(
        mined.data.locations,
        start_I.tolist(),
        count_I.tolist(),
        mined.neighbour_IK.tolist(),
        strict=True,
    ):
        texts = mined.data.captions[start : start + count]
        negatives = mined.negatives.slice(start, count).to_pylist()
        yield {
            "image": {"bytes": location.read(), "path": None},
            "image_id": location.name,
            "captions": [
                {"text": text, "negatives": of} for text, of in zip(texts, negatives, strict=True)
            ],
            "neighbours": neighbours,
        }


def _write_shards(folder: Path, mined: MinedData) -> None:
    with ShardWriter(
        str(folder / "%05d.tar"), maxcount=IMAGES_PER_SHARD, mtime=0, verbose=0
    ) as shards:
        for index, row in enumerate(make_rows(mined)):
            image = row.pop("image")["bytes"]
            suffix = (Image.open(io.BytesIO(image)).format or "jpeg").lower().replace("jpeg", "jpg")
            record = row | {"neighbours": list(map(KEY, row["neighbours"]))}
            shards.write(
                {
                    "__key__": KEY(index),
                    suffix: image,
                    "txt": row["captions"][0]["text"],
                    "json": json.dumps(record, ensure_ascii=False).encode(),
                }
            )
