"""Find the images of published rows by name, and make dataset rows with these images."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from compeval.base.files.untrusted import SOURCES, find_file
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, crop_id, read_sha256, read_size, round_corners
from compeval.base.storage.image_ids import ImageIds
from compeval.loaders.published import ImageSet, Row
from compeval.loaders.published.schemas import arrange_captions, list_image_columns

CACHED_PATHS = 10_000
"""Rows of one image usually follow each other."""


class ImageFinder:
    """Finds images in a folder of the user, or else among the shared images of a data folder."""

    def __init__(self, output: Path, folder: Path | None = None) -> None:
        """Search ``folder`` if it is given, and ``sources/<set>/`` in the data folder ``output``."""
        if folder and not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such image folder.")
        self.output, self.folder = output, folder
        self.ids = ImageIds()
        """Ids of the images whose published rows state none."""
        self.find = lru_cache(CACHED_PATHS)(self._find)

    def _find(self, images: ImageSet, name: str) -> Path | None:
        """Return the path of an image, or None if it is missing."""
        if images.select is None:
            return next(filter(None, map(find_file, self._list_candidates(images, name))), None)
        folders = [
            folder / subfolder
            for folder in self._list_folders(images)
            for subfolder in ("", *images.folders)
        ]
        return next((path for folder in folders if (path := images.select(folder, name))), None)

    def _list_folders(self, images: ImageSet) -> list[Path]:
        shared = self.output / SOURCES / images.name
        return [*([self.folder] if self.folder else []), *([shared] if shared.is_dir() else [])]

    def _list_candidates(self, images: ImageSet, name: str) -> list[Path]:
        """Return all possible paths of an image, which are never outside the folders.

        These are the full name, the name without one or more leading folders, and the file name in each subfolder in
        which images of the source are usually stored.
        """
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        suffixes = [Path(*parts[start:]) for start in range(len(parts))]
        suffixes += [Path(folder, part) for folder in images.folders for part in parts[-1:]]
        return [folder / suffix for folder in self._list_folders(images) for suffix in suffixes]

    def check_distinct(self, images: ImageSet, names: Collection[str]) -> None:
        """Raise ValueError if two published names are one file, because their folders are missing here."""
        if images.select is not None:
            return
        name_of: dict[Path, str] = {}
        for name in names:
            path = self.find(images, name)
            if (
                path
                and name_of.setdefault(path, name) != name
                and not _is_same_name(name, name_of[path])
            ):
                raise ValueError(
                    f"{name_of[path]} and {name} are two images, but both are found as {path}. Keep their folders "
                    "below the image folder."
                )

    def require(self, images: ImageSet, names: Collection[str]) -> None:
        """Raise FileNotFoundError if images are missing. The message names the first and counts all."""
        missing = [name for name in names if self.find(images, name) is None]
        if missing:
            searched = dict.fromkeys(
                str(path.parent) for path in self._list_candidates(images, missing[0])
            )
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(searched) or self.output / SOURCES / images.name}; "
                f"{len(missing):,} of {len(names):,} images are missing. Name their folder with --images, or drop "
                f"their rows with --skip-missing. {images.download_instructions or ''}".rstrip()
            )


def _is_same_name(name: str, other: str) -> bool:
    """Return True if one name is the other without leading folders."""
    parts, other_parts = PurePosixPath(name).parts, PurePosixPath(other).parts
    shorter = min(len(parts), len(other_parts))
    return parts[-shorter:] == other_parts[-shorter:]


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


def make_dataset_row(
    row: Row,
    paths: Sequence[Path],
    schema: pa.Schema,
    provenance: Mapping[str, Any],
    images: ImageFinder,
) -> dict[str, Any]:
    """Make a row of ``schema`` that references whole images, or a crop of its only image.

    The paths of shared images in the finder's data folder are relative, so that the folder can be moved. Published
    files contain neither scene graphs nor foils, so these columns of HARD_NEGATIVE_SCHEMA are empty. A row that states
    no id gets that of its first image's content, which reads like the image's name.
    """
    output = images.output
    stored = [
        path.relative_to(output) if path.is_relative_to(output / SOURCES) else path.resolve()
        for path in paths
    ]
    boxes = [row.box or Box(0.0, 0.0, *map(float, read_size(path))) for path in paths]
    ids = [crop_id(path, box) for path, box in zip(paths, boxes, strict=True)]
    columns: dict[str, Any] = {
        "image_id": row.image_id
        or images.ids.find(read_sha256(paths[0]), PurePosixPath(row.images[0]).stem),
        "hard_negatives": list(row.hard_negatives),
        "categories": [{"by": by, "name": name} for by, name in row.categories],
        "provenance": dict(provenance),
        "atoms": [],
        "compounds": [],
        "scene_graph": {"objects": [], "relations": []},
        "complexity": row.complexity,
        "foils": [[] for _ in row.hard_negatives],
        "label": row.label,
        "rating": row.label,
    }
    columns |= arrange_captions(schema, row.captions)
    for column, path, crop in zip(list_image_columns(schema), stored, ids, strict=True):
        columns |= {
            column: {"bytes": None, "path": path.as_posix()},
            column.replace("image", "crop_id"): crop,
        }
    if "x" in schema.names:
        columns |= boxes[0]._asdict() | {"image": Crop(stored[0], boxes[0])}
    return {name: columns[name] for name in schema.names}
