"""ConMe: questions with a correct and a wrong answer, which vision-language models generated for hard cases.

    {replace-att,replace-obj,replace-rel}[_HUMAN_FILTER].csv -> configs replace_att and so on; chance 1/2

Source: Huang et al. 2024 (arXiv:2406.08164), https://huggingface.co/conme/ConMe. The images are those of SugarCrepe.
The columns follow the authors' scripts, which use several names. As in their evaluation, an answer follows its
question; a row without a question has captions.
"""

from pathlib import Path

from compeval.loaders.published import CHOICE_SCHEMA, COCO, Benchmark, Row

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
    config, question = Path(file).stem.replace("-", "_").lower(), item.get("question", "")
    texts = tuple(f"{question} {answer}".strip() for answer in (correct, wrong))
    return Row(config, (image,), texts[:1], texts[1:], changed=texts != (correct, wrong))


BENCHMARK = Benchmark(
    item="the columns image or image_path, correct, pos or orig_pos, and neg or new_neg",
    images=COCO,
    make_row=make_row,
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    changes={"*": "an answer follows its question"},
    untested=True,
)
