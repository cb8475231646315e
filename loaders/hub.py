"""Dataset folders on the Hugging Face Hub: a dataset's folder, with its card, is a repository as it stands.

    compeval push crepe ORG/microworld-crepe
    compeval.load_dataset("ORG/microworld-crepe", "prod_hnatom")

Pixels go along where their licence lets anybody pass them on, also those that rows here only name. Elsewhere the
images' columns are left out: image_id and box stay, and the card says where the images are to be had. $HF_ENDPOINT
names another server.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from generators.schemas.rows import embedded, features_metadata, pixels_of
from generators.storage import parquet
from generators.storage.dataset import ROWS_PER_GROUP
from loaders.cards.card import LICENCES, PIXELS, measure, parquet_files, write_card
from loaders.pixels import encoded

FREE = ("microworld", "visual_genome", "compun")
"""Sources whose pixels anybody may pass on, with their licence (CC0, CC BY, CC BY-NC). COCO's, Flickr30k's and
Winoground's belong to people who did not agree to that, and a source that is not known here is not passed on."""
WITHOUT_PIXELS = f"""{PIXELS}
This repository holds no pixels: the licence of the images ({{sources}}) does not let us pass them on. A row names its
image (`image_id`) and its box in pixels of the source image (`x`, `y`, `width`, `height`).
"""
FILES = ("*.md", "stats.json", "*/*.parquet")


def push(folder: Path, repository: str, *, private: bool = False) -> str:
    """Upload a dataset folder to ``ORG/NAME``, in place of what is there; gives the address of the commit.

    ValueError for a micro-world dataset under a name that does not say so, and for what the Hub refuses.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    from loaders import read_stats

    read_stats(folder)
    sources = image_sources(folder)
    if "microworld" in sources and "microworld" not in repository.lower():
        raise ValueError(
            f"{repository}: {folder.name} is made from the micro-world, a synthetic stand-in; the name must say so: "
            f"{repository.rpartition('/')[0] or 'ORG'}/microworld-{folder.name}, for example."
        )
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        with publishable(folder, sources) as whole:
            version = json.loads((whole / "stats.json").read_text())["version"]
            api.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repository,
                repo_type="dataset",
                folder_path=whole,
                allow_patterns=list(FILES),
                delete_patterns=list(FILES),
                commit_message=f"{folder.name}, dataset version {version}",
            )
    except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError) as error:
        raise ValueError(
            f"{repository}: the Hub refused it ({str(error).strip()}). Log in with `hf auth login`."
        ) from None
    return commit.commit_url


def image_sources(folder: Path) -> list[str]:
    """Where a dataset's images come from, in name order; nothing for a set of texts alone."""
    found: set[str] = set()
    for path in parquet_files(folder):
        schema = parquet.read_schema(path)
        if _image_columns(schema) and "provenance" in schema.names:
            for batch in parquet.batches(path, columns=["provenance"]):
                found |= {row["source"] for row in batch.column(0).to_pylist()}
        elif _image_columns(schema):
            found.add("unknown")
    return sorted(found)


def _image_columns(schema: pa.Schema) -> list[str]:
    """The columns that hold images, or the paths of images here."""
    return [
        field.name
        for field in schema
        if field.name == "image_path"
        or (pa.types.is_struct(field.type) and "bytes" in {part.name for part in field.type})
    ]


@contextmanager
def publishable(folder: Path, sources: list[str]) -> Iterator[Path]:
    """The folder itself where its pixels may go along and are all in it.

    Else a copy: without pixels, and with a card that says so, or with the crops that rows here only name.
    """
    free = all(source in FREE for source in sources)
    schemas = [parquet.read_schema(path) for path in parquet_files(folder)]
    if free and all(pixels_of(schema) == "embedded" for schema in schemas):
        yield folder
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        for path in parquet_files(folder):
            (_copy_with_pixels if free else _copy_without_pixels)(path, copy / path.relative_to(folder))
        for path in folder.glob("*.md"):
            shutil.copy2(path, copy)
        stats = json.loads((folder / "stats.json").read_text()) | measure(copy)
        _, metadata, body = (folder / "README.md").read_text().split("---\n", 2)
        told = ", ".join(LICENCES[source][1] if source in LICENCES else source for source in sources)
        note = "" if free else WITHOUT_PIXELS.format(sources=told)
        block: dict[str, Any] = yaml.safe_load(metadata)
        block.pop("configs", None)
        write_card(copy, block, body.partition(PIXELS)[0].lstrip("\n") + note, stats)
        yield copy


def _copy_with_pixels(path: Path, target: Path) -> None:
    schema = parquet.read_schema(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if pixels_of(schema) == "embedded":
        shutil.copy2(path, target)
        return
    whole, folder = features_metadata(embedded(schema)), path.parent.parent
    with pq.ParquetWriter(target, whole, compression="zstd") as writer:
        for batch in parquet.batches(path, ROWS_PER_GROUP):
            rows = [row | {"image": {"bytes": encoded(row, folder), "path": None}} for row in batch.to_pylist()]
            writer.write_table(pa.Table.from_pylist(rows, whole))


def _copy_without_pixels(path: Path, target: Path) -> None:
    schema = parquet.read_schema(path)
    names = [name for name in schema.names if name not in _image_columns(schema)]
    kept = features_metadata(pa.schema([schema.field(name) for name in names]))
    target.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(target, kept, compression="zstd") as writer:
        for batch in parquet.batches(path, 1000, names):
            writer.write_table(pa.Table.from_batches([batch]).cast(kept))


def fetch(repository: str, config: str) -> Path:
    """A folder with the card, the statistics and one config of a dataset on the Hub.

    ValueError where there is none of that name, or it is no dataset folder of ours.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        found = snapshot_download(
            repository,
            repo_type="dataset",
            allow_patterns=["README.md", "stats.json", f"{config}/*.parquet"],
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        raise ValueError(f"{repository}: not to be had from the Hub ({str(error).strip()}).") from None
    if not (Path(found) / "stats.json").is_file():
        raise ValueError(f"{repository}: it has no stats.json, so it is no dataset folder of CompEval's.")
    return Path(found)
