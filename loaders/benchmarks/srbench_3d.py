"""3DSRBench: questions about height, location, orientation and several objects in space, with two to four options.

    3dsrbench_v1.csv or 3dsrbench_v1-*.parquet -> configs height, location, orientation, multi_object, and NAME_N with
    N options if there are more than two; chance 1 / N

Source: Ma et al. 2024 (arXiv:2412.07825), https://huggingface.co/datasets/ccvl/3DSRBench. A caption is the question and
an option. The authors ask generative models for a letter, once for each rotation of the options and for the mirrored
image; an encoder's answer does not depend on their order. Results are broken down by the twelve types of questions. The
images are COCO's, and views of synthetic scenes.

The columns are those of evaluations of the file: lmms_eval/tasks/3dsrbench in
https://github.com/EvolvingLMMs-Lab/lmms-eval at 75571cf (options, categories), and vlmeval/dataset/image_mcq.py in
https://github.com/open-compass/VLMEvalKit at e8e78f0. The file itself was not read.
"""

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from compeval.loaders.published import CHOICE_SCHEMA, COCO, Benchmark, DataSource, ImageSet, Row
from compeval.loaders.published.rows import find_option

GROUPS = ("height", "location", "orientation", "multi_object")
LETTERS = "ABCD"
SYNTHETIC = ImageSet(
    "srbench_3d_synthetic",
    ("images", "coco_images", "hssd_images"),
    download_instructions="Download the synthetic images of https://huggingface.co/datasets/ccvl/3DSRBench and "
    "name their folder.",
)


def make_row(item: dict[str, Any], file: str) -> Row:
    kind = item["category"]
    group = next((group for group in GROUPS if kind.startswith(group)), None)
    if group is None:
        raise ValueError(f"unknown category {kind!r}")
    cells = [item.get(letter) for letter in LETTERS]
    options = [text for text in cells if text and str(text).lower() != "nan"]
    if len(options) < 2 or options != cells[: len(options)]:
        raise ValueError("not two to four options")
    texts = [f"{item['question'].strip()} {option}" for option in options]
    truth = texts.pop(find_option(item["answer"], len(texts)))
    url = urlsplit(item["image_url"])
    return Row(
        group if len(options) == 2 else f"{group}_{len(options)}",
        (PurePosixPath(url.path).name,),
        (truth,),
        tuple(texts),
        categories=(("type", kind),),
        changed=True,
        image_set=COCO if "cocodataset" in url.netloc else SYNTHETIC,
    )


BENCHMARK = Benchmark(
    description="Which of two to four answers to a question about height, location, orientation or "
    "several objects is right?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="3DSRBench",
        homepage="https://huggingface.co/datasets/ccvl/3DSRBench",
        licence="not stated here; images: COCO, under their Flickr licences, and synthetic",
        citation="Ma et al. 2024, 3DSRBench: A Comprehensive 3D Spatial Reasoning Benchmark, ICCV "
        "2025, arXiv:2412.07825",
        download_instructions="Download 3dsrbench_v1.csv of https://huggingface.co/datasets/ccvl/3DSRBench and pass "
        "its folder with --from; the synthetic images are in the same repository.",
    ),
    images=dict.fromkeys(("3dsrbench_v1.csv", "3dsrbench_v1-*.parquet"), COCO),
    make_row=make_row,
    fields=("question", *LETTERS, "answer", "category", "image_url"),
    schema=CHOICE_SCHEMA,
    chance={"*_3": 1 / 3, "*_4": 1 / 4, "*": 1 / 2},
    changes={"*": "a caption is the question and an option"},
)
