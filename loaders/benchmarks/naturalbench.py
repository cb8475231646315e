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
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
    Score,
    Unusable,
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
    images = (item["Image_0"], item["Image_1"])
    kind = item["Question_Type"]
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


PINNED_FILES = (
    RemoteFile(name="data/train-00000-of-00003.parquet"),
    RemoteFile(name="data/train-00001-of-00003.parquet"),
    RemoteFile(name="data/train-00002-of-00003.parquet"),
    RemoteFile(url="https://raw.githubusercontent.com/Baiqi-Li/NaturalBench/99676059da42c0094df345bb3333b1140a18483b/dataset_split_for_finetuning/test_set.json", size=657950, sha256="f4ca78dc9f75cddd5f076b15213e20eacf2c6574a7cefa9a30a8f17b829b3633"),
)  # fmt: skip
SCORE_SOURCE = "Table 2 of the paper, original answers, read in a copy of its tables"
SCORES = (
    Score("llava-hf/llava-1.5-13b-hf", "main", "question_accuracy", 38.6, SCORE_SOURCE),
    Score("llava-hf/llava-1.5-13b-hf", "main", "image_accuracy", 43.5, SCORE_SOURCE),
    Score("llava-hf/llava-1.5-13b-hf", "main", "group_accuracy", 14.4, SCORE_SOURCE),
    Score("deepseek-ai/deepseek-vl-7b-chat", "main", "question_accuracy", 45.8, SCORE_SOURCE),
    Score("deepseek-ai/deepseek-vl-7b-chat", "main", "image_accuracy", 49.9, SCORE_SOURCE),
    Score("deepseek-ai/deepseek-vl-7b-chat", "main", "group_accuracy", 19.4, SCORE_SOURCE),
    Score("BLIP-3 (XGen-MM), Phi-3-Mini", "main", "question_accuracy", 46.8, SCORE_SOURCE),
    Score("BLIP-3 (XGen-MM), Phi-3-Mini", "main", "image_accuracy", 51.1, SCORE_SOURCE),
    Score("BLIP-3 (XGen-MM), Phi-3-Mini", "main", "group_accuracy", 19.5, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-5", "main", "question_accuracy", 52.6, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-5", "main", "image_accuracy", 56.0, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-5", "main", "group_accuracy", 24.3, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-2", "main", "question_accuracy", 52.6, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-2", "main", "image_accuracy", 56.0, SCORE_SOURCE),
    Score("OpenGVLab/InternVL-Chat-V1-2", "main", "group_accuracy", 26.2, SCORE_SOURCE),
    Score("OpenGVLab/InternVL2-26B", "main", "question_accuracy", 55.7, SCORE_SOURCE),
    Score("OpenGVLab/InternVL2-26B", "main", "image_accuracy", 58.5, SCORE_SOURCE),
    Score("OpenGVLab/InternVL2-26B", "main", "group_accuracy", 28.2, SCORE_SOURCE),
    Score("llava-hf/llava-onevision-qwen2-7b-ov-hf", "main", "question_accuracy", 55.4, SCORE_SOURCE),
    Score("llava-hf/llava-onevision-qwen2-7b-ov-hf", "main", "image_accuracy", 58.2, SCORE_SOURCE),
    Score("llava-hf/llava-onevision-qwen2-7b-ov-hf", "main", "group_accuracy", 28.6, SCORE_SOURCE),
    Score("gpt-4o-2024-08-06", "main", "question_accuracy", 65.0, SCORE_SOURCE),
    Score("gpt-4o-2024-08-06", "main", "image_accuracy", 67.0, SCORE_SOURCE),
    Score("gpt-4o-2024-08-06", "main", "group_accuracy", 40.5, SCORE_SOURCE),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="What is the answer to two questions about two images, which have opposite answers?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="NaturalBench",
        homepage="https://huggingface.co/datasets/BaiqiL/NaturalBench",
        licence="Apache-2.0; images: Flickr30k and DOCCI, under their own licences",
        citation="Li et al. 2024, NaturalBench, NeurIPS Datasets and Benchmarks, arXiv:2410.14669",
        root="https://huggingface.co/datasets/BaiqiL/NaturalBench/resolve/b6a84a18ba24544169681d4b15543dd103d4d3bb",
        files=PINNED_FILES,
    ),
    images={
        "train-*.parquet": ImageSet("naturalbench", (), bytes_per_image=348_000, columns=IMAGES),
        "test_set.json": ImageSet(
            "naturalbench_images",
            ("images", "flickr30k-images"),
            download_instructions="They are images of Flickr30k and DOCCI; name a folder that has both.",
        ),
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
    rows={"main": 1900, "finetuning_test": 950},
    image_count=3800,
    flaws=(
        Flaw(
            rows="all questions",
            what="there is no blank before the instruction, as in the authors' script",
            source="counted",
        ),
    ),
    scores=SCORES,
)
