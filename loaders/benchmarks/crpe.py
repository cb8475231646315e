"""CRPE: questions about the existence of objects and about relations, with four options.

    crpe_exist.jsonl -> config exist; crpe_relation.jsonl -> configs subject, predicate, object; chance 1/4

Source: Wang et al. 2024 (The All-Seeing Project V2, arXiv:2402.19474), https://huggingface.co/datasets/OpenGVLab/CRPE.
Four consecutive lines of a file are one question, whose options are rotated. A caption is the question and an option.
The authors ask generative models for a letter, and a question is right if all four rotations are (chance 1/256).
An encoder's answer does not depend on the order, so that its ``recall@1`` is this accuracy. ``circular_accuracy`` of a
model that chooses is the same rule for questions with two options, of which a row has three (chance 1/64).

The format is the one that evaluations read: all-seeing-v2/llava/eval/eval_crpe.py (groups of four, categories) in
https://github.com/OpenGVLab/all-seeing at 5f13d18, and lmms_eval/tasks/crpe_relation/utils.py (options, images) in
https://github.com/EvolvingLMMs-Lab/lmms-eval at 2cc7d0f. The files themselves were not read.
"""

import re
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
)
from compeval.loaders.published.rows import find_option

ROTATIONS = 4
LETTERS = "ABCD"
OPTION = re.compile(r"^([A-Z])\.[ \t]*(.+?)[ \t]*$", re.MULTILINE)
ABNORMAL = ImageSet(
    "crpe_abnormal",
    ("abnormal_images",),
    url="https://huggingface.co/datasets/OpenGVLab/CRPE/resolve/a2bf6bc9e46d88688121f606b4b2d4b4ae67935b",
)
"""Images of relations that are rare in the world, in a folder of the repository on the Hub."""


def make_row(rotations: tuple[dict[str, Any], ...], file: str) -> Row:
    """Return the row of a question, given its rotations. The wrong options are in the order of the first one."""
    first = rotations[0]
    questions = {_describe(item) for item in rotations}
    if len(questions) > 1 or {item["correct_option"] for item in rotations} != {*LETTERS}:
        raise ValueError("four consecutive lines are not the rotations of one question")
    question, options = _split(first["text"])
    answer = options.pop(find_option(first["correct_option"], len(options)))
    return Row(
        first["category"].lower(),
        (first["image"],),
        (f"{question} {answer}",),
        tuple(f"{question} {option}" for option in options),
        changed=True,
        image_set=ABNORMAL if first["image"].startswith("abnormal_images/") else None,
    )


def _describe(item: dict[str, Any]) -> tuple[str, ...]:
    """Return what is the same in all rotations of a question."""
    question, options = _split(item["text"])
    answer = options[find_option(item["correct_option"], len(options))]
    return (item["image"], item["category"], question, answer, *sorted(options))


def _split(text: str) -> tuple[str, list[str]]:
    """Return the question and its options, without the instruction that follows them."""
    options = dict(OPTION.findall(text))
    if "".join(options) != LETTERS:
        raise ValueError(f"not a question with the options {', '.join(LETTERS)}")
    return OPTION.split(text, maxsplit=1)[0].strip(), list(options.values())


BENCHMARK = Benchmark(
    description="Which of four answers to a question about an object, or the parts of a relation, is "
    "right?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="CRPE",
        homepage="https://huggingface.co/datasets/OpenGVLab/CRPE",
        licence="Apache-2.0; images: COCO, under their Flickr licences, and the authors'",
        citation="Wang et al. 2024, The All-Seeing Project V2, ECCV, arXiv:2402.19474",
        root="https://huggingface.co/datasets/OpenGVLab/CRPE/resolve/a2bf6bc9e46d88688121f606b4b2d4b4ae67935b",
        files=(RemoteFile(name="crpe_exist.jsonl"), RemoteFile(name="crpe_relation.jsonl")),
    ),
    images=COCO,
    make_row=make_row,
    items_per_row=ROTATIONS,
    fields=("question_id", "image", "text", "correct_option", "category"),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 4},
    changes={"*": "a caption is the question and an option"},
)
