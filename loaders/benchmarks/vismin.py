"""VisMin: two images that differ in one object, attribute, count or relation, with one caption each.

    data-*.arrow or test/*.parquet (with images) -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Awal et al. 2024 (arXiv:2407.16772), https://huggingface.co/datasets/mair-lab/vismin-bench. The authors score as
Winoground does, by category.
"""

from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
)

IMAGES = ("image_0", "image_1")
PINNED_FILES = (
    RemoteFile(name="data/test/data-00000-of-00003.arrow"),
    RemoteFile(name="data/test/data-00001-of-00003.arrow"),
    RemoteFile(name="data/test/data-00002-of-00003.arrow"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two captions belongs to which of two images that differ in an object, "
    "attribute or relation?",
    year=2024,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="VisMin",
        homepage="https://huggingface.co/datasets/mair-lab/vismin-bench",
        licence="CC BY 4.0; images: COCO, under their Flickr licences, and generated",
        citation="Awal et al. 2024, VisMin, NeurIPS, arXiv:2407.16772",
        root="https://huggingface.co/datasets/mair-lab/vismin-bench/resolve/2f379d5b9a3af7f10d3266f6389b7b351e54c493",
        files=PINNED_FILES,
    ),
    images=dict.fromkeys(
        ("data-*.arrow", "test/*.parquet"),
        ImageSet("vismin", (), bytes_per_image=361_000, columns=IMAGES),
    ),
    columns=Columns(
        config="main",
        images=IMAGES,
        captions=("text_0", "text_1"),
        image_id="image_0",
        categories={"category": ("category",)},
    ),
    schema=GROUP_SCHEMA,
    split_files=True,
    chance={"*": 1 / 6},
    rows={"main": 2084},
    image_count=4168,
    flaws=(
        Flaw(
            rows="some rows",
            what="images and captions are mixed up",
            source="discussion 1 of the dataset on the Hub",
        ),
    ),
)
