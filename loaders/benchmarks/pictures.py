"""The images of published rows: found by the names that the source gives them, cut out by the rows' boxes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
from PIL import Image

from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import Crop, crop_id
from loaders.benchmarks.rows import Row


class Pictures:
    """The images of one folder."""

    def __init__(self, folder: Path, below: Sequence[str]) -> None:
        """``below`` are the folders in it where a source's images usually lie."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such folder of images.")
        self.folder, self.below = folder, below

    @cached_property
    def _found(self) -> dict[str, Path | None]:
        return {}

    def find(self, name: str) -> Path | None:
        """Where an image lies; None if it is not there."""
        if name not in self._found:
            self._found[name] = next((path for path in self.candidates(name) if path.is_file()), None)
        return self._found[name]

    def candidates(self, name: str) -> list[Path]:
        """Where an image may lie: under its whole name or an end of it, or in a usual folder; never outside of ours."""
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        ends = [Path(*parts[start:]) for start in range(len(parts))]
        return [
            self.folder / end for end in (*ends, *(Path(below, last) for below in self.below for last in parts[-1:]))
        ]

    def require(self, rows: Iterable[Row]) -> None:
        """FileNotFoundError that names the first image that is not there, and says how many are not."""
        names = dict.fromkeys(row.image for row in rows)
        missing = [name for name in names if self.find(name) is None]
        if missing:
            places = dict.fromkeys(str(path.parent) for path in self.candidates(missing[0]))
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(places)}; {len(missing):,} of {len(names):,} images are "
                "missing. Name the folder that holds them with --images, or leave their rows out with --skip-missing."
            )


def dataset_row(row: Row, path: Path, schema: pa.Schema, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``schema``; a whole image keeps its file's bytes, a crop is not cut out yet.

    A published file says neither what its captions are made of nor what was changed in a negative: with
    HARD_NEGATIVE_SCHEMA atoms, compounds, graph and foils are empty.
    """
    box = row.box or _whole(path)
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
        unknown = {"atoms": [], "compounds": [], "scene_graph": {"objects": [], "relations": []}}
        return columns | unknown | {"complexity": row.complexity, "foils": [[] for _ in row.hard_negatives]}
    return columns | {"categories": [{"by": by, "name": name} for by, name in row.categories]}


def _whole(path: Path) -> Box:
    with Image.open(path) as image:
        return Box(0.0, 0.0, float(image.width), float(image.height))
