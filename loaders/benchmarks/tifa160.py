"""TIFA160: how well 800 generated images agree with their prompts, as rated by two people from 1 to 5.

    human_annotations_with_scores.json -> config main; chance of the accuracy about 1/2, of the correlations 0

Source: Hu et al. 2023 (TIFA, arXiv:2303.11897), https://github.com/Yushi-Hu/tifa. 160 prompts with one image of each of
five models. The file also has the scores of ten metrics.
"""

from typing import Any

from compeval.loaders.published import RATING_SCHEMA, Benchmark, Row, read_image_set


def make_row(item: dict[str, Any], file: str) -> Row:
    return Row(
        "main",
        (item["image_path"],),
        (item["text"],),
        image_id=item["text_id"],
        label=sum(item["human_scores"]),
    )


BENCHMARK = Benchmark(
    images=read_image_set("tifa160"),
    make_row=make_row,
    fields=("text_id", "image_path", "text", "human_scores"),
    schema=RATING_SCHEMA,
    chance={"*": 1 / 2},
)
