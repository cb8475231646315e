"""COCO-Counterfactuals: two generated images and two captions that differ in a noun.

    examples.jsonl -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Le et al. 2023 (arXiv:2309.14356), https://huggingface.co/datasets/Intel/COCO-Counterfactuals. The first caption
is one of COCO's, the second has another subject; both images are generated from them. Scored as Winoground is; the
authors report retrieval among all images.
"""

from typing import Any

from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
)


def make_row(item: dict[str, Any], file: str) -> Row:
    images = tuple(f"{item[name]}.jpg" for name in ("image_0", "image_1"))
    return Row(
        "main",
        images,
        (item["caption_0"], item["caption_1"]),
        image_id=item["id"].partition("_")[0],
    )


ROOT = "https://huggingface.co/datasets/Intel/COCO-Counterfactuals/resolve/958a3e0b32421b9f07c4c3f78aecbf98019a3402/data"
IMAGE_ARCHIVES = (RemoteFile(url=f"{ROOT}/images.zip", name="images.zip", makes="images"),)
BENCHMARK = Benchmark(
    description="Which of two captions with another subject belongs to which of two generated images?",
    year=2023,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="COCO-Counterfactuals",
        homepage="https://huggingface.co/datasets/Intel/COCO-Counterfactuals",
        licence="CC BY 4.0",
        citation="Le et al. 2023, COCO-Counterfactuals, NeurIPS Datasets and Benchmarks, "
        "arXiv:2309.14356",
        root=ROOT,
        files=(RemoteFile(name="examples.jsonl"),),
        image_archives=IMAGE_ARCHIVES,
    ),
    images=ImageSet("coco_counterfactuals", ("images",), archives=IMAGE_ARCHIVES),
    make_row=make_row,
    fields=("id", "image_0", "image_1", "caption_0", "caption_1"),
    schema=GROUP_SCHEMA,
    chance={"*": 1 / 6},
    rows={"main": 17410},
    image_count=34820,
    flaws=(
        Flaw(
            rows="all rows",
            what="both images are generated, the second by editing the first",
            source="the authors, section 3",
        ),
    ),
)
