"""Images of published rows: located by their names in the source, and the dataset rows made with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop_id, read_size
from generators.storage.untrusted import allow_images
from loaders.benchmarks.rows import Row


class ImageFolder:
    """The images below a folder."""

    def __init__(self, folder: Path, subfolders: Sequence[str]) -> None:
        """``subfolders`` are the usual locations of the source's images below ``folder``."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such folder of images.")
        self.folder, self.subfolders = folder, subfolders
        self._paths: dict[str, Path | None] = {}

    def find(self, name: str) -> Path | None:
        """The path of an image; None if it is missing."""
        if name not in self._paths:
            self._paths[name] = next((path for path in self.candidates(name) if path.is_file()), None)
        return self._paths[name]

    def candidates(self, name: str) -> list[Path]:
        """Possible paths of an image: its full name or any end of it, or in a subfolder; never outside ``folder``."""
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        suffixes = [Path(*parts[start:]) for start in range(len(parts))]
        return [
            self.folder / suffix
            for suffix in (*suffixes, *(Path(folder, part) for folder in self.subfolders for part in parts[-1:]))
        ]

    def require(self, rows: Iterable[Row]) -> None:
        """FileNotFoundError that names the first missing image and counts the missing ones."""
        names = dict.fromkeys(row.image for row in rows)
        missing = [name for name in names if self.find(name) is None]
        if missing:
            searched = dict.fromkeys(str(path.parent) for path in self.candidates(missing[0]))
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(searched)}; {len(missing):,} of {len(names):,} images "
                "are missing. Name their folder with --images, or drop their rows with --skip-missing."
            )


def allow_folder(images: Path, output: Path) -> None:
    """Let the datasets in ``output`` reference the images below a folder."""
    allow_images(output, [images.resolve()])


def dataset_row(row: Row, path: Path, schema: pa.Schema, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``schema``; a whole image keeps the bytes of its file, a crop is not cut yet.

    Published files contain neither scene graphs nor foils, so in HARD_NEGATIVE_SCHEMA these columns are empty.
    """
    box = row.box or Box(0.0, 0.0, *map(float, read_size(path)))
    columns: dict[str, Any] = {
        "image": Crop(path.resolve(), box) if row.box else {"bytes": path.read_bytes(), "path": None},
        "crop_id": crop_id(path, box),
        "image_id": row.image_id,
        **box._asdict(),
        "caption": row.caption,
        "hard_negatives": list(row.hard_negatives),
        "provenance": dict(provenance),
    }
    if schema is HARD_NEGATIVE_SCHEMA:
        empty = {"atoms": [], "compounds": [], "scene_graph": {"objects": [], "relations": []}}
        return columns | empty | {"complexity": row.complexity, "foils": [[] for _ in row.hard_negatives]}
    return columns | {"categories": [{"by": by, "name": name} for by, name in row.categories]}
