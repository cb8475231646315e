"""Arrow schemas of rows that only published benchmarks have. The others are in base/schemas/rows.py."""

from collections.abc import Sequence

import pyarrow as pa

from compeval.base.schemas.rows import CHOICE_SCHEMA, GROUP_SCHEMA

PARAPHRASE_SCHEMA = CHOICE_SCHEMA.append(pa.field("paraphrase", pa.string()))
"""An image, two true captions and wrong captions, scored by evaluators/protocols/paraphrase.py."""


QUESTIONS_SCHEMA = pa.schema(
    [field for field in GROUP_SCHEMA if not field.name.startswith("caption")]
    + [pa.field(f"answers_{question}", pa.list_(pa.string())) for question in (0, 1)]
)
"""Two images and two questions, each with the answer for image 0 and with the answer for image 1
(evaluators/protocols/paired_questions.py)."""

CAPTION_FIELDS = [field for field in CHOICE_SCHEMA if field.name != "hard_negatives"]
TRUTH_SCHEMA = pa.schema([*CAPTION_FIELDS, pa.field("label", pa.int64())])
"""An image and a caption that is true (label 1) or false (label 0), scored by evaluators/protocols/true_or_false.py."""

RATING_SCHEMA = pa.schema([*CAPTION_FIELDS, pa.field("rating", pa.int64())])
"""An image, a caption and the sum of several people's ratings of how well they agree, from 0 to 100, scored by
evaluators/protocols/agreement.py."""

KINDS = {name: GROUP_SCHEMA.field(f"{name}_0").type for name in ("image", "crop_id", "caption")}
GROUP_FIELDS = tuple(GROUP_SCHEMA.field(name) for name in ("image_id", "categories", "provenance"))


def image_choice_schema(count: int) -> pa.Schema:
    """Return the schema of a caption and ``count`` images, of which the first (``image``) is the one it describes.

    The others are ``image_n1``, ``image_n2`` and so on (evaluators/protocols/image_choice.py).
    """
    suffixes = ["", *(f"_n{number}" for number in range(1, count))]
    images = [
        (f"{name}{suffix}", KINDS[name]) for suffix in suffixes for name in ("image", "crop_id")
    ]
    return pa.schema([*images, *GROUP_FIELDS, ("caption", pa.string())])


NUM_FRAMES = 12
"""Frames per video, as in the evaluation of CLIP4Clip by VITATECS (arXiv:2311.17404)."""


def video_schema(count: int) -> pa.Schema:
    """Return the schema of ``count`` frames of a video (``image_0``, ``image_1`` and so on), its caption and wrong
    captions (evaluators/protocols/video_choice.py)."""
    captions = (("caption", pa.string()), CHOICE_SCHEMA.field("hard_negatives"))
    return pa.schema([*_list_frames(count), *GROUP_FIELDS, *captions])


def video_group_schema(count: int) -> pa.Schema:
    """Return the schema of two videos with ``count`` frames each (``image_0``, ``image_1`` and so on, first those of
    video 0) and their captions (evaluators/protocols/video_group.py)."""
    captions = ((f"caption_{number}", KINDS["caption"]) for number in (0, 1))
    return pa.schema([*_list_frames(2 * count), *captions, *GROUP_FIELDS])


def _list_frames(count: int) -> list[tuple[str, pa.DataType]]:
    return [
        (f"{name}_{number}", KINDS[name])
        for number in range(count)
        for name in ("image", "crop_id")
    ]


def set_schema(count: int) -> pa.Schema:
    """Return the schema of ``count`` images and their captions: ``image_0``, ``caption_0`` and so on.

    Images 0 and 1, 2 and 3 are pairs (evaluators/protocols/sets.py).
    """
    names = ("image", "crop_id", "caption")
    return pa.schema(
        [
            *((f"{name}_{number}", KINDS[name]) for name in names for number in range(count)),
            *GROUP_FIELDS,
        ]
    )


def list_image_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of the images of a row, in order."""
    return [name for name in schema.names if name.startswith("image") and name != "image_id"]


def list_caption_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of the captions of a row, in order."""
    return [name for name in schema.names if name.startswith(("caption", "paraphrase", "answers"))]


def arrange_captions(schema: pa.Schema, captions: Sequence[str]) -> dict[str, str | list[str]]:
    """Return the caption columns of a row: a caption in each, or an equal number of captions in each list."""
    names = list_caption_columns(schema)
    if not pa.types.is_list(schema.field(names[0]).type):
        return dict(zip(names, captions, strict=True))
    size = len(captions) // len(names)
    return {
        name: list(captions[place * size : (place + 1) * size]) for place, name in enumerate(names)
    }
