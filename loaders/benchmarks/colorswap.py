"""ColorSwap: two images, and two captions with the same words, in which colours change places.

    {test,train}-*.parquet (with images), {test,train}.json -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Burapacheep et al. 2024 (arXiv:2402.04492), https://github.com/Top34051/colorswap. The dataset on the Hub is
gated. The images are generated. The authors score as Winoground does.
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

IMAGES = ("image_1", "image_2")


TABLE = ImageSet("colorswap", (), bytes_per_image=1_400_000, columns=IMAGES)
FILES = ImageSet("colorswap", ("images",))
BENCHMARK = Benchmark(
    description="Which of two captions with exchanged colours belongs to which of two images?",
    year=2024,
    licence_id="mit",
    source=DataSource(
        title="ColorSwap",
        homepage="https://huggingface.co/datasets/stanfordnlp/colorswap",
        licence="MIT; gated",
        citation="Burapacheep et al. 2024, ColorSwap, Findings of ACL, arXiv:2402.04492",
        root="https://huggingface.co/datasets/stanfordnlp/colorswap/resolve/main",
        files=(RemoteFile(name="data/test-00000-of-00001.parquet"),),
    ),
    images={
        "test-*.parquet": TABLE,
        "train-*.parquet": TABLE,
        "test.json": FILES,
        "train.json": FILES,
    },
    columns=Columns(
        config={"train*": "main/train", "*": "main"},
        images=IMAGES,
        captions=("caption_1", "caption_2"),
        image_id="id",
    ),
    schema=GROUP_SCHEMA,
    split_files=True,
    chance={"*": 1 / 6},
    rows={"main/test": 300},
    image_count=600,
    flaws=(
        Flaw(
            rows="the download",
            what="the name of the file on the Hub is not confirmed",
            source="this project",
        ),
    ),
)
