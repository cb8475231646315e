"""Find the images of published rows by name, and make dataset rows with these images."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop_id, read_size
from generators.storage.untrusted import allow_images, is_file
from loaders.benchmarks.rows import Row


class ImageFolder:
    """The images in a folder and its subfolders."""

    def __init__(self, folder: Path, subfolders: Sequence[str]) -> None:
        """Search ``folder``, and the ``subfolders`` in which the images of the source are usually stored."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such image folder.")
        self.folder, self.subfolders = folder, subfolders
        self._paths: dict[str, Path | None] = {}

    def find(self, name: str) -> Path | None:
        """Return the path of an image, or None if it is missing."""
        if name not in self._paths:
            self._paths[name] = next(filter(is_file, self.candidates(name)), None)
        return self._paths[name]

    def candidates(self, name: str) -> list[Path]:
        """Return all possible paths of an image, which are never outside ``folder``.

        These are the full name, the name without one or more leading folders, and the file name in each subfolder.
        """
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        suffixes = [Path(*parts[start:]) for start in range(len(parts))]
        return [
            self.folder / suffix
            for suffix in (*suffixes, *(Path(folder, part) for folder in self.subfolders for part in parts[-1:]))
        ]

    def require(self, names: Collection[str]) -> None:
        """Raise FileNotFoundError if images are missing. The message names the first and counts all."""
        missing = [name for name in names if self.find(name) is None]
        if missing:
            searched = dict.fromkeys(str(path.parent) for path in self.candidates(missing[0]))
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(searched)}; {len(missing):,} of {len(names):,} images "
                "are missing. Name their folder with --images, or drop their rows with --skip-missing."
            )


def allow_folder(image_folder: Path, output: Path) -> None:
    """Allow the datasets in ``output`` to reference images in ``image_folder``."""
    allow_images(output, [image_folder.resolve()])


def make_dataset_row(row: Row, path: Path, schema: pa.Schema, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Make a row of ``schema`` that references the whole image, or a crop of it.

    Published files contain neither scene graphs nor foils, so these columns of HARD_NEGATIVE_SCHEMA are empty.
    """
    box = row.box or Box(0.0, 0.0, *map(float, read_size(path)))
    columns: dict[str, Any] = {
        "image": Crop(path.resolve(), box),
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
