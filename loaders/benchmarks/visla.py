"""VISLA: two captions with the same meaning and different words, and a third with similar words and another meaning.

    Generic_VISLA.tsv, Spatial_VISLA.tsv -> configs generic, spatial; chance 1/3

Source: Dumpala et al. 2024 (arXiv:2404.16365), https://github.com/Sri-Harsha/visla_benchmark. The images are whole
images of COCO. Of the two wrong captions of Spatial_VISLA.tsv, the one that is close in meaning is read.
"""

from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    COCO,
    PARAPHRASE_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)
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
    description="Does the image score higher with two captions of the same meaning than with one of "
    "similar words?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="VISLA",
        homepage="https://github.com/Sri-Harsha/visla_benchmark",
        licence="none stated; images: COCO, under their Flickr licences",
        citation="Dumpala et al. 2024, VISLA Benchmark, arXiv:2404.16365",
        root="https://raw.githubusercontent.com/Sri-Harsha/visla_benchmark/adedd6974a3448ac9881466f801483dda13282e1/data",
        files=(
            RemoteFile(
                name="Generic_VISLA.tsv",
                size=186537,
                sha256="99cad867a688d70af10e08ed2548720c95f88d774fb3e5e41bf6fddcab3fc6a6",
            ),
            RemoteFile(
                name="Spatial_VISLA.tsv",
                size=104032,
                sha256="f1ec14db70183bf6748cf71324e98062f9f7c395d8202f60dbfabb7a6f1ab891",
            ),
        ),
    ),
    images=dict.fromkeys(FILES, COCO),
    make_row=make_row,
    recognise_file=recognise,
    item="the columns of Generic_VISLA.tsv or Spatial_VISLA.tsv",
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
    tested=True,
    rows={"generic": 973, "spatial": 652},
    image_count=1191,
    flaws=(
        Flaw(
            rows="2 rows of spatial", what="the wrong caption equals a true one", source="counted"
        ),
    ),
)
