"""SeeTRUE: does a caption describe an image, a photograph or a generated one?

    SeeTRUE.csv -> configs drawbench, coco_t2i, editbench; chance of the accuracy about 1/2, of auc 1/2

Source: Yarom et al. 2023 (arXiv:2305.10400), https://huggingface.co/datasets/yonatanbitton/SeeTRUE. The table is the
copy of VQAScore's authors; the Hub's has the same size. A row is scored as VSR's. The authors report ``auc`` for each
source. SNLI-VE and Winoground, which the paper also uses, are not in the file.
"""

from compeval.loaders.published import (
    TRUTH_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    ImageSet,
    RemoteFile,
)

COUNTS = {"drawbench": (488, 824), "coco_t2i": (1163, 628), "editbench": (2133, 1694)}
"""Numbers of true and false captions."""
IMAGE_ARCHIVES = (
    RemoteFile(
        url="https://huggingface.co/datasets/yonatanbitton/SeeTRUE/resolve/6cc46a6e5d9388f44fdf9096d5387cd3b7988676/images.zip",
        name="images.zip",
        makes="images",
    ),
)
BENCHMARK = Benchmark(
    description="Is a caption true of an image, a photograph or a generated one?",
    year=2023,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="SeeTRUE",
        homepage="https://huggingface.co/datasets/yonatanbitton/SeeTRUE",
        licence="CC BY 4.0",
        citation="Yarom et al. 2023, What You See is What You Read?, NeurIPS, arXiv:2305.10400",
        root="https://raw.githubusercontent.com/linzhiqiu/t2v_metrics/60ce07b144b9bff24b8dac5317cb28586b1b2509/datasets",
        files=(
            RemoteFile(
                name="SeeTRUE.csv",
                size=781942,
                sha256="175c78dffe54724259ed8466f9e71fbda8aaa4f479b99a3a3530a2c89f763fd0",
            ),
        ),
        image_archives=IMAGE_ARCHIVES,
    ),
    images=ImageSet("seetrue", ("images",), bytes_per_image=780_000, archives=IMAGE_ARCHIVES),
    columns=Columns(
        config="{dataset_source}", images=("image",), captions=("text",), label="label"
    ),
    schema=TRUTH_SCHEMA,
    chance={
        name: (true**2 + false**2) / (true + false) ** 2 for name, (true, false) in COUNTS.items()
    },
    tested=True,
    rows={"drawbench": 1312, "coco_t2i": 1791, "editbench": 3827},
    image_count=6930,
)
