"""Arrow schemas of the rows of datasets and annotations files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from compeval.base.schemas.scene_graph import Box

ImageStorage = Literal["embedded", "by_reference"]
"""Storage of the crop in dataset rows: as a JPEG file in the column ``image`` (``embedded``), or as the path of its
source image in the column ``image_path`` (``by_reference``)."""

_text = pa.string()
_texts = pa.list_(pa.string())
_integer = pa.int64()


def _records(*text_fields: str, **other_fields: pa.DataType) -> pa.ListType:
    """Return the type of a list of structs with string fields and fields of other types."""
    return pa.list_(pa.struct([*((name, _text) for name in text_fields), *other_fields.items()]))


_sides = [(side, pa.float64()) for side in Box._fields]
_image = pa.struct([("bytes", pa.binary()), ("path", _text)])
_picture = [("image", _image), ("crop_id", _text)]
_crop = [("crop_id", _text), ("image_id", _text), *_sides]
_box = pa.struct(_sides)
_atoms = _records("kind", "text")
_relations = _records("subject", "predicate", "object")
_scene_graph = pa.struct(
    [("objects", _records("id", "name", attributes=_texts, box=_box)), ("relations", _relations)]
)
_mentions = _records("kind", "text", "tag", "object", "target", start=_integer, end=_integer)
_origin = [("provenance", pa.struct([("source", _text), ("captioner", _text), ("seed", _integer)]))]
_categories = [("categories", _records("by", "name"))]

RAW_SCHEMA = pa.schema(
    [
        *(("image", _image), *_crop, ("caption", _text), ("atoms", _atoms)),
        ("compounds", _records("kind", "subject", "relation", "object")),
        *(("complexity", _integer), ("scene_graph", _scene_graph), *_origin),
    ]
)
"""An image-text pair: a crop, its caption, and the caption's scene graph."""

HARD_NEGATIVE_SCHEMA = pa.schema(
    [*RAW_SCHEMA, ("hard_negatives", _texts), ("foils", pa.list_(_records("type", "from", "to")))]
)
"""A raw row with hard negatives. ``foils`` has a list per hard negative: the replaced words that make it false."""

CHOICE_SCHEMA = pa.schema(
    [
        ("image", _image),
        *_crop,
        ("caption", _text),
        ("hard_negatives", _texts),
        *_categories,
        *_origin,
    ]
)
"""An image, its caption and wrong captions; every row has the same number of wrong captions. Results are reported per
category, such as {"by": "relation", "name": "on"} or {"by": "kind of relation", "name": "spatial"}."""

RETRIEVAL_SCHEMA = pa.schema(
    [("image", _image), *_crop, ("captions", _texts), *_categories, *_origin]
)
"""An image and all its true captions, for image-to-text and text-to-image retrieval among all rows of the split."""

GROUP_SCHEMA = pa.schema(
    [
        *((f"{name}_{n}", kind) for name, kind in (*_picture, ("caption", _text)) for n in "01"),
        *(("image_id", _text), *_categories, *_origin),
    ]
)
"""Two images and their captions, with Winoground's column names. Confidence intervals resample ``image_id``."""

COMPOUND_SCHEMA = pa.schema(
    [
        *((f"{name}{n}", kind) for name, kind in _picture for n in ("", "_n1", "_n2")),
        *((noun, _text) for noun in ("compound", "n1", "n2")),
        *(("prompts", _texts), ("image_id", _text), *_categories, *_origin),
    ]
)
"""Images of a compound noun and of its two constituents, and prompts. The image with the highest mean score over the
prompts is the model's choice."""

NOUN_SCHEMA = pa.schema(
    [(key, _text) for key in ("compound", "n1", "n2", "form", "category", "split", "note")]
)
"""A compound noun, its two constituents, its form (open or closed), which constituents its image shows (``category``),
and how the compound was split into constituents (``split``)."""

TEXT_SCHEMA = pa.schema([("prompt", _text), ("cell", _text), ("atoms", _atoms), *_origin])
"""A prompt that a probe recovers from its text embedding. Results are reported per ``cell``, the type of prompt."""

ANNOTATION_SCHEMA = pa.schema(
    [
        *(("image_id", _text), ("width", _integer), ("height", _integer), ("files", _texts)),
        ("objects", _records("id", "name", other_names=_texts, attributes=_texts, box=_box)),
        ("relations", _relations),
        (
            "regions",
            _records(
                "region_id", "phrase", "caption", box=_box, graph=_scene_graph, mentions=_mentions
            ),
        ),
    ]
)
"""An annotated image (base/readers/annotations.py). The stage ``parsed_regions`` fills in the captions of the
regions, their graphs and their mentions (generators/seen_analysis/regions.py)."""

WALK_SCHEMA = pa.schema(
    [
        *(
            ("key", _text),
            ("image_id", _text),
            ("complexity", _integer),
            *_sides,
            ("scene_graph", _scene_graph),
        ),
        ("captions", _records("name", "captioner", "text", mentions=_mentions)),
    ]
)
"""A subgraph of an image's scene graph and its captions, by the name of the productivity variant ("" for the default)
(generators/captioned_walks.py)."""


def classification_schema(
    classes: Sequence[str], prompts: Sequence[Sequence[str]] | None = None
) -> pa.Schema:
    """Return the schema of images with class labels.

    A label is an index into ``classes``; the schema stores these names for the ``ClassLabel`` feature of ``datasets``.
    ``prompts``: the prompts of each class, the same number for all. None: the evaluation makes them from the names.
    """
    metadata = {"classes": json.dumps(list(classes))} | (
        {"prompts": json.dumps(prompts)} if prompts else {}
    )
    label = pa.field("label", _integer, metadata=metadata)
    return pa.schema([("image", _image), *_crop, label, *_origin])


def use_image_paths(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the column ``image_path`` instead of ``image``.

    The path is absolute, or relative to the parent of the dataset's folder. The row's box is the crop of this image.
    """
    return schema.set(schema.get_field_index("image"), pa.field("image_path", _text))


def use_stored_images(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the column ``image`` instead of ``image_path``."""
    return schema.set(schema.get_field_index("image_path"), pa.field("image", _image))


def use_shared_images(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a config whose rows show the same images many times, each of which is stored once.

    The column ``image_row`` locates the images of a row whose image columns are null: a row of the config's first
    split.
    """
    return schema.append(pa.field("image_row", _integer))


def add_patches(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the column ``patches``: the order of the image's patches, or null for the image as it is.

    See base/storage/patches.py.
    """
    grid = [("rows", _integer), ("columns", _integer), ("order", pa.list_(_integer))]
    return schema.append(pa.field("patches", pa.struct(grid)))


def get_image_storage(schema: pa.Schema) -> ImageStorage:
    return "by_reference" if "image_path" in schema.names else "embedded"


def add_datasets_features(schema: pa.Schema) -> pa.Schema:
    """Return the schema with metadata that tells ``datasets`` which columns are images or class labels."""
    from datasets import ClassLabel, Features, Image

    features = Features.from_arrow_schema(schema)
    for field in schema:
        if field.type == _image:
            features[field.name] = Image()
        elif field.metadata:
            features[field.name] = ClassLabel(names=json.loads(field.metadata[b"classes"]))
    info = {"info": {"features": features.to_dict()}}
    return schema.with_metadata({"huggingface": json.dumps(info)})
