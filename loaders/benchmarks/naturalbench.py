"""NaturalBench: two questions about two images, which have opposite answers.

    train-*.parquet (with images) -> config main; test_set.json -> config finetuning_test
    chance: group accuracy 1/16

Source: Li et al. 2024 (arXiv:2410.14669), https://huggingface.co/datasets/BaiqiL/NaturalBench. test_set.json is the
half that the authors keep for testing fine-tuned models: four rows [question, image, answer, type] for each group. As
in the authors' script, a question ends in an instruction, without a blank before it. An answer follows its question.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    QUESTIONS_SCHEMA,
    Benchmark,
    ImageSet,
    Row,
    Unusable,
    read_image_set,
)
from compeval.loaders.published.rows import get_fields, read_each, read_items, read_json

SUFFIXES = {
    "yes_no": "Please answer Yes or No.",
    "multiple_choice": "Please output the letter corresponding to the correct option.",
}
KINDS = {"yes_no": "yes/no", "mcq": "multiple choice", "multiple_choice": "multiple choice"}
IMAGES = ("Image_0", "Image_1")
ANSWERS = ("Image_0_Question_0", "Image_1_Question_0", "Image_0_Question_1", "Image_1_Question_1")
FIELDS = ("Question_0", "Question_1", "Question_Type", *ANSWERS, *IMAGES)
LINES = 4
"""Lines of a group: question 0 about both images, then question 1."""


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the groups of one file, in order."""
    if path.suffix == ".parquet":
        return read_each(read_items(path, name, FIELDS, IMAGES), _make_row)
    lines = iter(read_json(path))
    return read_each(zip_longest(*[lines] * LINES), _join_lines)


def _make_row(item: dict[str, Any]) -> Row:
    images, kind = (item["Image_0"], item["Image_1"]), item["Question_Type"]
    questions = [item[f"Question_{question}"] + SUFFIXES[kind] for question in (0, 0, 1, 1)]
    return _make_group("main", images, questions, [item[column] for column in ANSWERS], kind)


def _join_lines(lines: Iterable[list[str]]) -> Row:
    questions, images, answers, kinds = zip(*lines, strict=True)
    if questions[::2] != questions[1::2] or images[:2] != images[2:]:
        raise ValueError("four lines are not two questions about two images")
    return _make_group("finetuning_test", images[:2], questions, answers, kinds[0])


def _make_group(
    config: str,
    images: tuple[str, ...],
    questions: Iterable[str],
    answers: Sequence[str],
    kind: str,
) -> Row:
    if answers[0] == answers[1] or answers[2] == answers[3]:
        raise ValueError("a question has the same answer for both images")
    captions = tuple(
        f"{question} {answer}" for question, answer in zip(questions, answers, strict=True)
    )
    return Row(config, images, captions, categories=(("type", KINDS[kind]),), changed=True)


def recognise(name: str, items: list[Any]) -> str | None:
    """Other tables have the same file names."""
    if get_fields(items) >= {*FIELDS}:
        return name
    is_line = (
        bool(items)
        and isinstance(items[0], list)
        and len(items[0]) == LINES
        and items[0][3] in KINDS
    )
    return "test_set.json" if is_line else None


BENCHMARK = Benchmark(
    images={
        "train-*.parquet": ImageSet("naturalbench", (), bytes_per_image=348_000, columns=IMAGES),
        "test_set.json": read_image_set("naturalbench_images"),
    },
    read_file=read,
    recognise_file=recognise,
    item=f"the columns {', '.join(FIELDS)} (train-*.parquet), or lists [question, image, answer, type] (test_set.json)",
    schema=QUESTIONS_SCHEMA,
    split_files=True,
    chance={"*": 1 / 16},
    changes={
        "main": "a question ends in the instruction of the authors' script, and its answer follows",
        "finetuning_test": "an answer follows its question",
    },
    untested=True,
)
