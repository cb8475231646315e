"""BiVLC: two images and two captions, each caption of SugarCrepe with an image of its negative.

    test-*.parquet (with images) -> config main; chance: text (I2T) 1/4, image (T2I) 1/4, group 1/6

Source: Miranda et al. 2024 (arXiv:2406.09952), https://huggingface.co/datasets/imirandam/BiVLC. The authors' I2T score
is Winoground's text score, and their T2I score its image score.
"""

from compeval.loaders.published import (
    GROUP_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Score,
)

IMAGES = ("image", "negative_image")
SCORE_SOURCE = "the authors' file of results, computed over all rows"
SCORES = (
    Score("ViT-B-32-quickgelu/openai", "main", "text_score", 75.83, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "main", "image_score", 52.4, SCORE_SOURCE),
    Score("ViT-B-32-quickgelu/openai", "main", "group_score", 49.06, SCORE_SOURCE),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two captions belongs to which of two images, one of COCO and one generated "
    "from a negative caption?",
    year=2024,
    licence_id="mit",
    source=DataSource(
        title="BiVLC",
        homepage="https://huggingface.co/datasets/imirandam/BiVLC",
        licence="MIT; images: COCO, under their Flickr licences, and generated",
        citation="Miranda et al. 2024, BiVLC, NeurIPS Datasets and Benchmarks, arXiv:2406.09952",
        root="https://huggingface.co/datasets/imirandam/BiVLC/resolve/0c504074819f3fa83d5d3f37018f8b43c05bda82",
        files=(
            RemoteFile(
                name="data/test-00000-of-00002-23fe2e02660e9182.parquet",
                size=270932780,
                sha256="9469ea7a364e75c0ef40614bf41a2904401440b93cf3d6939f8a9a768b1a9ecc",
            ),
            RemoteFile(
                name="data/test-00001-of-00002-14f2e7301669b3c1.parquet",
                size=265877499,
                sha256="5e7a5f8f7e98744df9c855b7e81e1eaa5caa6e15599ce906a66f9dec1b783649",
            ),
        ),
    ),
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
    rows={"main": 2933},
    image_count=5866,
    flaws=(
        Flaw(
            rows="all rows",
            what="one image is a photograph and the other one generated",
            source="the authors, section 3",
        ),
    ),
    scores=SCORES,
)
