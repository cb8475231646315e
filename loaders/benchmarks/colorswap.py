"""Read ColorSwap: two images, and two captions with the same words, in which colours change places.

    {test,train}-*.parquet (with images), {test,train}.json -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Burapacheep et al. 2024 (arXiv:2402.04492), https://github.com/Top34051/colorswap. The dataset on the Hub is
gated. The images are generated. The authors score as Winoground does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, huggingface
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, get_fields, read_each, read_json
from loaders.published.tables import name_image, read_table

TEXTS = ("id", "caption_1", "caption_2")
IMAGES = ("image_1", "image_2")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    split = "train" if Path(name).stem.startswith("train") else "test"

    def row(item: dict[str, Any]) -> Row:
        images, captions = (tuple(item[key] for key in keys) for keys in (IMAGES, TEXTS[1:]))
        return Row("main", images, captions, image_id=str(item["id"]), split=split)

    return read_each(_read_table(path, name) if path.suffix == ".parquet" else read_json(path), row)


def _read_table(path: Path, name: str) -> Iterable[dict[str, Any]]:
    for number, item in read_table(path, TEXTS):
        yield item | {column: name_image(name, number, column) for column in IMAGES}


def recognise(name: str, items: list[Any]) -> str | None:
    """Other benchmarks have the same file names."""
    return name if {*TEXTS, *IMAGES} <= get_fields(items) else None


LOOSE = ImageSet("colorswap", ("images",))
TABLE = ImageSet("colorswap", (), bytes_per_image=1_400_000, columns=IMAGES)
BENCHMARK = Benchmark(
    title="ColorSwap",
    asks="Which of two captions with exchanged colours belongs to which of two images?",
    year=2024,
    paper="Burapacheep et al. 2024, ColorSwap, Findings of ACL, arXiv:2402.04492",
    homepage="https://huggingface.co/datasets/stanfordnlp/colorswap",
    licence="MIT; gated",
    licence_id="mit",
    files={"test-*.parquet": TABLE, "train-*.parquet": TABLE, "test.json": LOOSE, "train.json": LOOSE},
    downloads=huggingface("stanfordnlp/colorswap", "main", {"data/test-00000-of-00001.parquet": (None, None)}),
    read=read,
    recognise=recognise,
    schema=GROUP_SCHEMA,
    rows={"main/test": 300},
    image_count=600,
    split_files=True,
    chance={"*": 1 / 6},
    untested=True,
    flaws=(Flaw("the download", "the name of the file on the Hub is not confirmed", "this project"),),
)
