"""Write dataset folders atomically, as parquet files that ``datasets.load_dataset`` can read.

A folder ``<dataset>/<config>/`` contains ``<split>-00000-of-00001.parquet`` and so on. The Arrow schema contains the
``datasets`` features, so ``datasets`` decodes the images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from compeval.base.files.atomic import atomic_folder
from compeval.base.files.untrusted import allow_images
from compeval.base.pipeline.params import read_params
from compeval.base.schemas.rows import ImageStorage, add_datasets_features, use_image_paths
from compeval.base.schemas.scene_graph import Box, SceneGraph
from compeval.base.storage.crops import Crop, CropFiles, crop_id, encode_crop
from compeval.base.storage.parquet import count_rows, open_writer

PARTS = Path("parts")
"""Folder next to the dataset folders: sets of datasets that several stages write, ``parts/<dataset>/<config>``."""
ROWS_PER_GROUP = 100
"""Rows are read in groups, which should not contain too many images."""
BYTES_PER_FILE = 500_000_000
EXTENSIONS = {b"\xff\xd8": ".jpg", b"\x89PNG": ".png", b"RIFF": ".webp", b"GIF8": ".gif"}
"""File name extensions by the first bytes of an image file."""


def make_file_id(data: bytes) -> str:
    """Return the ``crop_id`` of an uncropped image: 16 hex digits of the SHA-256 of its file."""
    return hashlib.sha256(data).hexdigest()[:16]


def make_group_cells(images: Iterable[bytes], captions: Iterable[str]) -> dict[str, Any]:
    """Return the image, id and caption columns of a GROUP_SCHEMA row; ``images`` are the bytes of two image files."""
    cells: dict[str, Any] = {}
    for index, (data, caption) in enumerate(zip(images, captions, strict=True)):
        cells[f"image_{index}"] = {"bytes": data, "path": None}
        cells[f"crop_id_{index}"] = make_file_id(data)
        cells[f"caption_{index}"] = caption
    return cells


def read_image_storage() -> ImageStorage:
    """Return the key ``pixels`` of params.yaml, which says how images are stored in dataset rows.

    The default is ``embedded`` for the micro-world and ``by_reference`` for any other source. Raises ValueError if the
    value is unknown.
    """
    setting = read_params("pixels")
    if setting is None:
        return "embedded" if read_params("source") == "microworld" else "by_reference"
    if setting not in get_args(ImageStorage):
        raise ValueError(
            f"params.yaml, pixels: {setting!r}, expected {', '.join(get_args(ImageStorage))} or null."
        )
    return setting


def write_split(
    folder: Path,
    split: str,
    rows: Iterable[Mapping[str, Any]],
    schema: pa.Schema,
    image_storage: ImageStorage = "embedded",
    crop_files: CropFiles | None = None,
) -> int:
    """Write one split's parquet files in constant memory and return the number of rows.

    If a row's ``image`` is a Crop, ``image_storage`` says whether its pixels or the path of its image are stored. The
    pixels are stored in the row, or in ``crop_files`` if several configs show the same crops. Raises ValueError if the
    columns of a row differ from the schema's columns.
    """
    schema = add_datasets_features(
        use_image_paths(schema) if image_storage == "by_reference" else schema
    )
    files: list[Path] = []
    count = 0
    stream = (store_image(row, image_storage, crop_files) for row in rows)
    group = list(islice(stream, ROWS_PER_GROUP))
    while group or not files:
        files.append(folder / f"{split}.{len(files)}.partial")
        with open_writer(files[-1], schema) as writer:
            while group:
                for number, row in enumerate(group, count):
                    if columns := sorted(row.keys() ^ set(schema.names)):
                        raise ValueError(
                            f"{folder.name}/{split}, row {number}: missing or unknown columns {columns}."
                        )
                writer.write_table(pa.Table.from_pylist(group, schema))
                count += len(group)
                group = list(islice(stream, ROWS_PER_GROUP))
                if files[-1].stat().st_size > BYTES_PER_FILE:
                    break
    for index, path in enumerate(files):
        path.rename(folder / f"{split}-{index:05d}-of-{len(files):05d}.parquet")
    return count


def store_image(
    row: Mapping[str, Any], image_storage: ImageStorage, crop_files: CropFiles | None
) -> Mapping[str, Any]:
    """Return the row with its crop as JPEG, as the path of a JPEG, or as the path of the crop's source image.

    The image files in a row are named after the columns ``crop_id``.
    """
    image = row.get("image")
    if not isinstance(image, Crop):
        ids = [name for name in row if name.startswith("crop_id")]
        return {
            **row,
            **{
                column: _name_file(row[column], row[name])
                for name in ids
                if (column := f"image{name[7:]}") in row
            },
        }
    if image_storage == "embedded" and crop_files is not None:
        return {**row, "image": {"bytes": None, "path": crop_files.add(image, row["crop_id"])}}
    if image_storage == "embedded":
        return {
            **row,
            "image": _name_file({"bytes": encode_crop(*image), "path": None}, row["crop_id"]),
        }
    other_cells = {name: value for name, value in row.items() if name != "image"}
    return {**other_cells, "image_path": image.path.as_posix()}


def _name_file(cell: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    """Return the cell of an image column, with a file name if it contains a file."""
    if cell is None or cell["bytes"] is None:
        return cell
    extension = next(
        (extension for start, extension in EXTENSIONS.items() if cell["bytes"].startswith(start)),
        "",
    )
    return {**cell, "path": name + extension}


def write_config(
    root: Path,
    config: str,
    splits: Mapping[str, Iterable[Mapping[str, Any]]],
    schema: pa.Schema,
    image_storage: ImageStorage = "embedded",
    crop_files: CropFiles | None = None,
) -> dict[str, int]:
    """Replace the folder ``root/config/`` with the given splits; return the number of rows of each split."""
    image_folders: set[Path] = set()
    with atomic_folder(root / config) as folder:
        counts = {
            split: write_split(
                folder, split, _note_folders(rows, image_folders), schema, image_storage, crop_files
            )
            for split, rows in splits.items()
        }
        remove_empty_splits(folder)
    if image_storage == "by_reference":
        allow_images(root.parent, image_folders)
    return counts


def remove_empty_splits(folder: Path) -> None:
    """Remove the files without rows from a config's folder, since ``datasets`` loads no config with one among others.

    If no file has rows, they stay. Raises ValueError if a file is damaged.
    """
    rows = {path: count_rows(path) for path in folder.glob("*.parquet")}
    for path in rows:
        if not rows[path] and any(rows.values()):
            path.unlink()


def _note_folders(
    rows: Iterable[Mapping[str, Any]], folders: set[Path]
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; add the folders of their source images to ``folders``."""
    for row in rows:
        if isinstance(row.get("image"), Crop):
            folders.add(row["image"].path.parent)
        yield row


def make_raw_row(
    path: Path,
    image_id: str,
    box: Box,
    caption: str,
    graph: SceneGraph,
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a row of RAW_SCHEMA for a crop of the image at ``path``."""
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
