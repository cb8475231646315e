"""The rows of datasets of a user's own captions, and the table from which they are made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import CHOICE_SCHEMA, HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage import parquet
from compeval.base.storage.crops import IMAGES
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.own.foils import CaptionNegatives
from compeval.generators.hard_negatives.own.kinds import KINDS, ORDER, SIZES
from compeval.loaders.own_data.entries import list_categories
from compeval.loaders.own_data.images import FOLDER, OwnImage

Row = dict[str, Any]

ROWS_PER_BATCH = 256
ROWS_PER_GROUP = 1024


OWN_SCHEMA = pa.schema(
    [*HARD_NEGATIVE_SCHEMA, ("proven", pa.list_(pa.bool_())), CHOICE_SCHEMA.field("categories")]
)
"""A hard-negative row. ``proven``: whether the scene graph or a caption of the image excludes each negative. The
category ``atoms`` is the number of atoms of the caption."""
_negatives = pa.list_(
    pa.struct(
        [
            ("caption", pa.string()),
            ("foils", HARD_NEGATIVE_SCHEMA.field("foils").type.value_type),
            ("proven", pa.bool_()),
            ("truth", pa.string()),
        ]
    )
)
TABLE_SCHEMA = pa.schema(
    [
        *RAW_SCHEMA,
        ("captions", pa.list_(pa.string())),
        *((kind, _negatives) for kind in KINDS),
        ("reasons", pa.list_(pa.struct([("kind", pa.string()), ("reason", pa.string())]))),
    ]
)
"""A caption with its negatives of all kinds, and the reasons why it has none of a kind. ``captions`` are all captions
of the image. ``truth`` is the true text of a negative's row: the caption, one that denies something false
(negations.py), or the caption as the shuffles of ``order`` write it."""


class Rows(NamedTuple):
    """Makes the rows of a dataset, whose images are files in its folder."""

    dataset: str
    provenance: Mapping[str, Any]

    def make_image(self, image: AnnotatedImage) -> Row:
        """Return the columns of an image."""
        (file,) = image.files
        return {
            "image": {"bytes": None, "path": f"{self.dataset}/{IMAGES}/{FOLDER}/{file}"},
            "crop_id": file.stem,
            "image_id": image.image_id,
            **Box(0.0, 0.0, float(image.width), float(image.height))._asdict(),
            "provenance": dict(self.provenance),
        }

    def make_retrieval(self, image: AnnotatedImage) -> Row:
        """Return the row of RETRIEVAL_SCHEMA of an image."""
        return {
            **self.make_image(image),
            "captions": [item.caption for item in image.regions],
            "categories": [],
        }

    def make_own(self, image: OwnImage) -> Iterator[Row]:
        """Yield the rows of CHOICE_SCHEMA of an image, of the hard negatives that its owner wrote."""
        for row in image.rows:
            if row["negatives"]:
                texts = {"caption": row["captions"][0], "hard_negatives": row["negatives"]}
                yield {
                    **self.make_image(image.annotated),
                    **texts,
                    "categories": list_categories(row["kind"]),
                }

    def make_caption(self, image: AnnotatedImage, negatives_of_caption: CaptionNegatives) -> Row:
        """Return the row of TABLE_SCHEMA of a caption, without shuffles."""
        graph = negatives_of_caption.caption.parse.graph
        text = negatives_of_caption.caption.text
        columns = {
            "caption": text,
            "captions": [region.caption for region in image.regions],
            "atoms": [atom._asdict() for atom in graph.atoms],
            "compounds": [compound._asdict() for compound in graph.compounds],
            "complexity": graph.complexity,
            "scene_graph": graph.to_row(),
            "reasons": [
                {"kind": kind, "reason": reason}
                for kind, reason in negatives_of_caption.reasons.items()
            ],
        }
        negatives = {
            kind: [
                describe(item, is_proven, negatives_of_caption.truths.get(kind, text))
                for item, is_proven in negatives_of_caption.negatives.get(kind, ())
            ]
            for kind in SIZES
        }
        return {**self.make_image(image), **columns, **negatives, ORDER: []}


def describe(negative: HardNegative, is_proven: bool | None, truth: str) -> Row:
    """Return a negative of TABLE_SCHEMA. None: a shuffle, which states nothing."""
    return {
        "caption": negative.caption,
        "foils": negative.foil_rows,
        "proven": is_proven,
        "truth": truth,
    }


def make_row(row: Row, negatives: Sequence[Row]) -> Row:
    """Return a row of OWN_SCHEMA."""
    return {
        **{name: row[name] for name in RAW_SCHEMA.names},
        "caption": negatives[0]["truth"],
        "hard_negatives": [item["caption"] for item in negatives],
        "foils": [item["foils"] for item in negatives],
        "proven": [item["proven"] for item in negatives],
        "categories": [{"by": "atoms", "name": str(row["complexity"])}],
    }


class Spool:
    """A table to which rows are added while another table is written, in constant memory."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = parquet.open_writer(path, schema)
        self._schema = schema
        self._rows = list[Row]()

    def add(self, rows: Iterable[Row]) -> None:
        self._rows += rows
        if len(self._rows) >= ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows.clear()

    def close(self) -> None:
        self._flush()
        self._writer.close()


def write_table(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> None:
    """Write a table in constant memory. Large row groups keep the description of the file small."""
    with closing(Spool(path, schema)) as spool:
        for row in rows:
            spool.add([row])


def read_table(path: Path, columns: list[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a table, in constant memory."""
    for batch in parquet.read_batches(path, ROWS_PER_BATCH, columns):
        yield from batch.to_pylist()
