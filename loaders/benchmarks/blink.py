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

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
)
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


PINNED_FILES = (
    RemoteFile(name="Art_Style/val-00000-of-00001.parquet"),
    RemoteFile(name="Counting/val-00000-of-00001.parquet"),
    RemoteFile(name="Forensic_Detection/val-00000-of-00001.parquet"),
    RemoteFile(name="Functional_Correspondence/val-00000-of-00001.parquet"),
    RemoteFile(name="IQ_Test/val-00000-of-00001.parquet"),
    RemoteFile(name="Jigsaw/val-00000-of-00001.parquet"),
    RemoteFile(name="Multi-view_Reasoning/val-00000-of-00001.parquet"),
    RemoteFile(name="Object_Localization/val-00000-of-00001.parquet"),
    RemoteFile(name="Relative_Depth/val-00000-of-00001.parquet"),
    RemoteFile(name="Relative_Reflectance/val-00000-of-00001.parquet"),
    RemoteFile(name="Semantic_Correspondence/val-00000-of-00001.parquet"),
    RemoteFile(name="Spatial_Relation/val-00000-of-00001.parquet"),
    RemoteFile(name="Visual_Correspondence/val-00000-of-00001.parquet"),
    RemoteFile(name="Visual_Similarity/val-00000-of-00001.parquet"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two to four answers to a question about one image, or several side by side, "
    "is right?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="BLINK",
        homepage="https://huggingface.co/datasets/BLINK-Benchmark/BLINK",
        licence="Apache-2.0; images under their own licences",
        citation="Fu et al. 2024, BLINK, ECCV, arXiv:2404.12390",
        root="https://huggingface.co/datasets/BLINK-Benchmark/BLINK/resolve/a3666eb249237ba3d5eca8db21176cc47967e040",
        files=PINNED_FILES,
    ),
    images={f"{task}/val-00000-of-00001.parquet": declare_images(task) for task in NUM_OPTIONS},
    make_row=make_row,
    fields=("idx", "question", "choices", "answer", "image_1"),
    schema=CHOICE_SCHEMA,
    chance={task.lower(): 1 / count for task, count in NUM_OPTIONS.items()},
    changes={"*": "a caption is the question and an option"},
    rows={
        "art_style": 117,
        "counting": 120,
        "forensic_detection": 132,
        "functional_correspondence": 130,
        "iq_test": 150,
        "jigsaw": 150,
        "multi-view_reasoning": 133,
        "object_localization": 122,
        "relative_depth": 124,
        "relative_reflectance": 134,
        "semantic_correspondence": 139,
        "spatial_relation": 143,
        "visual_correspondence": 172,
        "visual_similarity": 135,
    },
    image_count=1901,
    flaws=(
        Flaw(
            rows="spatial_relation",
            what="the first option is right in 77 of 143 questions",
            source="counted in the authors' saved outputs",
        ),
        Flaw(
            rows="functional_correspondence",
            what="the third option is right in 43 of 130 questions, the second in 21",
            source="counted in the authors' saved outputs",
        ),
        Flaw(
            rows="relative_reflectance",
            what="the third option is right in 52 of 134 questions",
            source="counted in the authors' saved outputs",
        ),
        Flaw(
            rows="semantic_correspondence",
            what="the first option is right in 45 of 139 questions, the third in 25",
            source="counted in the authors' saved outputs",
        ),
        Flaw(
            rows="object_localization",
            what="the second option is right in 69 of 122 questions",
            source="counted in the authors' saved outputs",
        ),
        Flaw(
            rows="multi-view_reasoning",
            what="the second option is right in 74 of 133 questions",
            source="counted in the authors' saved outputs",
        ),
    ),
)
