"""Read ConMe: questions with a correct and a wrong answer, which vision-language models generated for hard cases.

    {replace-att,replace-obj,replace-rel}[_HUMAN_FILTER].csv -> configs replace_att and so on; chance 1/2

Source: Huang et al. 2024 (arXiv:2406.08164), https://huggingface.co/conme/ConMe. The images are those of SugarCrepe.
The columns follow the authors' scripts, which use several names. As in their evaluation, an answer follows its
question; a row without a question has captions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from generators.schemas.rows import CHOICE_SCHEMA
from generators.sources import RemoteFile
from loaders.published.declaration import Benchmark, Flaw
from loaders.published.image_sets import COCO
from loaders.published.rows import Row, Unusable, read_csv, read_each

IMAGE, RIGHT, WRONG = ("image_path", "image"), ("correct", "pos", "orig_pos"), ("neg", "new_neg")
"""Names of a column in the authors' scripts."""
PARTITIONS = ("att", "obj", "rel")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config = Path(name).stem.replace("-", "_").lower()

    def row(item: dict[str, str]) -> Row:
        right, wrong = (f"{item.get('question', '')} {_get(item, names)}".strip() for names in (RIGHT, WRONG))
        return Row(config, (_get(item, IMAGE),), (right,), (wrong,))

    return read_each(read_csv(path, ()), row)


def _get(item: dict[str, str], names: tuple[str, ...]) -> str:
    """Return the first of several columns that the row has. Raises KeyError if it has none."""
    return item[next((name for name in names if name in item), names[0])]


ROOT = "https://huggingface.co/conme/ConMe/resolve/d1d75c7c86e82f36a6d66c849ea2409622da8250"
NAMES = tuple(f"replace-{part}{suffix}.csv" for part in PARTITIONS for suffix in ("", "_HUMAN_FILTER"))
BENCHMARK = Benchmark(
    title="ConMe",
    asks="Which of two answers to a question about the image, one written to mislead, is correct?",
    year=2024,
    paper="Huang et al. 2024, ConMe, NeurIPS Datasets and Benchmarks, arXiv:2406.08164",
    homepage="https://huggingface.co/conme/ConMe",
    licence="Apache-2.0; images: COCO, under their Flickr licences",
    licence_id="apache-2.0",
    files=dict.fromkeys(NAMES, COCO),
    downloads=tuple(RemoteFile(f"{ROOT}/{name}", name, None, None, None) for name in NAMES),
    read=read,
    schema=CHOICE_SCHEMA,
    rows={},
    image_count=5000,
    chance={"*": 1 / 2},
    untested=True,
    flaws=(Flaw("all rows", "the wrong answers were chosen to mislead three generative models", "the authors"),),
)
