"""Dataset folders: parquet files that plain ``datasets`` reads, written whole or not at all.

A folder ``<dataset>/<config>/`` holds ``<split>-00000-of-00001.parquet`` and so on. The Arrow schema carries the
``datasets`` features, so that images decode wherever the file is opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from generators.schemas.scene_graph import Box, SceneGraph
from generators.storage.atomic import atomic_folder
from generators.storage.crops import Crop, crop, crop_id
from generators.storage.params import block

Pixels = Literal["embedded", "by_reference"]
"""What rows hold of a crop: its JPEG in the column ``image``, or where its source image lies, in ``image_path``."""

ROWS_PER_GROUP = 500
BYTES_PER_FILE = 500_000_000

_text, _texts, _pixels = pa.string(), pa.list_(pa.string()), pa.float64()
_box = pa.struct([(side, _pixels) for side in ("x", "y", "width", "height")])
_image = pa.struct([("bytes", pa.binary()), ("path", _text)])
_crop = [("crop_id", _text), ("image_id", _text), *((side, _pixels) for side in ("x", "y", "width", "height"))]
_atoms = pa.list_(pa.struct([("kind", _text), ("text", _text)]))
_provenance = pa.struct([("source", _text), ("captioner", _text), ("seed", pa.int64())])
_categories = pa.list_(pa.struct([("by", _text), ("name", _text)]))

RAW_SCHEMA = pa.schema(
    [
        ("image", _image),
        *_crop,
        ("caption", _text),
        ("atoms", _atoms),
        ("compounds", pa.list_(pa.struct([(key, _text) for key in ("kind", "subject", "relation", "object")]))),
        ("complexity", pa.int64()),
        (
            "scene_graph",
            pa.struct(
                [
                    (
                        "objects",
                        pa.list_(pa.struct([("id", _text), ("name", _text), ("attributes", _texts), ("box", _box)])),
                    ),
                    (
                        "relations",
                        pa.list_(pa.struct([(key, _text) for key in ("subject", "predicate", "object")])),
                    ),
                ]
            ),
        ),
        ("provenance", _provenance),
    ]
)
"""One image-text pair: a crop, its caption, and what the caption says."""

HARD_NEGATIVE_SCHEMA = RAW_SCHEMA.append(pa.field("hard_negatives", _texts)).append(
    pa.field("foils", pa.list_(pa.list_(pa.struct([(key, _text) for key in ("type", "from", "to")]))))
)
"""A raw row with its hard negatives and, for each of them, the foils that make it false."""

CHOICE_SCHEMA = pa.schema(
    [
        ("image", _image),
        *_crop,
        ("caption", _text),
        ("hard_negatives", _texts),
        ("categories", _categories),
        ("provenance", _provenance),
    ]
)
"""One image, its caption and wrong ones, as many in each row. ``categories`` say what results are broken down by, each
once a row: {"by": "relation", "name": "on"}, {"by": "kind of relation", "name": "spatial"}."""

RETRIEVAL_SCHEMA = pa.schema(
    [("image", _image), *_crop, ("captions", _texts), ("categories", _categories), ("provenance", _provenance)]
)
"""One image and all its true captions, for retrieval among all rows of the split, both ways."""

GROUP_SCHEMA = pa.schema(
    [
        *((f"image_{place}", _image) for place in (0, 1)),
        *((f"crop_id_{place}", _text) for place in (0, 1)),
        *((f"caption_{place}", _text) for place in (0, 1)),
        ("image_id", _text),
        ("categories", _categories),
        ("provenance", _provenance),
    ]
)
"""Two images and their captions, in Winoground's column names; ``image_id`` is what intervals resample."""


def file_id(data: bytes) -> str:
    """The ``crop_id`` of an image that is used whole, from its file's bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def group_cells(images: Iterable[bytes], captions: Iterable[str]) -> dict[str, Any]:
    """The cells of GROUP_SCHEMA that hold two images' files, the ids of these and their captions."""
    cells: dict[str, Any] = {}
    for place, (data, caption) in enumerate(zip(images, captions, strict=True)):
        cells[f"image_{place}"] = {"bytes": data, "path": None}
        cells[f"crop_id_{place}"] = file_id(data)
        cells[f"caption_{place}"] = caption
    return cells


COMPOUND_SCHEMA = pa.schema(
    [
        *((f"image{part}", _image) for part in ("", "_n1", "_n2")),
        *((f"crop_id{part}", _text) for part in ("", "_n1", "_n2")),
        *((noun, _text) for noun in ("compound", "n1", "n2")),
        ("prompts", _texts),
        ("image_id", _text),
        ("categories", _categories),
        ("provenance", _provenance),
    ]
)
"""A compound noun's image and those of its two constituents, and the prompts whose mean score picks one."""

NOUN_SCHEMA = pa.schema([(key, _text) for key in ("compound", "n1", "n2", "form", "category", "split", "note")])
"""A compound noun, its two constituents, its surface form, which constituents its picture shows, how it was split."""

TEXT_SCHEMA = pa.schema([("prompt", _text), ("cell", _text), ("atoms", _atoms), ("provenance", _provenance)])
"""A text to be recovered from its encoding, without image; results are broken down by ``cell``, the prompt type."""


