"""CV-Bench: questions about counts, positions, depth and distance, with two to six options.

    test*.parquet (with images) -> configs relation, depth, distance with two options, and count_N with N;
    chance 1 / N

Source: Tong et al. 2024 (Cambrian-1, arXiv:2406.16860), https://huggingface.co/datasets/nyu-visionx/CV-Bench. A caption
is the question and an option. The authors ask generative models for a letter, and report the mean of 3D and of the mean
of ADE20K and COCO: results are broken down by source.
"""

from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
)
from compeval.loaders.published.rows import find_option


def make_row(item: dict[str, Any], file: str) -> Row:
    options = [f"{item['question']} {option}" for option in item["choices"]]
    options.insert(0, options.pop(find_option(item["answer"], len(options))))
    config = item["task"].lower() + ("" if len(options) == 2 else f"_{len(options)}")
    source = (("source", item["source"]),)
    return Row(
        config, (item["image"],), (options[0],), tuple(options[1:]), categories=source, changed=True
    )


BENCHMARK = Benchmark(
    description="Which answer to a question about a count, a position, depth or distance is right?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="CV-Bench",
        homepage="https://huggingface.co/datasets/nyu-visionx/CV-Bench",
        licence="Apache-2.0; images: ADE20K, COCO and Omni3D, under their own licences",
        citation="Tong et al. 2024, Cambrian-1, NeurIPS, arXiv:2406.16860",
        root="https://huggingface.co/datasets/nyu-visionx/CV-Bench/resolve/22409a927ab5cf68e3655023d51694587455fc99",
        files=(RemoteFile(name="test.parquet"),),
    ),
    images={"test*.parquet": ImageSet("cv_bench", (), bytes_per_image=149_000, columns=("image",))},
    make_row=make_row,
    fields=("image", "question", "choices", "answer", "task", "source", "filename"),
    schema=CHOICE_SCHEMA,
    split_files=True,
    chance={f"*_{number}": 1 / number for number in range(3, 7)} | {"*": 1 / 2},
    changes={"*": "a caption is the question and an option"},
    rows={"relation": 650, "depth": 600, "distance": 600, "count*": 788},
    image_count=2638,
)
