"""Upload dataset folders to the Hugging Face Hub: the folder with its card is the repository.

    compeval push crepe ORG/microworld-crepe
    compeval.load_dataset("ORG/microworld-crepe", "prod_hnatom")

Images are uploaded if their licence permits redistribution. If the rows only reference the images, the crops are added
to the upload. Otherwise the image columns are removed, but image_id and box stay, and the card names the source of the
images. $HF_ENDPOINT selects another server.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from generators.schemas.rows import add_datasets_features, get_image_storage, use_stored_images
from generators.storage import parquet
from generators.storage.dataset import ROWS_PER_GROUP
from loaders.cards.card import LICENCES, PIXELS_HEADING, render, write_card
from loaders.datasets.referenced_images import encode_row
from loaders.datasets.stats import measure, parquet_files, read_stats

REDISTRIBUTABLE = ("microworld", "visual_genome", "compun")
"""Sources whose licence permits redistribution (CC0, CC BY, CC BY-NC).

The licences of the images of COCO, Flickr30k and Winoground do not. Images of an unknown source are not uploaded."""
PAGES = ("README.md", "TEXT_ONLY.md")
FILES = (*PAGES, "stats.json", "*/*.parquet")


def push(folder: Path, repository: str, *, private: bool = False) -> str:
    """Upload a dataset folder to ``ORG/NAME``, replacing its previous version. Returns the URL of the commit.

    Raises ValueError if the name of a micro-world dataset does not contain "microworld", or if the Hub rejects the
    upload.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    read_stats(folder)
    for name in PAGES:
        if (folder / name).is_symlink():
            raise ValueError(
                f"{folder / name} is a link. Replace it with the file, or run `dvc unprotect {folder / name}`."
            )
    sources = list_image_sources(folder)
    if "microworld" in sources and "microworld" not in repository.lower():
        raise ValueError(
            f"{repository}: {folder.name} is generated from the micro-world, a synthetic replacement for real "
            "images, and its name must contain microworld, for example "
            f"{repository.rpartition('/')[0] or 'ORG'}/microworld-{folder.name}."
        )
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        with prepare_upload(folder, sources) as upload:
            version = json.loads((upload / "stats.json").read_text())["version"]
            api.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repository,
                repo_type="dataset",
                folder_path=upload,
                allow_patterns=list(FILES),
                delete_patterns=list(FILES),
                commit_message=f"{folder.name}, dataset version {version}",
            )
    except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError) as error:
        raise ValueError(
            f"{repository}: the Hub rejected the upload ({str(error).strip()}). Log in with `hf auth login`."
        ) from None
    return commit.commit_url


def list_image_sources(folder: Path) -> list[str]:
    """Return the sources of a dataset's images, sorted. A dataset without images has none."""
    sources: set[str] = set()
    for path in parquet_files(folder):
        schema = parquet.read_schema(path)
        if _image_columns(schema) and "provenance" in schema.names:
            for batch in parquet.read_batches(path, columns=["provenance"]):
                sources |= {row["source"] for row in batch.column(0).to_pylist()}
        elif _image_columns(schema):
            sources.add("unknown")
    return sorted(sources)


def _image_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that contain images or paths of local image files."""
    return [
        field.name
        for field in schema
        if field.name == "image_path"
        or (pa.types.is_struct(field.type) and "bytes" in {part.name for part in field.type})
    ]


@contextmanager
def prepare_upload(folder: Path, sources: list[str]) -> Iterator[Path]:
    """Yield the folder to upload.

    It is the dataset folder itself if the images may be redistributed and the rows contain them. It is a temporary copy
    with the crops in the rows if the rows only reference the images. It is a temporary copy without image columns, and
    with a note in the card, if the images must not be redistributed.
    """
    allowed = all(source in REDISTRIBUTABLE for source in sources)
    if allowed and all(get_image_storage(parquet.read_schema(path)) == "embedded" for path in parquet_files(folder)):
        yield folder
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        for path in parquet_files(folder):
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            (_copy_with_pixels if allowed else _copy_without_pixels)(path, target)
        for name in PAGES:
            if (folder / name).is_file():
                shutil.copy2(folder / name, copy)
        stats = json.loads((folder / "stats.json").read_text()) | measure(copy)
        _, front_matter, text = (folder / "README.md").read_text().split("---\n", 2)
        text = text.partition(PIXELS_HEADING)[0].lstrip("\n")
        if not allowed:
            names = [LICENCES[source][1] if source in LICENCES else source for source in sources]
            text += PIXELS_HEADING + "\n" + render("without_pixels", sources=names)
        metadata: dict[str, Any] = yaml.safe_load(front_matter)
        metadata.pop("configs", None)
        write_card(copy, metadata, text, stats)
        yield copy


def _copy_with_pixels(path: Path, target: Path) -> None:
    """Copy a parquet file. If its rows only reference images, the copy has their crops in a column ``image``."""
    schema = parquet.read_schema(path)
    if get_image_storage(schema) == "embedded":
        shutil.copy2(path, target)
        return
    schema, folder = add_datasets_features(use_stored_images(schema)), path.parent.parent
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        start = 0
        for batch in parquet.read_batches(path, ROWS_PER_GROUP):
            rows = [
                row | {"image": _encode(row, folder, f"{path}, row {start + n}")}
                for n, row in enumerate(batch.to_pylist())
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema))
            start += len(rows)


def _encode(row: Mapping[str, Any], folder: Path, place: str) -> dict[str, Any]:
    """Return the cell of the column ``image`` with the row's crop. Raises ValueError, which names the row."""
    try:
        return {"bytes": encode_row(row, folder), "path": None}
    except (OSError, ValueError) as error:
        raise ValueError(f"{place}: the image cannot be read ({error}).") from None


def _copy_without_pixels(path: Path, target: Path) -> None:
    """Copy a parquet file without the image columns."""
    schema = parquet.read_schema(path)
    names = [name for name in schema.names if name not in _image_columns(schema)]
    schema = add_datasets_features(pa.schema([schema.field(name) for name in names]))
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in parquet.read_batches(path, 1000, names):
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
