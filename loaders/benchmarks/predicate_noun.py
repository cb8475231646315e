"""Predicate-noun dependencies: pairs of images that share a subject, a predicate or an object.

    eval_set.json -> config main; chance of the text score 1/4

Source: Nikolaus et al. 2022 (arXiv:2210.12079),
https://github.com/mitjanikolaus/multimodal-predicate-noun-dependencies. Rows 2k and 2k + 1 mirror each other: the wrong
sentence of one image is the sentence of the other. The authors' accuracy is the text score: both images choose their
sentence.
"""

from typing import Any

from compeval.base.files.untrusted import safe_name
from compeval.loaders.published import (
    GROUP_SCHEMA,
    OPEN_IMAGES,
    Benchmark,
    DataSource,
    RemoteFile,
    Row,
)


def make_row(pair: tuple[dict[str, Any], dict[str, Any]], file: str) -> Row:
    captions = tuple(item["sentence_target"] for item in pair)
    if captions != tuple(item["sentence_distractor"] for item in reversed(pair)):
        raise ValueError("the two rows of a pair do not mirror each other")
    images = tuple(
        f"{safe_name(str(item['open_images_split']))}/{item['img_filename']}" for item in pair
    )
    return Row("main", images, captions, categories=(("part that differs", str(pair[0]["pos"])),))


BENCHMARK = Benchmark(
    description="Which of two sentences, with the same predicate or the same noun, describes which of "
    "two images?",
    year=2022,
    licence_id="other",
    source=DataSource(
        title="Predicate-noun dependencies",
        homepage="https://github.com/mitjanikolaus/multimodal-predicate-noun-dependencies",
        licence="none stated; images CC BY 2.0 (Open Images)",
        citation="Nikolaus et al. 2022, Do Vision-and-Language Transformers Learn Grounded "
        "Predicate-Noun Dependencies?, EMNLP, arXiv:2210.12079",
        root="https://raw.githubusercontent.com/mitjanikolaus/multimodal-predicate-noun-dependencies/d2bb433ee4c1aaf988b9c36d9bf3f064e4c86a16/data/sentence-semantics",
        files=(
            RemoteFile(
                name="eval_set.json",
                size=1921825,
                sha256="fe9d4a5d052b30207df799a544c3d8697b4eccada672276f9256f3ff2e693ef5",
            ),
        ),
    ),
    images=OPEN_IMAGES,
    make_row=make_row,
    items_per_row=2,
    fields=("img_filename", "open_images_split", "sentence_target", "sentence_distractor", "pos"),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
    tested=True,
    rows={"main": 1292},
    image_count=1673,
)
