"""Find the images of published rows by name, and make dataset rows with these images."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from generators.files.untrusted import SOURCES, allow_images, is_file
from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop_id, read_size, round_corners
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row
from loaders.published.schemas import arrange_captions, list_image_columns

CACHED_PATHS = 10_000
"""Rows of one image usually follow each other."""


class ImageFolder:
    """The images in a folder and its subfolders."""

    def __init__(
        self, folder: Path, subfolders: Sequence[str], select: Callable[[Path, str], Path | None] | None = None
    ) -> None:
        """Search ``folder``, and the ``subfolders`` in which the images of the source are usually stored."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such image folder.")
        self.folder, self.subfolders, self.select = folder, subfolders, select
        self._find = lru_cache(CACHED_PATHS)(self._search)

    def find(self, name: str) -> Path | None:
        """Return the path of an image, or None if it is missing."""
        return self._find(name)

    def _search(self, name: str) -> Path | None:
        return self._select(name) if self.select else next(filter(is_file, self.candidates(name)), None)

    def _select(self, name: str) -> Path | None:
        assert self.select is not None
        folders = (self.folder, *(self.folder / subfolder for subfolder in self.subfolders))
        return next((path for folder in folders if (path := self.select(folder, name))), None)

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


class ImageFinder:
    """Finds images in a folder of the user, or else among the shared images of a data folder."""

    def __init__(self, output: Path, folder: Path | None = None) -> None:
        """Search ``folder`` if it is given, and ``sources/<set>/`` in the data folder ``output``."""
        self.output, self.folder = output, folder
        self._folders: dict[tuple[str, tuple[str, ...]], list[ImageFolder]] = {}

    def find(self, images: ImageSet, name: str) -> Path | None:
        """Return the path of an image, or None if it is missing."""
        return next((path for folder in self._list_folders(images) if (path := folder.find(name))), None)

    def require(self, images: ImageSet, names: Collection[str]) -> None:
        """Raise FileNotFoundError if images are missing. The message names the first and counts all."""
        missing = [name for name in names if self.find(images, name) is None]
        if missing:
            folders = self._list_folders(images)
            searched = dict.fromkeys(str(path.parent) for folder in folders for path in folder.candidates(missing[0]))
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(searched) or self.output / SOURCES / images.name}; "
                f"{len(missing):,} of {len(names):,} images are missing. Name their folder with --images, or drop "
                "their rows with --skip-missing."
            )

    def _list_folders(self, images: ImageSet) -> list[ImageFolder]:
        key = (images.name, images.folders)
        if key not in self._folders:
            shared = self.output / SOURCES / images.name
            folders = [*([self.folder] if self.folder else []), *([shared] if shared.is_dir() else [])]
            self._folders[key] = [ImageFolder(folder, images.folders, images.select) for folder in folders]
        return self._folders[key]


def measure_outside(box: Box, path: Path) -> float:
    """Return the share of a box that is outside its image; 0 if it exceeds the image by at most a pixel.

    Returns 1 for a box that is too large to be cut, and 0 for an unreadable image, which is reported when it is
    evaluated.
    """
    try:
        width, height = read_size(path)
    except ValueError:
        return 0.0
    left, top, right, bottom = round_corners(box)
    if left >= -1 and top >= -1 and right <= width + 1 and bottom <= height + 1:
        return 0.0
    if right - left > 2 * width or bottom - top > 2 * height:
        return 1.0
    inside = max(0, min(right, width) - max(left, 0)) * max(0, min(bottom, height) - max(top, 0))
    return 1 - inside / ((right - left) * (bottom - top))


def allow_folder(image_folder: Path, output: Path) -> None:
    """Allow the datasets in ``output`` to reference images in ``image_folder``."""
    allow_images(output, [image_folder.resolve()])


def make_dataset_row(
    row: Row, paths: Sequence[Path], schema: pa.Schema, provenance: Mapping[str, Any], output: Path
) -> dict[str, Any]:
    """Make a row of ``schema`` that references whole images, or a crop of its only image.

    The paths of shared images in the data folder ``output`` are relative, so that the folder can be moved. Published
    files contain neither scene graphs nor foils, so these columns of HARD_NEGATIVE_SCHEMA are empty.
    """
    stored = [path.relative_to(output) if path.is_relative_to(output / SOURCES) else path.resolve() for path in paths]
    boxes = [row.box or Box(0.0, 0.0, *map(float, read_size(path))) for path in paths]
    ids = [crop_id(path, box) for path, box in zip(paths, boxes, strict=True)]
    columns: dict[str, Any] = {
        "image_id": row.image_id or PurePosixPath(row.images[0]).stem,
        "hard_negatives": list(row.hard_negatives),
        "categories": [{"by": by, "name": name} for by, name in row.categories],
        "provenance": dict(provenance),
        "atoms": [],
        "compounds": [],
        "scene_graph": {"objects": [], "relations": []},
        "complexity": row.complexity,
        "foils": [[] for _ in row.hard_negatives],
        "label": row.label,
    }
    columns |= arrange_captions(schema, row.captions)
    columns |= dict(
        zip([column.replace("image", "crop_id") for column in list_image_columns(schema)], ids, strict=True)
    )
    if "x" in schema.names:
        columns |= boxes[0]._asdict() | {"image": Crop(stored[0], boxes[0])}
    else:
        cells = [{"bytes": None, "path": path.as_posix()} for path in stored]
        columns |= dict(zip(list_image_columns(schema), cells, strict=True))
    return {name: columns[name] for name in schema.names}
