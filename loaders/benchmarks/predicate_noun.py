"""Predicate-noun dependencies: pairs of images that share a subject, a predicate or an object.

    eval_set.json -> config main; chance of the text score 1/4

Source: Nikolaus et al. 2022 (arXiv:2210.12079),
https://github.com/mitjanikolaus/multimodal-predicate-noun-dependencies. Rows 2k and 2k + 1 mirror each other: the wrong
sentence of one image is the sentence of the other. The authors' accuracy is the text score: both images choose their
sentence.
"""

from typing import Any

from compeval.base.files.untrusted import safe_name
from compeval.loaders.published import GROUP_SCHEMA, OPEN_IMAGES, Benchmark, Row


def make_row(pair: tuple[dict[str, Any], dict[str, Any]], file: str) -> Row:
    captions = tuple(item["sentence_target"] for item in pair)
    if captions != tuple(item["sentence_distractor"] for item in reversed(pair)):
        raise ValueError("the two rows of a pair do not mirror each other")
    images = tuple(
        f"{safe_name(str(item['open_images_split']))}/{item['img_filename']}" for item in pair
    )
    return Row("main", images, captions, categories=(("part that differs", str(pair[0]["pos"])),))


BENCHMARK = Benchmark(
    images=OPEN_IMAGES,
    make_row=make_row,
    items_per_row=2,
    fields=("img_filename", "open_images_split", "sentence_target", "sentence_distractor", "pos"),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
)
