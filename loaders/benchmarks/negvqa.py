"""NegVQA: questions about an image and their negations, with two options, of which each is right for one of the two.

    NegVQA-7379.jsonl (with images, base64) -> configs negated, original; chance 1/2

Source: Zhang et al. 2025 (arXiv:2505.22946), https://github.com/yuhui-zh15/NegVQA. GPT-4o negated the questions of
VMCBench, which come from 20 sets, by which results are broken down. A caption is the question and an option. The
authors ask generative models for a letter, and compare ``negated`` with ``original``.

The fields are those that their notebook writes (add_negation.ipynb at 0e4218b), and 3,651 of 7,379 original answers are
A there; the image is in the field of VMCBench. The files themselves were not read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import find_option, read_each, read_items

FILE = "NegVQA-7379.jsonl"
FIELDS = ("original_question", "negated_question", "A", "B", "original_answer", "negated_answer")
IMAGES = ImageSet("negvqa", (), bytes_per_image=200_000, columns=("image",))


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    for config in ("negated", "original"):
        items = read_items(path, name, (), IMAGES.columns)
        yield from read_each(items, lambda item, config=config: _make_row(item, config))


def _make_row(item: dict[str, Any], config: str) -> Row:
    if item["original_answer"] == item["negated_answer"]:
        raise ValueError("the question and its negation have the same answer")
    options = [f"{item[f'{config}_question'].strip()} {item[letter]}" for letter in "AB"]
    answer = options.pop(find_option(item[f"{config}_answer"], len(options)))
    source = (("source", str(item["category"])),)
    return Row(config, (item["image"],), (answer,), tuple(options), categories=source, changed=True)


def recognise(name: str, items: list[Any]) -> str | None:
    return FILE if items and isinstance(items[0], dict) and items[0].keys() >= {*FIELDS} else None


BENCHMARK = Benchmark(
    description="Which of two answers to a question, or to its negation, is right?",
    year=2025,
    licence_id="other",
    source=DataSource(
        title="NegVQA",
        homepage="https://github.com/yuhui-zh15/NegVQA",
        licence="code MIT; images of 20 sets of VMCBench, under their own licences",
        citation="Zhang et al. 2025, NegVQA: Can Vision Language Models Understand Negation?, ACL "
        "Findings, arXiv:2505.22946",
        download_instructions="Download NegVQA-7379.jsonl, one JSON object per line with the image in base64, of "
        "https://huggingface.co/datasets/yuhuizhang/NegVQA and pass its folder with --from.",
    ),
    images={FILE: IMAGES},
    read_file=read,
    recognise_file=recognise,
    item=f"the keys {', '.join(FIELDS)}",
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    changes={"*": "a caption is the question and an option"},
    rows={"negated": 7379, "original": 7379},
    image_count=7379,
    flaws=(
        Flaw(
            rows="3 of 100 sampled rows",
            what="the negated question is wrong",
            source="the authors, section 3",
        ),
        Flaw(
            rows="all rows of negated",
            what="with two options, the answer to a negation is the one that is wrong for the question",
            source="the authors' notebook",
        ),
    ),
)
