"""Predicate-noun dependencies: pairs of images that share a subject, a predicate or an object.

    eval_set.json -> config main; chance of the text score 1/4

Source: Nikolaus et al. 2022 (arXiv:2210.12079),
https://github.com/mitjanikolaus/multimodal-predicate-noun-dependencies. Rows 2k and 2k + 1 mirror each other: the wrong
sentence of one image is the sentence of the other. The authors' accuracy is the text score: both images choose their
sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from generators.files.untrusted import safe_name
from generators.schemas.rows import GROUP_SCHEMA
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import OPEN_IMAGES
from loaders.published.rows import Row, Unusable, read_each, read_json


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield a row for each two rows of the file, in order."""
    items = read_json(path)
    return read_each(zip_longest(items[::2], items[1::2]), _make_row)


def _make_row(pair: tuple[dict[str, Any], dict[str, Any]]) -> Row:
    captions = tuple(item["sentence_target"] for item in pair)
    if captions != tuple(item["sentence_distractor"] for item in reversed(pair)):
        raise ValueError("the two rows of a pair do not mirror each other")
    images = tuple(f"{safe_name(str(item['open_images_split']))}/{item['img_filename']}" for item in pair)
    return Row("main", images, captions, categories=(("part that differs", str(pair[0]["pos"])),))


BENCHMARK = Benchmark(
    description="Which of two sentences, with the same predicate or the same noun, describes which of two images?",
    year=2022,
    licence_id="other",
    images=OPEN_IMAGES,
    read_file=read,
    schema=GROUP_SCHEMA,
    rows={"main": 1292},
    image_count=1673,
    chance={"*": 1 / 4},
)
