"""SeeTRUE: does a caption describe an image, a photograph or a generated one?

    SeeTRUE.csv -> configs drawbench, coco_t2i, editbench; chance of the accuracy about 1/2, of auc 1/2

Source: Yarom et al. 2023 (arXiv:2305.10400), https://huggingface.co/datasets/yonatanbitton/SeeTRUE. The table is the
copy of VQAScore's authors; the Hub's has the same size. A row is scored as VSR's. The authors report ``auc`` for each
source. SNLI-VE and Winoground, which the paper also uses, are not in the file.
"""

from typing import Any

from loaders.published import LABELS, REGISTRY, TRUTH_SCHEMA, Benchmark, ImageSet, Row


def make_row(item: dict[str, Any], file: str) -> Row:
    return Row(item["dataset_source"], (item["image"],), (item["text"],), label=LABELS[item["label"]])


COUNTS = {"drawbench": (488, 824), "coco_t2i": (1163, 628), "editbench": (2133, 1694)}
"""Numbers of true and false captions."""
ARCHIVES = REGISTRY["seetrue"].image_archives
BENCHMARK = Benchmark(
    images=ImageSet("seetrue", ("images",), archives=ARCHIVES, bytes_per_image=780_000),
    make_row=make_row,
    fields=("image", "text", "label", "original_dataset_id", "dataset_source"),
    schema=TRUTH_SCHEMA,
    chance={name: (true**2 + false**2) / (true + false) ** 2 for name, (true, false) in COUNTS.items()},
)
