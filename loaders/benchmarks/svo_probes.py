"""Read SVO-Probes: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    svo_probes.csv -> configs subject, verb, object; chance 1/2

Source: Hendricks and Nematzadeh 2021 (arXiv:2106.09141), https://github.com/google-deepmind/svo_probes. The authors
classify each image as matching or not, with a threshold; a similarity has none, so, as is usual for dual encoders, the
sentence chooses between the two images. Like the authors, we use the rows with a negative of exactly one type.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loaders.published.declaration import Benchmark, Flaw
from loaders.published.image_sets import ImageSet
from loaders.published.rows import Row, Unusable, read_csv, read_each
from loaders.published.schemas import image_choice_schema

TYPES = {"subj_neg": "subject", "verb_neg": "verb", "obj_neg": "object"}


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of the file, in order."""
    return read_each(read_csv(path, ("sentence", "pos_image_id", "neg_image_id", *TYPES)), _row)


def _row(row: dict[str, str]) -> Row:
    types = [kind for column, kind in TYPES.items() if row[column] == "True"]
    if len(types) != 1:
        raise ValueError("the negative is not of exactly one type")
    images = tuple(f"{row[column]}.jpg" for column in ("pos_image_id", "neg_image_id"))
    return Row(types[0], images, (row["sentence"],))


BENCHMARK = Benchmark(
    title="SVO-Probes",
    asks="Which of two images, with another subject, verb or object, does a sentence describe?",
    year=2021,
    paper="Hendricks and Nematzadeh 2021, Probing Image-Language Transformers for Verb Understanding, Findings of ACL, "
    "arXiv:2106.09141",
    homepage="https://github.com/google-deepmind/svo_probes",
    licence="CC BY 4.0; images: web pages, under their own licences",
    licence_id="cc-by-4.0",
    files={
        "svo_probes.csv": ImageSet(
            "svo_probes",
            ("images",),
            how="Download each image from its URL in svo_probes.csv and save it as <image id>.jpg. Some URLs no longer "
            "exist.",
        )
    },
    how="Download svo_probes.csv (https://github.com/google-deepmind/svo_probes) and its images, then run "
    "`compeval import svo_probes.csv --images DIR --skip-missing`.",
    read=read,
    schema=image_choice_schema(2),
    rows={},
    chance={"*": 1 / 2},
    flaws=(Flaw("many rows", "the images are web pages of others, and some no longer exist", "vl_compo's copy"),),
)
