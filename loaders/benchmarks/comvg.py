"""ComVG: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    ComVG.csv -> configs subject, verb, object; chance 1/2

Source: Jiang et al. 2022 (ComCLIP, arXiv:2211.13854), https://github.com/eric-ai-lab/ComCLIP. The images are whole
images of Visual Genome.
"""

from compeval.loaders.published import (
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
    image_choice_schema,
)

PARTS = ("subject", "verb", "object")


def make_row(item: dict[str, str], file: str) -> Row:
    if item["neg_value"] not in PARTS:
        raise ValueError(f"the part that differs is not one of {', '.join(PARTS)}")
    images = (f"{item['pos_image_id']}.jpg", f"{item['neg_image_id']}.jpg")
    return Row(item["neg_value"], images, (item["sentence"],))


BENCHMARK = Benchmark(
    description="Which of two images, with another subject, verb or object, does a sentence describe?",
    year=2022,
    licence_id="mit",
    source=DataSource(
        title="ComVG",
        homepage="https://github.com/eric-ai-lab/ComCLIP",
        licence="MIT; images CC BY 4.0 (Visual Genome)",
        citation="Jiang et al. 2022, ComCLIP, NAACL 2024, arXiv:2211.13854",
        root="https://raw.githubusercontent.com/eric-ai-lab/ComCLIP/75ef16ef2b92edf921f3732cd392b781e4dcd558/datasets",
        files=(
            RemoteFile(
                name="ComVG.csv",
                size=570420,
                sha256="3af27845e349d4fcef9a2d7945cffe853cf34c5459a31ceaf1d177544a1cbf9e",
            ),
        ),
    ),
    images=VISUAL_GENOME,
    make_row=make_row,
    fields=("sentence", "pos_image_id", "neg_image_id", "neg_value"),
    schema=image_choice_schema(2),
    chance={"*": 1 / 2},
    tested=True,
    rows={"subject": 1536, "verb": 1280, "object": 2584},
    image_count=524,
    flaws=(
        Flaw(rows="78 rows", what="they are repeated", source="counted"),
        Flaw(rows="5,400 rows", what="they have only 279 different sentences", source="counted"),
    ),
)
