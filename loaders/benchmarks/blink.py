"""BLINK, the two tasks of compositionality that have one image: questions about spatial relations and counts.

    Spatial_Relation/val-*.parquet -> config spatial_relation, chance 1/2
    Counting/val-*.parquet (both with images) -> config counting, chance 1/4

Source: Fu et al. 2024 (arXiv:2404.12390), https://huggingface.co/datasets/BLINK-Benchmark/BLINK. A caption is the
question and an option. The authors ask generative models for a letter. The answers of the test split are not published.
Of the other twelve tasks, eight ask about several images together, which no protocol here does, and the options of four
name marks or puzzles in the image, not what it shows.

The columns are those that the authors' script reads, eval/test_benchmark.py in
https://github.com/zeyofu/BLINK_Benchmark at 2d6a779; the form of ``idx`` and the numbers of rows are those of
eval/saved_outputs. The files themselves were not read.
"""

from typing import Any

from loaders.published import CHOICE_SCHEMA, Benchmark, ImageSet, Row
from loaders.published.rows import find_option

NUM_OPTIONS = {"Spatial_Relation": 2, "Counting": 4}


def make_row(item: dict[str, Any], file: str) -> Row:
    split, _, numbered_task = item["idx"].partition("_")
    task = numbered_task.rpartition("_")[0]
    if len(item["choices"]) != NUM_OPTIONS.get(task):
        raise ValueError("neither a question about a relation with two options nor one about a count with four")
    if split == "test":
        raise ValueError("the answers of the test split are not published")
    options = [f"{item['question'].strip()} {option}" for option in item["choices"]]
    answer = options.pop(find_option(item["answer"], len(options)))
    return Row(task.lower(), (item["image_1"],), (answer,), tuple(options), changed=True)


BENCHMARK = Benchmark(
    images={
        f"{task}/val-00000-of-00001.parquet": ImageSet(f"blink_{task.lower()}", (), columns=("image_1",))
        for task in NUM_OPTIONS
    },
    make_row=make_row,
    fields=("idx", "question", "choices", "answer", "image_1"),
    schema=CHOICE_SCHEMA,
    chance={"spatial_relation": 1 / 2, "counting": 1 / 4},
    changes={"*": "a caption is the question and an option"},
    untested=True,
)
