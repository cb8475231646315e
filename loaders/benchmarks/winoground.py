"""Winoground from a copy of its published files, as a dataset of pairs.

    python -m loaders.benchmarks.winoground sources/winoground        # writes winoground/

Source: Thrush et al. 2022 (arXiv:2204.03162), 400 items. The set is gated on the Hub and its licence does not let it be
passed on, so it stays where it was built. Read are the files of either layout that the repository has had:
``data/test-*.parquet``, or ``data/examples.jsonl`` with ``data/images.zip`` (or the folder ``data/images``).
Results are broken down by the set's own tags and, after Kamath et al. 2023 (arXiv:2305.14897), section 4.6, by the
length of the captions: at most five words, more than ten, and what is between.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from generators.storage import dataset, parquet, stage
from loaders.cards.card import Stats, measure, table, write_card

FOLDER = Path("winoground")
SHORT, LONG = 5, 10
GATED = (
    "Winoground is gated: accept its terms at https://huggingface.co/datasets/facebook/winoground, log in with "
    "`hf auth login`, then `hf download facebook/winoground --repo-type dataset --local-dir sources/winoground`."
)


PUBLISHED = (
    ("all", "10.3", "30.8"),
    (f"at most {SHORT} words", "20.4", "47.2"),
    (f"more than {LONG} words", "3.4", "18.5"),
)
"""Kamath et al. 2023, section 4.6: items, then the mean image and text score of four models, in percent."""


def length_of(*captions: str) -> str:
    """The class of an item's length: that of its longest caption, in words."""
    words = max(len(caption.split()) for caption in captions)
    return f"at most {SHORT} words" if words <= SHORT else f"more than {LONG} words" if words > LONG else "between"


def row(item: Mapping[str, Any], images: tuple[bytes, bytes], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A row of GROUP_SCHEMA from a published item and its two image files."""
    captions = (item["caption_0"], item["caption_1"])
    categories = [{"by": "caption length", "name": length_of(*captions)}]
    tags = {"tag": item["collapsed_tag"], "secondary tag": item["secondary_tag"] or "none"}
    categories += [{"by": by, "name": name} for by, name in tags.items()]
    return dataset.group_cells(images, captions) | {
        "image_id": str(item["id"]),
        "categories": categories,
        "provenance": dict(provenance),
    }


def read(folder: Path) -> Iterator[tuple[Mapping[str, Any], tuple[bytes, bytes]]]:
    """The items of a local copy with their images. FileNotFoundError, saying how to get it, where there is none."""
    for data in (folder / "data", folder):
        if files := sorted(data.glob("test-*.parquet")):
            return _of_parquet(files)
        if (data / "examples.jsonl").is_file():
            return _of_lines(data)
    raise FileNotFoundError(f"{folder}: no data/test-*.parquet and no data/examples.jsonl. {GATED}")


def _of_parquet(files: list[Path]) -> Iterator[tuple[Mapping[str, Any], tuple[bytes, bytes]]]:
    for path in files:
        for batch in parquet.batches(path, 16):
            for item in batch.to_pylist():
                yield item, (item["image_0"]["bytes"], item["image_1"]["bytes"])


def _of_lines(data: Path) -> Iterator[tuple[Mapping[str, Any], tuple[bytes, bytes]]]:
    image = _images(data)
    for line in (data / "examples.jsonl").read_text(encoding="utf-8").splitlines():
        if line.strip():
            item = json.loads(line)
            yield item, (image(item["image_0"]), image(item["image_1"]))


def _images(data: Path) -> Callable[[str], bytes]:
    """Gives an image's file by its name, which the items have without its ending."""
    if (data / "images").is_dir():
        return lambda name: (data / "images" / _png(name)).read_bytes()
    archive = data / "images.zip"
    if not archive.is_file():
        raise FileNotFoundError(f"{data}: neither images.zip nor the folder images. {GATED}")
    opened = zipfile.ZipFile(archive)
    members = {Path(name).name: name for name in opened.namelist()}

    def member(name: str) -> bytes:
        if _png(name) not in members:
            raise FileNotFoundError(f"{archive}: no {_png(name)} in it. Download it again.")
        return opened.read(members[_png(name)])

    return member


def _png(name: str) -> str:
    return Path(name).name if name.endswith(".png") else f"{Path(name).name}.png"


def body(stats: Stats) -> str:
    """The card's text."""
    return f"""# Winoground

{stats["rows"]["main"]["test"]:,} items of two images and two captions with the same words in another order, from a
local copy of the published files (Thrush et al. 2022, [arXiv:2204.03162](https://arxiv.org/abs/2204.03162)). Dataset
version `{stats["version"]}`. Not to be passed on: its terms are those at
https://huggingface.co/datasets/facebook/winoground.

Text score: both images prefer their own caption. Image score: both captions prefer their own image. Group: both. A tie
is a loss. Chance: 1/4, 1/4, 1/6. Results are broken down by tag and by caption length.

{table(("models of the paper, mean of four", "image score", "text score"), PUBLISHED)}
The paper's figures: Kamath, Hessel and Chang 2023, section 4.6.
"""


def main(copy: Path = Path("sources/winoground"), output: Path = FOLDER) -> None:
    """Make the dataset folder OUTPUT of the local COPY."""
    items = read(copy)
    provenance = {"source": "winoground", "captioner": "published", "seed": 0}
    rows = (row(item, images, provenance) for item, images in items)
    dataset.write_config(output, "main", {"test": rows}, GROUP_SCHEMA)
    stats: Stats = measure(output) | {"source": "winoground"}
    metadata = {"pretty_name": "Winoground", "license": "other", "language": ["en"]}
    write_card(output, metadata, body(stats), stats)


if __name__ == "__main__":
    stage.run(main)
