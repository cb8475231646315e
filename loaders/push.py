"""Upload dataset folders to the Hugging Face Hub: the folder with its card is the repository.

    compeval push crepe ORG/microworld-crepe
    compeval.load_dataset("ORG/microworld-crepe", "prod_hnatom")

``eval.yaml`` is added, which declares the dataset as a benchmark (https://huggingface.co/docs/hub/eval-results).
A config's images are uploaded if the licences of all of them permit redistribution. If they are not in the rows, but in
files of the dataset folder or elsewhere, they are added to the rows that are uploaded. Otherwise the image columns are
removed, but image_id and box stay, and the card names the sources of the images. $HF_ENDPOINT selects another server.
"""

import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from compeval.base.schemas.rows import add_datasets_features, get_image_storage, use_stored_images
from compeval.base.storage import parquet
from compeval.base.storage.dataset import ROWS_PER_GROUP
from compeval.loaders.cards.card import PIXELS_HEADING, describe_licence, render, write_card
from compeval.loaders.datasets.image_sources import find_image_columns, list_image_sources
from compeval.loaders.datasets.referenced_images import encode_row, read_stored
from compeval.loaders.datasets.split_names import name_of_stored
from compeval.loaders.datasets.stats import measure, parquet_files, read_stats
from compeval.loaders.hub import check_repository, explain_errors

REDISTRIBUTABLE = ("microworld", "visual_genome", "compun")
"""Sources whose licence permits redistribution (CC0, CC BY, CC BY-NC).

The licences of the images of COCO, Flickr30k and Winoground do not. Images of an unknown source are not uploaded."""
EVAL = "eval.yaml"
FRAMEWORK = "compeval"
DESCRIPTION = "Compositionality of vision-language models, evaluated with CompEval."
PAGES = ("README.md", "croissant.json")
FILES = (*PAGES, "stats.json", "*/*.parquet")


def push(folder: Path, repository: str, *, private: bool = False) -> str:
    """Upload a dataset folder to ``ORG/NAME``, replacing its previous version. Returns the URL of the commit.

    Raises ValueError if the name of a micro-world dataset does not contain "microworld", or if the Hub rejects the
    upload.
    """
    from huggingface_hub import HfApi

    check_repository(repository, f"ORG/microworld-{folder.name}")
    read_stats(folder)
    for name in PAGES:
        if (folder / name).is_symlink():
            raise ValueError(
                f"{folder / name} is a link. Replace it with the file, or run `dvc unprotect {folder / name}`."
            )
    sources = list_image_sources(folder)
    if (
        any("microworld" in names for names in sources.values())
        and "microworld" not in repository.lower()
    ):
        raise ValueError(
            f"{repository}: {folder.name} is generated from the micro-world, a synthetic replacement for real "
            "images, and its name must contain microworld, for example "
            f"{repository.rpartition('/')[0] or 'ORG'}/microworld-{folder.name}."
        )
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    with explain_errors(repository, api.endpoint), prepare_upload(folder, sources) as upload:
        version = json.loads((upload / "stats.json").read_text(encoding="utf-8"))["version"]
        api.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
        api.upload_file(
            path_or_fileobj=make_eval(upload),
            path_in_repo=EVAL,
            repo_id=repository,
            repo_type="dataset",
        )
        commit = api.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=upload,
            allow_patterns=list(FILES),
            delete_patterns=[*FILES, "TEXT_ONLY.md"],
            commit_message=f"{folder.name}, dataset version {version}",
        )
    return commit.commit_url


