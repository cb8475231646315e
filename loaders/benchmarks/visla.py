"""VISLA: two captions with the same meaning and different words, and a third with similar words and another meaning.

    Generic_VISLA.tsv, Spatial_VISLA.tsv -> configs generic, spatial; chance 1/3

Source: Dumpala et al. 2024 (arXiv:2404.16365), https://github.com/Sri-Harsha/visla_benchmark. The images are whole
images of COCO. Of the two wrong captions of Spatial_VISLA.tsv, the one that is close in meaning is read.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import COCO, PARAPHRASE_SCHEMA, Benchmark, Columns, Row
from compeval.loaders.published.rows import get_fields

CLOSE = "Best reference (Semantically close)"
FILES = {
    "Generic_VISLA.tsv": Columns(
        config="generic",
        images=("filename",),
        captions=("caption", "second positive"),
        hard_negatives=("negative_caption",),
    ),
    "Spatial_VISLA.tsv": Columns(
        config="spatial", images=("image",), captions=("sent1", "sent2"), hard_negatives=(CLOSE,)
    ),
}


def make_row(item: dict[str, Any], file: str) -> Row:
    return FILES[Path(file).name].make_row(item, file)


def recognise(name: str, items: list[Any]) -> str | None:
    """Return the file whose columns the items have."""
    return next(
        (file for file, columns in FILES.items() if get_fields(items) >= {*columns.names}), None
    )


BENCHMARK = Benchmark(
    images=dict.fromkeys(FILES, COCO),
    make_row=make_row,
    recognise_file=recognise,
    item="the columns of Generic_VISLA.tsv or Spatial_VISLA.tsv",
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
)
