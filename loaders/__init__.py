"""Dataset folders -> ``datasets.Dataset``.

    from loaders import load_dataset
    load_dataset("crepe", "laion_uc_hnatom")

is what ``datasets.load_dataset`` gives in the checkout's root, from any folder, after a check of the dataset folder
against its own ``stats.json``.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.schemas.rows import pixels_of
from generators.storage import parquet
from loaders.cards.card import describe
from loaders.pixels import with_images

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

CHECKOUT = Path(__file__).resolve().parent.parent


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """Where dataset folders are looked for: ``data_dir`` alone if given, else here, $COMPEVAL_DATA, the checkout."""
    if data_dir is not None:
        return [Path(data_dir)]
    named = os.environ.get("COMPEVAL_DATA")
    return [Path.cwd(), *([Path(named)] if named else []), *([CHECKOUT] if (CHECKOUT / "dvc.yaml").exists() else [])]


def list_datasets(data_dir: str | Path | None = None) -> dict[str, Path]:
    """Name -> folder of every dataset that is built: a folder with a ``stats.json`` beside its configs."""
    found: dict[str, Path] = {}
    for place in search_path(data_dir):
        for stats in sorted(place.glob("*/stats.json")):
            found.setdefault(stats.parent.name, stats.parent)
    return found


def unknown(what: str, name: str, known: Iterable[str], listing: str | None = None) -> ValueError:
    """The error for a wrong name: the nearest known ones, and the list or the command that prints it."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    rest = f"`{listing}` lists all {len(known)}." if listing else f"Known: {', '.join(known) or 'none'}."
    return ValueError(f"Unknown {what} {name!r}.{hint} {rest}")


def dataset_folder(name: str, data_dir: str | Path | None = None) -> Path:
    """The folder of a built dataset. ValueError if there is none of that name, with the names that there are."""
    known = list_datasets(data_dir)
    if not known:
        places = ", ".join(map(str, search_path(data_dir)))
        raise ValueError(
            f"No dataset was found in {places}. Build one with `dvc repro` in a checkout, or name the folder that "
            "holds the datasets (data_dir, --data or COMPEVAL_DATA)."
        )
    if name not in known:
        raise unknown("dataset", name, known)
    return known[name]


def named_folder(target: str, data_dir: str | Path | None = None) -> Path:
    """The dataset folder at a path, or else the one of that name. ValueError where there is neither."""
    return Path(target) if (Path(target) / "stats.json").is_file() else dataset_folder(target, data_dir)


def read_stats(folder: Path, config: str | None = None) -> dict[str, Any]:
    """The folder's stats.json, after a check that its parquet files, or those of one config, are as it says."""
    stats = json.loads((folder / "stats.json").read_text())
    told = {name: {key: entry[key] for key in ("rows", "bytes")} for name, entry in stats["files"].items()}
    found = describe(folder)
    if config is not None:
        told, found = (
            {name: files[name] for name in files if Path(name).parent.name == config} for files in (told, found)
        )
    if found != told:
        name = min(name for name in found.keys() | told.keys() if found.get(name) != told.get(name))

        def say(entry: dict[str, int] | None) -> str:
            return f"{entry['rows']:,} rows in {entry['bytes']:,} bytes" if entry else "no file"

        raise ValueError(
            f"{folder / name}: {say(found.get(name))} on disk, {say(told.get(name))} expected (stats.json).\n"
            f"The dataset folder is not the one that was built. Run `dvc repro` to build {folder.name} again."
        )
    return stats


def list_configs(name: str, data_dir: str | Path | None = None) -> dict[str, dict[str, int]]:
    """Config -> split -> number of rows of a dataset."""
    return read_stats(dataset_folder(name, data_dir))["rows"]


def load_dataset(
    name: str, config: str, split: str | None = None, data_dir: str | Path | None = None
) -> Dataset | DatasetDict:
    """One config of a dataset: all its splits, or the one named.

    Crops that the rows do not hold are cut from their source images when a row is read.

    ``data_dir`` is the folder that holds the dataset folders; by default the current one, then $COMPEVAL_DATA, then
    the checkout that this package is installed from. ``name`` may also be a dataset folder itself; "ORG/NAME" is one on
    the Hugging Face Hub. ValueError for an unknown name, or for a folder that is not what its stats.json says.
    """
    import datasets

    folder, part = _find(name, config, data_dir)
    configs = read_stats(folder, part)["rows"]
    if config not in configs:
        raise unknown(f"config of {name}", config, configs)
    if split is not None and split not in configs[config]:
        raise unknown(f"split of {name}/{config}", split, configs[config])
    rows: Any = datasets.load_dataset(str(folder), config, split=split)
    if pixels_of(parquet.read_schema(min((folder / config).glob("*.parquet")))) == "embedded":
        return rows
    return with_images(rows, folder)


def _find(name: str, config: str, data_dir: str | Path | None) -> tuple[Path, str | None]:
    """The folder of a dataset by its name, its path or its place on the Hub, in this order.

    Of one on the Hub only ``config`` is there, which comes back beside the folder.
    """
    if data_dir is None and name not in list_datasets():
        if (Path(name) / "stats.json").is_file():
            return Path(name), None
        if re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not Path(name).exists():
            from loaders.hub import fetch

            return fetch(name, config), config
    return dataset_folder(name, data_dir), None
