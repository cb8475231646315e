"""ComVG: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    ComVG.csv -> configs subject, verb, object; chance 1/2

Source: Jiang et al. 2022 (ComCLIP, arXiv:2211.13854), https://github.com/eric-ai-lab/ComCLIP. The images are whole
images of Visual Genome.
"""

from compeval.loaders.published import VISUAL_GENOME, Benchmark, Row, image_choice_schema

PARTS = ("subject", "verb", "object")


def make_row(item: dict[str, str], file: str) -> Row:
    if item["neg_value"] not in PARTS:
        raise ValueError(f"the part that differs is not one of {', '.join(PARTS)}")
    images = (f"{item['pos_image_id']}.jpg", f"{item['neg_image_id']}.jpg")
    return Row(item["neg_value"], images, (item["sentence"],))


BENCHMARK = Benchmark(
    images=VISUAL_GENOME,
    make_row=make_row,
    fields=("sentence", "pos_image_id", "neg_image_id", "neg_value"),
    schema=image_choice_schema(2),
    chance={"*": 1 / 2},
)
