"""ConMe: questions with a correct and a wrong answer, which vision-language models generated for hard cases.

    {replace-att,replace-obj,replace-rel}[_HUMAN_FILTER].csv -> configs replace_att and so on; chance 1/2

Source: Huang et al. 2024 (arXiv:2406.08164), https://huggingface.co/conme/ConMe. The images are those of SugarCrepe.
The columns follow the authors' scripts, which use several names. As in their evaluation, an answer follows its
question; a row without a question has captions.
"""

from pathlib import Path

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
)

NAMES = {
    "image": ("image_path", "image"),
    "correct": ("correct", "pos", "orig_pos"),
    "wrong": ("neg", "new_neg"),
}
"""Names of each column in the authors' scripts."""


def make_row(item: dict[str, str], file: str) -> Row:
    image, correct, wrong = (
        next((item[name] for name in names if name in item), None) for names in NAMES.values()
    )
    if image is None or correct is None or wrong is None:
        raise KeyError("image, correct or wrong")
    config = Path(file).stem.replace("-", "_").lower()
    question = item.get("question", "")
    texts = tuple(f"{question} {answer}".strip() for answer in (correct, wrong))
    return Row(config, (image,), texts[:1], texts[1:], changed=texts != (correct, wrong))


PINNED_FILES = (
    RemoteFile(name="replace-att.csv"),
    RemoteFile(name="replace-att_HUMAN_FILTER.csv"),
    RemoteFile(name="replace-obj.csv"),
    RemoteFile(name="replace-obj_HUMAN_FILTER.csv"),
    RemoteFile(name="replace-rel.csv"),
    RemoteFile(name="replace-rel_HUMAN_FILTER.csv"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two answers to a question about the image, one written to mislead, is "
    "correct?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="ConMe",
        homepage="https://huggingface.co/conme/ConMe",
        licence="Apache-2.0; images: COCO, under their Flickr licences",
        citation="Huang et al. 2024, ConMe, NeurIPS Datasets and Benchmarks, arXiv:2406.08164",
        root="https://huggingface.co/conme/ConMe/resolve/d1d75c7c86e82f36a6d66c849ea2409622da8250",
        files=PINNED_FILES,
    ),
    item="the columns image or image_path, correct, pos or orig_pos, and neg or new_neg",
    images=COCO,
    make_row=make_row,
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    changes={"*": "an answer follows its question"},
    image_count=5000,
    flaws=(
        Flaw(
            rows="all rows",
            what="the wrong answers were chosen to mislead three generative models",
            source="the authors",
        ),
    ),
)
