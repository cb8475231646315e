"""Read ComVG: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    ComVG.csv -> configs subject, verb, object; chance 1/2

Source: Jiang et al. 2022 (ComCLIP, arXiv:2211.13854), https://github.com/eric-ai-lab/ComCLIP. The images are whole
images of Visual Genome.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import VISUAL_GENOME
from loaders.published.rows import Row, Unusable, read_csv, read_each
from loaders.published.schemas import image_choice_schema

COLUMNS = ("sentence", "pos_image_id", "neg_image_id", "neg_value")
ROWS = {"subject": 1536, "verb": 1280, "object": 2584}


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of the file, in order."""
    return read_each(read_csv(path, COLUMNS), _row)


def _row(row: dict[str, str]) -> Row:
    if row["neg_value"] not in ROWS:
        raise ValueError(f"the part that differs is not one of {', '.join(ROWS)}")
    images = tuple(f"{row[column]}.jpg" for column in ("pos_image_id", "neg_image_id"))
    return Row(row["neg_value"], images, (row["sentence"],))


BENCHMARK = Benchmark(
    title="ComVG",
    asks="Which of two images, with another subject, verb or object, does a sentence describe?",
    year=2022,
    paper="Jiang et al. 2022, ComCLIP, NAACL 2024, arXiv:2211.13854",
    homepage="https://github.com/eric-ai-lab/ComCLIP",
    licence="MIT; images CC BY 4.0 (Visual Genome)",
    licence_id="mit",
    files={"ComVG.csv": VISUAL_GENOME},
    downloads=github(
        "eric-ai-lab/ComCLIP",
        "75ef16ef2b92edf921f3732cd392b781e4dcd558",
        {"ComVG.csv": (570420, "3af27845e349d4fcef9a2d7945cffe853cf34c5459a31ceaf1d177544a1cbf9e")},
        folder="datasets",
    ),
    read=read,
    schema=image_choice_schema(2),
    rows=ROWS,
    image_count=524,
    chance={"*": 1 / 2},
    flaws=(
        Flaw("78 rows", "they are repeated", "counted"),
        Flaw("5,400 rows", "they have only 279 different sentences", "counted"),
    ),
)
