"""TIFA160: how well 800 generated images agree with their prompts, as rated by two people from 1 to 5.

    human_annotations_with_scores.json -> config main; chance of the accuracy about 1/2, of the correlations 0

Source: Hu et al. 2023 (TIFA, arXiv:2303.11897), https://github.com/Yushi-Hu/tifa. 160 prompts with one image of each of
five models. The file also has the scores of ten metrics.
"""

from typing import Any

from compeval.loaders.published import (
    RATING_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
)


def make_row(item: dict[str, Any], file: str) -> Row:
    return Row(
        "main",
        (item["image_path"],),
        (item["text"],),
        image_id=item["text_id"],
        label=sum(item["human_scores"]),
    )


BENCHMARK = Benchmark(
    description="How well does a generated image agree with its prompt?",
    year=2023,
    licence_id="apache-2.0",
    source=DataSource(
        title="TIFA160",
        homepage="https://github.com/Yushi-Hu/tifa",
        licence="Apache-2.0; licence of the generated images not stated",
        citation="Hu et al. 2023, TIFA, ICCV, arXiv:2303.11897",
        root="https://raw.githubusercontent.com/Yushi-Hu/tifa/8e37050f44ab4ee681e4251f3c8a9d4cc86e901e/human_annotations",
        files=(
            RemoteFile(
                name="human_annotations_with_scores.json",
                size=553467,
                sha256="1720bb802c3c0821dd56df0d8c20a1214ff5085d7e5d9236a75736b1d39b7b3c",
            ),
        ),
    ),
    images=ImageSet(
        "tifa160",
        ("tifa160", "images"),
        download_instructions="Download the images from the address in human_annotations/README.md of the "
        "repository.",
    ),
    make_row=make_row,
    fields=("text_id", "image_path", "text", "human_scores"),
    schema=RATING_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={"main": 800},
    image_count=800,
    flaws=(
        Flaw(
            rows="all rows",
            what="the authors' notebook prints Pearson's correlation as Spearman's",
            source="read",
        ),
    ),
)
