"""BiVLC: two images and two captions, each caption of SugarCrepe with an image of its negative.

    test-*.parquet (with images) -> config main; chance: text (I2T) 1/4, image (T2I) 1/4, group 1/6

Source: Miranda et al. 2024 (arXiv:2406.09952), https://huggingface.co/datasets/imirandam/BiVLC. The authors' I2T score
is Winoground's text score, and their T2I score its image score.
"""

from compeval.loaders.published import GROUP_SCHEMA, Benchmark, Columns, ImageSet

IMAGES = ("image", "negative_image")
BENCHMARK = Benchmark(
    images={"test-*.parquet": ImageSet("bivlc", (), bytes_per_image=91_500, columns=IMAGES)},
    columns=Columns(
        config="main",
        images=IMAGES,
        captions=("caption", "negative_caption"),
        image_id="image",
        categories={"type": ("type",), "subtype": ("type", "subtype")},
    ),
    schema=GROUP_SCHEMA,
    split_files=True,
    chance={"*": 1 / 6},
    untested=True,
)
