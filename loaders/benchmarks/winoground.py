"""Build the Winoground dataset from a local copy of the published files.

    python -m loaders.benchmarks.winoground sources/winoground        # writes winoground/

Source: Thrush et al. 2022 (arXiv:2204.03162), 400 items. The repository on the Hub is gated and its licence does not
permit redistribution, so the dataset folder stays on the machine where it was built. Both layouts of the repository
are supported: ``data/test-*.parquet``, and ``data/examples.jsonl`` with ``data/images.zip`` or the folder
``data/images``.
Results are broken down by the published tags and by caption length: at most five words, more than ten, and in between
(Kamath et al. 2023, arXiv:2305.14897, section 4.6).
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from generators.storage import dataset, parquet, stage
from generators.storage.untrusted import ARCHIVE_ERRORS, MAX_FILE_BYTES, open_archive, read_file
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure
from loaders.papers.figures import figures

SHORT, LONG = 5, 10
TEXT_FIELDS = ("image_0", "image_1", "caption_0", "caption_1", "collapsed_tag")
GATED = (
    "Winoground is gated: accept its terms at https://huggingface.co/datasets/facebook/winoground, log in with "
    "`hf auth login`, then `hf download facebook/winoground --repo-type dataset --local-dir sources/winoground`."
)

Item = tuple[Mapping[str, Any], tuple[bytes, bytes]]
"""Fields of an item, and the bytes of its two image files."""


def length_class(*captions: str) -> str:
    """Return the length class of an item, which is that of its longest caption in words."""
    words = max(len(caption.split()) for caption in captions)
    return f"at most {SHORT} words" if words <= SHORT else f"more than {LONG} words" if words > LONG else "between"


def row(item: Mapping[str, Any], images: tuple[bytes, bytes], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Make a row of GROUP_SCHEMA from a published item and its two image files."""
    captions = (item["caption_0"], item["caption_1"])
    categories = {
        "caption length": length_class(*captions),
        "tag": item["collapsed_tag"],
        "secondary tag": item["secondary_tag"] or "none",
    }
    return dataset.make_group_cells(images, captions) | {
        "image_id": str(item["id"]),
        "categories": [{"by": by, "name": name} for by, name in categories.items()],
        "provenance": dict(provenance),
    }


def read(folder: Path) -> Iterator[Item]:
    """Yield the items of a local copy. Raises FileNotFoundError, with download instructions, if there is no copy."""
    for data in (folder / "data", folder):
        if files := sorted(data.glob("test-*.parquet")):
            return _read_parquet(files)
        if (data / "examples.jsonl").is_file():
            return _read_jsonl(data)
    raise FileNotFoundError(f"{folder}: no data/test-*.parquet and no data/examples.jsonl. {GATED}")


def _read_parquet(files: list[Path]) -> Iterator[Item]:
    for path in files:
        for batch in parquet.read_batches(path, 16):
            for item in batch.to_pylist():
                yield item, (item["image_0"]["bytes"], item["image_1"]["bytes"])


def _read_jsonl(data: Path) -> Iterator[Item]:
    read_image = _image_reader(data)
    path = data / "examples.jsonl"
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                item = _parse(line, f"{path}, line {number}")
                yield item, (read_image(item["image_0"]), read_image(item["image_1"]))


def _parse(line: str, place: str) -> dict[str, Any]:
    """Return the item in a line of JSON. Raises ValueError, which names the line, if a field is missing or no text."""
    try:
        item = json.loads(line)
        if not isinstance(item, dict) or not {"id", "secondary_tag"} <= item.keys():
            raise ValueError("id or secondary_tag is missing")
        if wrong := [name for name in TEXT_FIELDS if not isinstance(item.get(name), str)]:
            raise ValueError(f"{', '.join(wrong)}: no text")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: not an item of Winoground ({error}). Download the file again.") from None
    return item


def _image_reader(data: Path) -> Callable[[str], bytes]:
    """Return a function that returns the bytes of an image file by the name in an item, which has no suffix."""
    if (data / "images").is_dir():
        return lambda name: _read_loose(data / "images" / _png(name))
    path = data / "images.zip"
    if not path.is_file():
        raise FileNotFoundError(f"{data}: neither images.zip nor the folder images. {GATED}")
    try:
        archive = open_archive(zipfile.ZipFile, path)
    except ARCHIVE_ERRORS as error:
        raise ValueError(f"{path}: {error}. Download it again.") from None
    members = {Path(member.filename).name: member for member in archive.infolist()}

    def read_member(name: str) -> bytes:
        member = members.get(_png(name))
        if member is None:
            raise FileNotFoundError(f"{path}: no {_png(name)} in the archive. Download it again.")
        if member.file_size > MAX_FILE_BYTES:
            raise ValueError(
                f"{path}: {_png(name)} has {member.file_size:,} bytes, at most {MAX_FILE_BYTES:,} are read."
            )
        try:
            return archive.read(member)
        except (*ARCHIVE_ERRORS, OSError) as error:
            raise ValueError(f"{path}: {_png(name)} cannot be read ({error}). Download the file again.") from None

    return read_member


def _read_loose(path: Path) -> bytes:
    try:
        return read_file(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error}).") from None


def _png(name: str) -> str:
    return Path(name).name if name.endswith(".png") else f"{Path(name).name}.png"


def main(copy: Path = Path("sources/winoground"), output: Path = Path("winoground")) -> None:
    """Build the dataset folder OUTPUT from the local COPY."""
    provenance = {"source": "winoground", "captioner": "published", "seed": 0}
    rows = (row(item, images, provenance) for item, images in read(copy))
    dataset.write_config(output, "main", {"test": rows}, GROUP_SCHEMA)
    stats: Stats = measure(output) | {"source": "winoground"}
    metadata = {"pretty_name": "Winoground", "license": "other", "language": ["en"]}
    write_card(output, metadata, render("winoground", stats=stats, paper=figures("winoground")), stats)


if __name__ == "__main__":
    stage.run(main)
