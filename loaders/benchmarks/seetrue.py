"""SeeTRUE: does a caption describe an image, a photograph or a generated one?

    SeeTRUE.csv -> configs drawbench, coco_t2i, editbench; chance of the accuracy about 1/2, of auc 1/2

Source: Yarom et al. 2023 (arXiv:2305.10400), https://huggingface.co/datasets/yonatanbitton/SeeTRUE. The table is the
copy of VQAScore's authors; the Hub's has the same size. A row is scored as VSR's. The authors report ``auc`` for each
source. SNLI-VE and Winoground, which the paper also uses, are not in the file.
"""

from compeval.loaders.published import TRUTH_SCHEMA, Benchmark, Columns, read_image_set

COUNTS = {"drawbench": (488, 824), "coco_t2i": (1163, 628), "editbench": (2133, 1694)}
"""Numbers of true and false captions."""
BENCHMARK = Benchmark(
    images=read_image_set("seetrue"),
    columns=Columns(
        config="{dataset_source}", images=("image",), captions=("text",), label="label"
    ),
    schema=TRUTH_SCHEMA,
    chance={
        name: (true**2 + false**2) / (true + false) ** 2 for name, (true, false) in COUNTS.items()
    },
)
