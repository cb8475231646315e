"""BLINK, 14 tasks of visual perception as multiple-choice questions, about one image or several.

    Spatial_Relation/val-*.parquet (with images) -> config spatial_relation, chance 1/2
    Jigsaw/val-*.parquet           (with images) -> config jigsaw, chance 1/2

Source: Fu et al. 2024 (arXiv:2404.12390), https://huggingface.co/datasets/BLINK-Benchmark/BLINK. A caption is the
question and an option. The authors ask generative models for a letter. The answers of the test split are not published.
Spatial relations and counts are about compositionality; the other tasks are about depth, style, matching points and so
on. The options of most of them name images or marks in an image, which a dual encoder can hardly use.

Several images of a question are joined side by side, as the authors do for models that get one image (their results
"GPT4V* concatenate images"): black, 10 pixels between them.

The columns, the joining and the numbers of options are those of eval/test_benchmark.py and eval/saved_outputs in
https://github.com/zeyofu/BLINK_Benchmark at 2d6a779. The files themselves were not read; 41 questions of four tasks, 17
of them about two images, were seen in the format of SpatialScore (https://github.com/haoningwu3639/SpatialScore).
"""

from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, Benchmark, ImageSet, Row
from compeval.loaders.published.rows import find_option

NUM_OPTIONS = {
    "Art_Style": 2,
    "Counting": 4,
    "Forensic_Detection": 4,
    "Functional_Correspondence": 4,
    "IQ_Test": 4,
    "Jigsaw": 2,
    "Multi-view_Reasoning": 2,
    "Object_Localization": 2,
    "Relative_Depth": 2,
    "Relative_Reflectance": 3,
    "Semantic_Correspondence": 4,
    "Spatial_Relation": 2,
    "Visual_Correspondence": 4,
    "Visual_Similarity": 2,
}
ONE_IMAGE = {
    "Counting", "IQ_Test", "Object_Localization", "Relative_Depth", "Relative_Reflectance", "Spatial_Relation"
}  # fmt: skip
"""Tasks about one image. The others are about two to four."""


def declare_images(task: str) -> ImageSet:
    """Return the images of a task, whose file has the same name as those of the other tasks."""
    columns = tuple(f"image_{number}" for number in range(1, 5))
    return ImageSet(
        f"blink_{task.lower()}",
        (),
        columns=columns[:1],
        joined_columns=() if task in ONE_IMAGE else columns,
    )


def make_row(item: dict[str, Any], file: str) -> Row:
    split, _, numbered_task = item["idx"].partition("_")
    task = numbered_task.rpartition("_")[0]
    if (count := NUM_OPTIONS.get(task)) is None:
        raise ValueError(f"unknown task {task or item['idx']!r}")
    if len(item["choices"]) != count:
        raise ValueError(f"{len(item['choices'])} options, {task} has {count}")
    if split == "test":
        raise ValueError("the answers of the test split are not published")
    options = [f"{item['question'].strip()} {option}" for option in item["choices"]]
    answer = options.pop(find_option(item["answer"], len(options)))
    return Row(task.lower(), (item["image_1"],), (answer,), tuple(options), changed=True)


BENCHMARK = Benchmark(
    images={f"{task}/val-00000-of-00001.parquet": declare_images(task) for task in NUM_OPTIONS},
    make_row=make_row,
    fields=("idx", "question", "choices", "answer", "image_1"),
    schema=CHOICE_SCHEMA,
    chance={task.lower(): 1 / count for task, count in NUM_OPTIONS.items()},
    changes={"*": "a caption is the question and an option"},
    untested=True,
)
