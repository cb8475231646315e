"""MMVP: 150 questions about two images that CLIP encodes alike, with two options, of which each is right for one image.

    Questions.csv -> config main; chance of the pair accuracy (text_score) 1/4

Source: Tong et al. 2024 (arXiv:2401.06209), https://huggingface.co/datasets/MMVP/MMVP. Rows 2k - 1 and 2k of the file
are a pair. A caption is the question and an option. The authors ask generative models, and a pair is right if both
answers are: ``text_score``.
"""

import re

from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
)

OPTIONS = re.compile(r"\(a\)\s*(.+?)\s*\(b\)\s*(.+?)\s*")
INDEX = "Index"
QUESTION = "Question"
CHOICES = "Options"
ANSWER = "Correct Answer"
MISSPELT = "lndex"
"""Index with a small L, as code that reads the published file has it."""


def make_row(pair: tuple[dict[str, str], dict[str, str]], file: str) -> Row:
    """Return the row of a pair, with the caption of the first image first."""
    first, second = read_numbers(*(item.get(INDEX) or item[MISSPELT] for item in pair))
    captions = [_answer(item) for item in pair]
    if captions[0] == captions[1]:
        raise ValueError("both images have the same answer")
    images = (f"{first}.jpg", f"{second}.jpg")
    return Row("main", images, tuple(captions), image_id=str(first), changed=True)


def read_numbers(first: str, second: str) -> tuple[int, int]:
    """Return the numbers of the images of a pair. Raises ValueError if they are not 2k - 1 and 2k."""
    if int(first) % 2 != 1 or int(second) != int(first) + 1:
        raise ValueError("the rows are not numbered 2k - 1 and 2k")
    return int(first), int(second)


def _answer(item: dict[str, str]) -> str:
    options = OPTIONS.fullmatch(item[CHOICES].strip())
    answer = item[ANSWER].strip().strip("()")
    if options is None or answer not in ("a", "b"):
        raise ValueError("not two options (a) and (b), and the letter of one of them")
    return f"{item[QUESTION].strip()} {options['ab'.index(answer) + 1]}"


ROOT = "https://huggingface.co/datasets/MMVP/MMVP/resolve/37eafecab8a3940c50c2ade5b36de69dbc99a8cf"
BENCHMARK = Benchmark(
    description="Which of two answers to a question is right for which of two images that CLIP "
    "encodes alike?",
    year=2024,
    licence_id="mit",
    source=DataSource(
        title="MMVP, questions",
        homepage="https://huggingface.co/datasets/MMVP/MMVP",
        licence="MIT",
        citation="Tong et al. 2024, Eyes Wide Shut?, CVPR, arXiv:2401.06209",
        root=ROOT,
        files=(RemoteFile(name="Questions.csv"),),
    ),
    images=ImageSet("mmvp", ("MMVP Images",), bytes_per_image=60_000, url=f"{ROOT}/MMVP%20Images"),
    make_row=make_row,
    items_per_row=2,
    fields=(QUESTION, CHOICES, ANSWER),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 4},
    changes={"*": "a caption is the question and an option"},
    rows={"main": 150},
    image_count=300,
    flaws=(
        Flaw(
            rows="pairs 99/100 and 279/280",
            what="the answers of the two images are exchanged",
            source="issues 14 and 30 of github.com/tsb0601/MMVP; lmms-eval corrects them",
        ),
    ),
)
