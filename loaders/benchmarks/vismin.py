"""VisMin: two images that differ in one object, attribute, count or relation, with one caption each.

    data-*.arrow or test/*.parquet (with images) -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Awal et al. 2024 (arXiv:2407.16772), https://huggingface.co/datasets/mair-lab/vismin-bench. The authors score as
Winoground does, by category.
"""

from compeval.loaders.published import GROUP_SCHEMA, Benchmark, Columns, ImageSet

IMAGES = ("image_0", "image_1")
BENCHMARK = Benchmark(
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
    untested=True,
)
