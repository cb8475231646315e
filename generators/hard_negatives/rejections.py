"""Hard negatives that annotators judged true of their image. The next build omits them.

``compeval annotate import`` writes them to ``sample/annotations/<dataset>/rejected.csv`` (crop_id, image_id, text); the
stages read ``data/annotations/...``. A rejected negative is replaced by the next one in the ranking. A caption with too
few negatives is omitted from the hard-negative sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from compeval.base.files import csv_tables
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import crop_id
from compeval.base.texts import normalize_text

FOLDER = Path("data/annotations/crepe")
FILE = "rejected.csv"


class Rejections(NamedTuple):
    """Rejected texts by crop id, and the ids of their images.

    Crop ids are expensive, so they are computed only for these images.
    """

    by_crop: Mapping[str, frozenset[str]] = {}
    images: frozenset[str] = frozenset()

    def texts(self, image: AnnotatedImage, box: Box) -> frozenset[str]:
        """Return the rejected texts of a crop of an image."""
        if image.image_id not in self.images:
            return frozenset()
        return self.by_crop.get(crop_id(image.path, box), frozenset())

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Rejections:
        """Read ``FILE`` in a folder if it exists. Raises ValueError if the file lacks a column."""
        path = folder / FILE
        if not path.is_file():
            return cls()
        rows = csv_tables.read(path)
        by_crop: dict[str, set[str]] = {}
        try:
            for row in rows:
                by_crop.setdefault(row["crop_id"], set()).add(normalize_text(row["text"]))
            images = frozenset(row["image_id"] for row in rows)
        except KeyError as error:
            raise ValueError(
                f"{path}: no column {error}. `compeval annotate import` writes this file again."
            ) from None
        return cls({crop: frozenset(texts) for crop, texts in by_crop.items()}, images)
