"""Load a dataset by name, from any folder or from the Hugging Face Hub.

    compeval.load_dataset("crepe", "laion_uc_hnatom")
    compeval.load_dataset("pairs.csv", image_column="file_name", caption_column="text")

This checks the folder against its ``stats.json`` and then returns the same rows as ``datasets.load_dataset``, with
images decoded by the rules for untrusted data. Rows that only reference their image get a column ``image`` as well, and
rows that share the image of another row show it.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compeval.base.schemas.rows import get_image_storage
from compeval.base.storage import parquet
from compeval.loaders.datasets.folders import dataset_folder, list_datasets, unknown_name
from compeval.loaders.datasets.image_sources import find_image_columns
from compeval.loaders.datasets.referenced_images import add_images, find_first_split, share_images
from compeval.loaders.datasets.revisions import find_revision, split_revision
from compeval.loaders.datasets.split_names import to_stored
from compeval.loaders.datasets.stats import list_rows, read_stats, split_name
from compeval.loaders.datasets.verified import verify_files, verify_images

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


def load_dataset(
    name: str,
    config: str | None = None,
    split: str | None = None,
    data_dir: str | Path | None = None,
    revision: str | None = None,
    **columns: Any,
) -> Dataset | DatasetDict:
    """Load one config of a dataset: all its splits, or only ``split``.

    If the rows do not contain their crops, a crop is cut from its source image when the row is read.

    ``split`` may be a variant: ``test@shuffle_trigrams-s0``. A damaged split only blocks itself.

    ``name`` is the name of a dataset, the path of a dataset folder, or "ORG/NAME" on the Hugging Face Hub. Names are
    searched in ``data_dir``; by default in the current folder, then in the folder of downloads ($COMPEVAL_DATA or
    ~/.cache/compeval/datasets), then in the checkout that this package is installed from. ``revision`` (or
    NAME@REVISION) is a commit, branch or tag of the Hub repository or of the checkout that contains the dataset, or the
    dataset's version. Raises ValueError if a name or revision is unknown or the folder differs from its stats.json.

    ``name`` may also be a table of your own images and captions (csv, tsv, jsonl, json) or a webdataset shard.
    ``columns`` are then ``image_column``, ``caption_column``, ``negative_columns`` (a name or a list) and
    ``kind_column``, as of ``compeval make``, and ``data_dir`` is the folder of the images, by default that of the
    table. Raises TypeError if ``columns`` are given with a config, or a split or revision with a table.
    """
    if config is None:
        from compeval.loaders.own_data.table import load_table

        return load_table(name, data_dir, columns, {"split": split, "revision": revision})
    if columns:
        raise TypeError(f"load_dataset: {', '.join(columns)} cannot be combined with a config.")
    name, revision = split_revision(name, revision)
    folder = _find(name, config, data_dir, revision)
    split = None if split is None else to_stored(split)
    configs = list_rows(folder)
    if config not in configs:
        raise unknown_name(f"config of {name}", config, configs)
    if split is not None and split not in configs[config]:
        raise unknown_name(f"split of {name}/{config}", split, configs[config])
    return _read_rows(folder, config, split)


def _list_verified_files(folder: Path, config: str, split: str | None) -> dict[str, list[str]]:
    """Return the parquet files of a config by split. Raises ValueError if those of ``split``, by default of all splits,
    or the images of the dataset differ from stats.json."""
    stats = read_stats(folder, config, split)
    files: dict[str, list[str]] = {}
    for path in map(Path, stats["files"]):
        if path.parent.name == config:
            files.setdefault(split_name(path), []).append(str(folder / path))
    used = [path for name, paths in files.items() if split in (None, name) for path in paths]
    verify_files(folder, stats, [str(Path(path).relative_to(folder)) for path in used])
    verify_images(folder, stats)
    return files


def _read_rows(folder: Path, config: str, split: str | None) -> Dataset | DatasetDict:
    """Return the rows of a config, or of its stored split ``split``, with their images."""
    import datasets

    from compeval.loaders.datasets.stored_images import decode_stored

    files = _list_verified_files(folder, config, split)
    read: Any = partial(datasets.load_dataset, "parquet")
    loaded = (
        read(data_files=files)
        if split is None
        else read(data_files={split: files[split]}, split=split)
    )
    rows = decode_stored(loaded, folder)
    schema = parquet.read_schema(min((folder / config).glob("*.parquet")))
    if get_image_storage(schema) == "by_reference":
        return add_images(rows, folder)
    if "image_row" in schema.names and (names := find_image_columns(schema)):
        first = find_first_split(folder / config)
        images = rows if split == first else read(data_files={first: files[first]}, split=first)
        return share_images(rows, decode_stored(images, folder), names)
    return rows


def _find(name: str, config: str, data_dir: str | Path | None, revision: str | None) -> Path:
    """Find a dataset by name, path or Hub repository, in this order, and return its folder."""
    if data_dir is None and name not in list_datasets():
        if (Path(name) / "stats.json").is_file():
            data_dir = Path(name).parent
            name = Path(name).name
        elif re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not Path(name).exists():
            return download(name, config, revision)
    return (
        dataset_folder(name, data_dir)
        if revision is None
        else find_revision(name, revision, data_dir)
    )


def download(repository: str, config: str, revision: str | None = None) -> Path:
    """Download the card, the statistics and one config of a dataset on the Hub, and return the local folder.

    $HF_ENDPOINT selects another server. Raises ValueError if the repository or revision does not exist, or if the
    repository was not written by ``compeval push``.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        folder = snapshot_download(
            repository,
            repo_type="dataset",
            revision=revision,
            allow_patterns=["README.md", "stats.json", f"{config}/*.parquet"],
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except RevisionNotFoundError:
        raise ValueError(
            f"{repository} has no revision {revision!r} on the Hub. The page of the repository lists its commits, "
            "branches and tags."
        ) from None
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        raise ValueError(
            f"{repository}: cannot be downloaded from the Hub ({str(error).strip()})."
        ) from None
    if not (Path(folder) / "stats.json").is_file():
        raise ValueError(
            f"{repository}: no stats.json in the repository, so it is not a CompEval dataset."
        )
    return Path(folder)
