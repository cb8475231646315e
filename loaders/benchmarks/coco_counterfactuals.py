"""COCO-Counterfactuals: two generated images and two captions that differ in a noun.

    examples.jsonl -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Le et al. 2023 (arXiv:2309.14356), https://huggingface.co/datasets/Intel/COCO-Counterfactuals. The first caption
is one of COCO's, the second has another subject; both images are generated from them. Scored as Winoground is; the
authors report retrieval among all images.
"""

from typing import Any

from compeval.loaders.published import GROUP_SCHEMA, Benchmark, Row, read_image_set


def make_row(item: dict[str, Any], file: str) -> Row:
    images = tuple(f"{item[name]}.jpg" for name in ("image_0", "image_1"))
    return Row(
        "main",
        images,
        (item["caption_0"], item["caption_1"]),
        image_id=item["id"].partition("_")[0],
    )


BENCHMARK = Benchmark(
    images=read_image_set("coco_counterfactuals"),
    make_row=make_row,
    fields=("id", "image_0", "image_1", "caption_0", "caption_1"),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 6},
    untested=True,
)
