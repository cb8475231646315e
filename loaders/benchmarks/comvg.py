"""ComVG: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    ComVG.csv -> configs subject, verb, object; chance 1/2

Source: Jiang et al. 2022 (ComCLIP, arXiv:2211.13854), https://github.com/eric-ai-lab/ComCLIP. The images are whole
images of Visual Genome.
"""

from loaders.published.declaration import Benchmark, Flaw
from loaders.published.image_sets import VISUAL_GENOME
from loaders.published.rows import Row
from loaders.published.schemas import image_choice_schema

ROWS = {"subject": 1536, "verb": 1280, "object": 2584}


def make_row(item: dict[str, str], file: str) -> Row:
    if item["neg_value"] not in ROWS:
        raise ValueError(f"the part that differs is not one of {', '.join(ROWS)}")
    images = (f"{item['pos_image_id']}.jpg", f"{item['neg_image_id']}.jpg")
    return Row(item["neg_value"], images, (item["sentence"],))


BENCHMARK = Benchmark(
    description="Which of two images, with another subject, verb or object, does a sentence describe?",
    year=2022,
    licence_id="mit",
    images=VISUAL_GENOME,
    make_row=make_row,
    fields=("sentence", "pos_image_id", "neg_image_id", "neg_value"),
    schema=image_choice_schema(2),
    rows=ROWS,
    image_count=524,
    chance={"*": 1 / 2},
    flaws=(
        Flaw("78 rows", "they are repeated", "counted"),
        Flaw("5,400 rows", "they have only 279 different sentences", "counted"),
    ),
)