def make_eval(folder: Path) -> bytes:
    """Return the content of eval.yaml, which declares a dataset with its tasks as a benchmark.

    The ids of the tasks are those of ``.eval_results`` (evaluators/results/hub.py). The Hub shows a leaderboard if it
    knows the framework: https://github.com/huggingface/huggingface.js/blob/main/packages/tasks/src/eval.ts.
    """
    stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    _, front_matter, _ = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    tasks = [
        {"id": name_of_stored("", config, split).lstrip("/"), "config": config, "split": split}
        for config, splits in stats["rows"].items()
        for split in splits
    ]
    name = yaml.safe_load(front_matter).get("pretty_name", folder.name)
    content = {
        "name": name,
        "description": DESCRIPTION,
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode()


@contextmanager
def prepare_upload(folder: Path, sources: Mapping[str, Sequence[str]]) -> Iterator[Path]:
    """Yield the folder to upload. ``sources`` are the sources of each config's images.

    It is the dataset folder itself if all images may be redistributed and the rows contain them. Otherwise it is a
    temporary copy, in which the rows contain their images. A config with images that must not
    be redistributed has no image columns, and the card says so.
    """
    refused = [
        config for config, names in sources.items() if not set(names) <= set(REDISTRIBUTABLE)
    ]
    if not refused and not any(map(_lacks_pixels, parquet_files(folder))):
        yield folder
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        stored: defaultdict[str, set[int]] = defaultdict(set)
        for path in parquet_files(folder):
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.parent.name in refused:
                _copy_without_pixels(path, target)
            else:
                _copy_with_pixels(path, target, stored[path.parent.name])
        stats = json.loads((folder / "stats.json").read_text(encoding="utf-8")) | measure(copy)
        _, front_matter, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
        text = text.partition(PIXELS_HEADING)[0].lstrip("\n")
        names = sorted({describe_licence(name) for config in refused for name in sources[config]})
        notes = [render("without_pixels", configs=refused, sources=names)] if refused else []
        metadata: dict[str, Any] = yaml.safe_load(front_matter)
        metadata.pop("configs", None)
        write_card(copy, metadata, text, stats, *notes)
        yield copy


def _lacks_pixels(path: Path) -> bool:
    """Return True if rows of a parquet file reference images, by a path in the column ``image_path`` or in a cell."""
    schema = parquet.read_schema(path)
    if get_image_storage(schema) == "by_reference":
        return True
    cells = {f"{name}.bytes" for name in find_image_columns(schema)}
    with parquet.open_file(path) as file:
        groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
        chunks = (group.column(number) for group in groups for number in range(group.num_columns))
        counts = [chunk.statistics for chunk in chunks if chunk.path_in_schema in cells]
        return any(not (count and count.has_null_count) or count.null_count for count in counts)


def _copy_with_pixels(path: Path, target: Path, stored: set[int]) -> None:
    """Copy a parquet file. If its rows only reference images, the copy contains them.

    Crops are added in a column ``image``. Of several rows that show one whole image, the first stores it. ``stored``
    are the ``image_row`` of the images that the earlier files of the config store; the images of this file are added.
    """
    if not _lacks_pixels(path):
        shutil.copy2(path, target)
        return
    schema = parquet.read_schema(path)
    folder = path.parent.parent
    if get_image_storage(schema) == "by_reference":
        schema = add_datasets_features(use_stored_images(schema))
    names = find_image_columns(schema)
    with parquet.open_writer(target, schema) as writer:
        for start, batch in enumerate(parquet.read_batches(path, ROWS_PER_GROUP)):
            rows = batch.to_pylist()
            for number, row in enumerate(rows, start * ROWS_PER_GROUP):
                is_stored = row.get("image_row") in stored
                place = f"{path}, row {number}"
                row |= {
                    name: None if is_stored else _encode(row, name, folder, place) for name in names
                }
                stored |= {row["image_row"]} if "image_row" in row else set()
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _encode(row: Mapping[str, Any], column: str, folder: Path, place: str) -> dict[str, Any] | None:
    """Return the cell of an image column with its image file, or with the row's crop. None if the cell is empty.

    Raises ValueError, which names the row.
    """
    cell = row.get(column, {})
    if cell is None or cell.get("bytes") is not None:
        return cell
    suffix = Path(cell.get("path") or "").suffix or ".jpg"
    try:
        data = read_stored(cell, folder) if cell else encode_row(row, folder)
        return {"bytes": data, "path": f"{row[column.replace('image', 'crop_id')]}{suffix}"}
    except (OSError, ValueError) as error:
        raise ValueError(f"{place}: the image cannot be read ({error}).") from None


def _copy_without_pixels(path: Path, target: Path) -> None:
    """Copy a parquet file without the image columns."""
    schema = parquet.read_schema(path)
    names = [name for name in schema.names if name not in find_image_columns(schema)]
    schema = add_datasets_features(pa.schema([schema.field(name) for name in names]))
    with parquet.open_writer(target, schema) as writer:
        for batch in parquet.read_batches(path, 1000, names):
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
