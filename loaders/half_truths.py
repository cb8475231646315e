"""Half-truths: a short true caption against the same caption with one false detail.

    python -m compeval.loaders.half_truths crepe/laion_uc_hnatom [--data DIR] [--output DIR]

Source: arXiv:2602.23906, whose authors find that CLIP prefers the wrong, longer caption in 59 % of the pairs. They are
made from the hard negatives of a dataset with atoms, foils and embedded images, such as CREPE's: a negative such as "a
ball that is on a table" begins with an object that the image shows, so "a ball" is true, and the rest is the false
detail. What makes the negative false, and what proves it, is as in the source. A row has at most one half-truth, chosen
by a hash. Difference from the paper: no language model writes the captions. A rule that takes the shorter caption is
always right, so accuracy on such a set says nothing by itself: compare models, and each model with chance.

Writes ``<dataset>_half_truths/<config>``. The rows have the schema of the source.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import inflect
import pyarrow as pa

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.storage import parquet
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.folders import resolve_folder
from compeval.loaders.datasets.referenced_images import read_stored
from compeval.loaders.datasets.stats import measure

FOILS = ("object", "attribute", "relation")
START = r"(?:(?:an?|the|some) )?"
"""Article at the beginning of a caption."""
NEEDED = {"image", "crop_id", "caption", "hard_negatives", "foils", "atoms"}
ROWS_PER_BATCH = 100
ENGINE = inflect.engine()


class HalfTruth(NamedTuple):
    noun: str
    short: str
    """True."""
    long: str
    """``short`` and a false detail."""
    foil: Mapping[str, Any]


def shorten(negative: str, noun: str, foil: Mapping[str, Any]) -> str | None:
    """Return the noun phrase that a negative begins with, without the false attribute; None if it is not ``noun``."""
    if match := re.match(rf"{START}{re.escape(noun)}\b(?=.)", negative):
        return match[0]
    if foil["type"] == "attribute" and re.match(
        rf"{START}{re.escape(foil['to'])} {re.escape(noun)}\b", negative
    ):
        return ENGINE.a(noun)
    return None


def make_half_truth(row: Mapping[str, Any]) -> HalfTruth | None:
    """Return a half-truth of a row with hard negatives, or None if no negative begins with an object of the caption."""
    nouns = [atom["text"] for atom in row["atoms"] if atom["kind"] == "object"]
    half_truths = [
        HalfTruth(noun, short, negative, foils[0])
        for negative, foils in zip(row["hard_negatives"], row["foils"], strict=True)
        if len(foils) == 1 and foils[0]["type"] in FOILS
        for noun in nouns
        if noun != foils[0]["from"] and (short := shorten(negative, noun, foils[0]))
    ]
    return min(
        half_truths,
        default=None,
        key=lambda item: hashlib.sha256(f"{row['crop_id']} {item.long}".encode()).digest(),
    )


def make_rows(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a parquet file that have a half-truth, with its texts and its image.

    Several configs of a dataset may share image files; the rows of the result contain the bytes. Raises ValueError for
    another schema, or an image that is not here.
    """
    schema = parquet.read_schema(path)
    if not {*schema.names} >= NEEDED or "image_row" in schema.names:
        raise ValueError(
            f"{path}: half-truths need rows with their images and the columns {', '.join(sorted(NEEDED))}."
        )
    for batch in parquet.read_batches(path, ROWS_PER_BATCH):
        table = pa.Table.from_batches([batch])
        rows = table.drop_columns(["image"]).to_pylist()
        pairs = [
            (number, pair) for number, row in enumerate(rows) if (pair := make_half_truth(row))
        ]
        selected = table.take(pa.array([number for number, _ in pairs], pa.int64()))
        place = schema.get_field_index("image")
        images = [embed_image(cell, path.parent.parent) for cell in selected["image"].to_pylist()]
        selected = selected.set_column(
            place, schema.field(place), pa.array(images, schema.field(place).type)
        )
        for name, values in _make_columns(rows, pairs).items():
            if name in schema.names:
                place = schema.get_field_index(name)
                selected = selected.set_column(
                    place, schema.field(name), pa.array(values, schema.field(name).type)
                )
        yield selected


def embed_image(cell: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the cell of an image column with the bytes of its file, which a dataset folder may contain."""
    return {"bytes": read_stored(cell, folder), "path": Path(cell["path"] or "").name or None}


def _make_columns(
    rows: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[int, HalfTruth]]
) -> dict[str, list[Any]]:
    """Return the columns that differ from those of the source. The scene graph is that of the short caption."""
    graphs = [
        {
            "objects": [node | {"attributes": []} for node in objects if node["name"] == pair.noun][
                :1
            ],
            "relations": [],
        }
        for objects, pair in (
            ((rows[number].get("scene_graph") or {}).get("objects", ()), pair)
            for number, pair in pairs
        )
    ]
    return {
        "caption": [pair.short for _, pair in pairs],
        "hard_negatives": [[pair.long] for _, pair in pairs],
        "foils": [[[pair.foil]] for _, pair in pairs],
        "atoms": [[{"kind": "object", "text": pair.noun}] for _, pair in pairs],
        "compounds": [[] for _ in pairs],
        "scene_graph": graphs,
        "complexity": [1 for _ in pairs],
    }


def build(name: str, data_dir: Path | None, output: Path) -> Path:
    """Write the half-truths of a config (``dataset/config``) and the card; return the folder of the dataset.

    Raises ValueError if there is no such config, or if no row has a half-truth.
    """
    dataset, _, config = name.partition("/")
    source = resolve_folder(dataset, data_dir)
    folder = output / f"{dataset}_half_truths"
    files = sorted((source / config).glob("*.parquet")) if config else []
    if not files:
        raise ValueError(f"{name}: no such config in {source}. Name one as DATASET/CONFIG.")
    count = 0
    with atomic_folder(folder / config) as scratch:
        for path in files:
            with parquet.open_writer(scratch / path.name, parquet.read_schema(path)) as writer:
                for table in make_rows(path):
                    writer.write_table(table)
                    count += table.num_rows
        if not count:
            raise ValueError(f"{name}: no hard negative begins with an object of its caption.")
    text = f"# {folder.name}\n\n{(__doc__ or '').partition('Writes')[0].strip()}\n"
    write_card(folder, {"license": "other", "tags": ["compositionality"]}, text, measure(folder))
    return folder


def main(config: str, data: Path | None = None, output: Path = Path()) -> None:
    """Write the half-truths of CONFIG (DATASET/CONFIG), a dataset in the folder DATA, to the folder OUTPUT."""
    print(build(config, data, output))


if __name__ == "__main__":
    stage.run(main)
