"""Load the rows of your own table, which ``compeval make`` would turn into a dataset."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compeval.loaders.own_data.columns import UserColumns
from compeval.loaders.own_data.entries import (
    FILE_SUFFIXES,
    check_is_table,
    read_entries,
    read_upright,
)

if TYPE_CHECKING:
    from datasets import Dataset


def load_table(
    file: str,
    image_folder: str | Path | None,
    columns: Mapping[str, Any],
    others: Mapping[str, str | None],
) -> Dataset:
    """Return the rows of a table: ``image``, ``image_id``, ``captions``, ``hard_negatives`` and ``kind``.

    The images are those that ``compeval make`` stores: upright, with 8 bits, on white.

    Raises TypeError if one of the arguments ``others`` of datasets is given.
    """
    from datasets import Dataset, Image

    path = Path(file)
    if not path.name.endswith(FILE_SUFFIXES):
        raise ValueError(
            f"load_dataset({file!r}) needs a config: `compeval list configs` prints those of all datasets."
        )
    if unused := [name for name, value in others.items() if value is not None]:
        raise TypeError(f"load_dataset({file!r}): a table has no {' and no '.join(unused)}.")
    user_columns = _name_columns(columns)
    check_is_table([path], image_folder, user_columns)
    with tempfile.TemporaryDirectory() as scratch:
        rows = [
            {
                "image": {"bytes": read_upright(entry.image)[0], "path": entry.image.name},
                "image_id": entry.image_id,
                "captions": list(entry.captions),
                "hard_negatives": list(entry.hard_negatives),
                "kind": entry.kind,
            }
            for entry in read_entries(
                path, Path(image_folder or path.parent), Path(scratch), user_columns
            )
        ]
    return Dataset.from_list(rows).cast_column("image", Image())


def _name_columns(columns: Mapping[str, Any]) -> UserColumns:
    """Return the names of a table's columns, given the arguments of load_dataset. Raises ValueError for others."""
    names = {name: f"{name}_column" for name in UserColumns._fields} | {
        "negatives": "negative_columns"
    }
    if unknown := columns.keys() - set(names.values()):
        raise ValueError(
            f"load_dataset: unknown {', '.join(sorted(unknown))}; known: {', '.join(names.values())}."
        )
    chosen = {name: columns[key] for name, key in names.items() if key in columns}
    if "negatives" in chosen:
        negatives = chosen["negatives"]
        chosen["negatives"] = (negatives,) if isinstance(negatives, str) else tuple(negatives)
    return UserColumns(**chosen)
