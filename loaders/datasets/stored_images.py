"""Decode the stored images of a loaded dataset by the rules for untrusted data.

``datasets`` itself decodes more formats, and reads the paths and URLs in cells.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from datasets import Image

from compeval.base.files.untrusted import decode_image
from compeval.loaders.datasets.referenced_images import read_stored

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    Rows = TypeVar("Rows", Dataset, DatasetDict)


class StoredImage(Image):
    """The feature of a column of stored images in a dataset folder."""

    folder: Path

    def decode_example(self, value: Any, token_per_repo_id: Any = None) -> Any:
        return decode_image(read_stored(value, self.folder))


def decode_stored(rows: Rows, folder: Path) -> Rows:
    """Let the image columns of the rows be decoded as StoredImage."""
    features = next(iter(rows.values())).features if isinstance(rows, dict) else rows.features
    for name, feature in features.items():
        if isinstance(feature, Image):
            stored = StoredImage()
            stored.folder = folder
            rows = rows.cast_column(name, stored)
    return rows
