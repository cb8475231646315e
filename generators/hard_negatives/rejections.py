"""Hard negatives that people found to be true of their picture: the next build leaves them out.

``compeval annotate import`` writes them to ``sample/annotations/<dataset>/rejected.csv`` (crop_id, image_id, text),
which the stages read as ``data/annotations/...``. A rejected negative is replaced by the next-ranked one; where there
is none, the caption has too few and its row leaves the set of hard negatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box
from generators.storage import csv_tables
from generators.storage.crops import crop_id

FOLDER = Path("data/annotations/crepe")
FILE = "rejected.csv"


class Rejections(NamedTuple):
    by_crop: Mapping[str, frozenset[str]] = {}
    images: frozenset[str] = frozenset()
    """The ids of images with a rejected text, so that no other image is opened to learn its crops' ids."""

    def texts(self, image: AnnotatedImage, box: Box) -> frozenset[str]:
        """The rejected texts of a crop of an image."""
        if image.image_id not in self.images:
            return frozenset()
        return self.by_crop.get(crop_id(image.path, box), frozenset())

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Rejections:
        """What ``folder`` holds; nothing where it has no such file. ValueError if the file is another one."""
        path = folder / FILE
        if not path.is_file():
            return cls()
        rows = csv_tables.read(path)
        by_crop: dict[str, set[str]] = {}
        try:
            for row in rows:
                by_crop.setdefault(row["crop_id"], set()).add(row["text"])
            return cls(
                {crop: frozenset(texts) for crop, texts in by_crop.items()}, frozenset(r["image_id"] for r in rows)
            )
        except KeyError as error:
            raise ValueError(f"{path}: no column {error}. `compeval annotate import` writes this file.") from None


NONE_REJECTED = Rejections()
