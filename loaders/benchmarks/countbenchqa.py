"""CountBenchQA: how many objects does the image show, two to ten?

    test-*.parquet (with images) -> config main; chance 1/9

Source: Beyer et al. 2024 (PaliGemma, arXiv:2407.07726), whose authors wrote questions for CountBench (Paiss et al.
2023, arXiv:2302.12066); the table is the copy https://huggingface.co/datasets/vikhyatk/CountBenchQA, 491 rows with the
images that are still available. A caption is the question and a number. The authors ask generative models for a number
without options; here the wrong ones are the other numbers of the set, in order.

The columns are those of lmms_eval/tasks/countbenchqa in https://github.com/EvolvingLMMs-Lab/lmms-eval at 75571cf. The
file itself was not read.
"""

from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, Benchmark, DataSource, ImageSet, Row

NUMBERS = range(2, 11)
"""CountBench has as many images of each number."""


def make_row(item: dict[str, Any], file: str) -> Row:
    number = int(item["number"])
    if number not in NUMBERS:
        raise ValueError(f"the number is {number}, expected {NUMBERS[0]} to {NUMBERS[-1]}")
    question = item["question"].strip()
    others = tuple(f"{question} {other}" for other in NUMBERS if other != number)
    category = (("number", str(number)),)
    return Row(
        "main",
        (item["image"],),
        (f"{question} {number}",),
        others,
        categories=category,
        changed=True,
    )


BENCHMARK = Benchmark(
    description="How many objects, from two to ten, does the image show?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="CountBenchQA",
        homepage="https://huggingface.co/datasets/vikhyatk/CountBenchQA",
        licence="not stated; images from the web (LAION-400M)",
        citation="Beyer et al. 2024, PaliGemma, arXiv:2407.07726; Paiss et al. 2023, Teaching CLIP to "
        "Count to Ten, ICCV, arXiv:2302.12066",
        download_instructions="Download the Parquet file of https://huggingface.co/datasets/vikhyatk/CountBenchQA "
        "(folder data) and pass its folder with --from.",
    ),
    images={
        "test-*.parquet": ImageSet("countbenchqa", (), bytes_per_image=100_000, columns=("image",))
    },
    make_row=make_row,
    fields=("image", "question", "number"),
    schema=CHOICE_SCHEMA,
    split_files=True,
    chance={"*": 1 / len(NUMBERS)},
    changes={"*": "a caption is the question and a number"},
    rows={"main": 491},
    image_count=491,
)