def classification_schema(classes: Sequence[str]) -> pa.Schema:
    """One image and the position of its class among ``classes``, which the schema itself names (``ClassLabel``)."""
    label = pa.field("label", pa.int64(), metadata={"classes": json.dumps(list(classes))})
    return pa.schema([("image", _image), *_crop, label, ("provenance", _provenance)])


def pixels_asked() -> Pixels:
    """What params.yaml says that rows hold; unless it does, the micro-world's hold crops, others name their images.

    ValueError for a word that is neither.
    """
    told = block("pixels")
    if told is None:
        return "embedded" if block("source") == "microworld" else "by_reference"
    if told not in get_args(Pixels):
        raise ValueError(f"params.yaml, pixels: {told!r} is none of {', '.join(get_args(Pixels))} and null.")
    return told


def by_reference(schema: pa.Schema) -> pa.Schema:
    """The schema of the same rows with ``image_path``, absolute or as seen from the folder that holds the dataset's, in
    place of ``image``; the box says which part of that image is meant."""
    return schema.set(schema.get_field_index("image"), pa.field("image_path", _text))


def embedded(schema: pa.Schema) -> pa.Schema:
    """The reverse."""
    return schema.set(schema.get_field_index("image_path"), pa.field("image", _image))


def pixels_of(schema: pa.Schema) -> Pixels:
    """What rows of a schema hold of their crops."""
    return "by_reference" if "image_path" in schema.names else "embedded"


def _stored(row: Mapping[str, Any], pixels: Pixels) -> Mapping[str, Any]:
    """A row with what it is to hold of its crop, if that is not cut out yet."""
    place = row.get("image")
    if not isinstance(place, Crop):
        return row
    if pixels == "embedded":
        return {**row, "image": {"bytes": crop(*place), "path": None}}
    others = {name: value for name, value in row.items() if name != "image"}
    return {**others, "image_path": place.path.as_posix()}


def features_metadata(schema: pa.Schema) -> pa.Schema:
    """The schema with the metadata by which ``datasets`` knows its images and the names of its classes."""
    from datasets import ClassLabel, Features, Image

    features = Features.from_arrow_schema(schema)
    for field in schema:
        if field.type == _image:
            features[field.name] = Image()
        elif field.metadata:
            features[field.name] = ClassLabel(names=json.loads(field.metadata[b"classes"]))
    info = {"info": {"features": features.to_dict()}}
    return schema.with_metadata({"huggingface": json.dumps(info)})


def write_split(
    folder: Path, split: str, rows: Iterable[Mapping[str, Any]], schema: pa.Schema, pixels: Pixels = "embedded"
) -> int:
    """Write one split's parquet files, in constant memory; gives the number of rows.

    Rows must have exactly the schema's columns; a ValueError names the first that differs. An ``image`` that is a Crop
    is cut out, or only its place is written down, as ``pixels`` says.
    """
    schema = features_metadata(by_reference(schema) if pixels == "by_reference" else schema)
    scratch: list[Path] = []
    count, writer = 0, None
    stream = (_stored(row, pixels) for row in rows)
    while group := list(islice(stream, ROWS_PER_GROUP)):
        for row in group:
            if row.keys() != set(schema.names):
                odd = sorted(row.keys() ^ set(schema.names))
                raise ValueError(f"{folder.name}/{split}, row {count}: columns {odd} are missing or unknown.")
            count += 1
        if writer is None or scratch[-1].stat().st_size > BYTES_PER_FILE:
            if writer is not None:
                writer.close()
            scratch.append(folder / f"{split}.{len(scratch)}.partial")
            writer = pq.ParquetWriter(scratch[-1], schema, compression="zstd")
        writer.write_table(pa.Table.from_pylist(group, schema))
    if writer is None:
        scratch.append(folder / f"{split}.0.partial")
        writer = pq.ParquetWriter(scratch[-1], schema, compression="zstd")
    writer.close()
    for index, path in enumerate(scratch):
        path.rename(folder / f"{split}-{index:05d}-of-{len(scratch):05d}.parquet")
    return count


def write_config(
    root: Path,
    config: str,
    splits: Mapping[str, Iterable[Mapping[str, Any]]],
    schema: pa.Schema,
    pixels: Pixels = "embedded",
) -> dict[str, int]:
    """Write ``root/config/`` with all its splits, replacing what was there; gives the rows of each split."""
    with atomic_folder(root / config) as folder:
        return {split: write_split(folder, split, rows, schema, pixels) for split, rows in splits.items()}


def raw_row(
    path: Path, image_id: str, box: Box, caption: str, graph: SceneGraph, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """A row of RAW_SCHEMA: the crop of the image at ``path``, its caption and the caption's scene graph."""
    return {
        "image": Crop(path, box),
        "crop_id": crop_id(path, box),
        "image_id": image_id,
        **box._asdict(),
        "caption": caption,
        "atoms": [atom._asdict() for atom in graph.atoms],
        "compounds": [compound._asdict() for compound in graph.compounds],
        "complexity": graph.complexity,
        "scene_graph": graph.to_row(),
        "provenance": dict(provenance),
    }
