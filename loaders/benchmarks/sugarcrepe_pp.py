"""SugarCrepe++: five files of two equivalent captions and a wrong one.

    {replace_att,replace_obj,replace_rel,swap_att,swap_obj}.json -> configs of the same names; chance 1/3

Source: Dumpala et al. 2024 (arXiv:2406.11171), https://github.com/Sri-Harsha/scpp. The images are whole images of
COCO's val2017. The rows are not SugarCrepe's: captions were corrected and persons made gender-neutral.
"""

from compeval.loaders.published import (
    COCO,
    PARAPHRASE_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    RemoteFile,
)

PINNED_FILES = (
    RemoteFile(name="replace_att.json", size=226275, sha256="6826413592894754eeca02aeebbcbbc8b95a7456998abcc714e71c033ce6fe87"),
    RemoteFile(name="replace_obj.json", size=456601, sha256="5c6dc499ec8f511a8aa4ec1b7b5eb0eca90317488abe36ec39573355e2d361ab"),
    RemoteFile(name="replace_rel.json", size=392738, sha256="040fb95d3f0619bf515db60879e99709a87a5e9b4f524ec3403b127243480fd4"),
    RemoteFile(name="swap_att.json", size=198206, sha256="450d0fd9fcad3e6f44950dc634e7f901ab1c6d9c60a569ade5ae8ffb3d203ad8"),
    RemoteFile(name="swap_obj.json", size=74611, sha256="5f33cae824de431a7ecd3c5de6301f689815f9497aa36d96b154bbaf117b201b"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Does the image score higher with two equivalent captions than with a similar wrong "
    "one?",
    year=2024,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="SugarCrepe++",
        homepage="https://github.com/Sri-Harsha/scpp",
        licence="CC BY 4.0; images: COCO, under their Flickr licences",
        citation="Dumpala et al. 2024, SUGARCREPE++, NeurIPS Datasets and Benchmarks, arXiv:2406.11171",
        root="https://raw.githubusercontent.com/Sri-Harsha/scpp/c083bbf039a5ca215acaf25e7ee736d2ea6f3864/data",
        files=PINNED_FILES,
    ),
    images=COCO,
    columns=Columns(
        images=("filename",),
        captions=("caption", "caption2"),
        hard_negatives=("negative_caption",),
        swaps="swap_*",
    ),
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
    tested=True,
    rows={
        "replace_att": 788,
        "replace_obj": 1652,
        "replace_rel": 1406,
        "swap_att": 666,
        "swap_obj": 245,
    },
    image_count=1542,
    flaws=(
        Flaw(
            rows="some paraphrases",
            what="they lose a part of the caption, which a language model rewrote",
            source="read by hand",
        ),
        Flaw(rows="one row of swap_att", what="it is repeated", source="counted"),
        Flaw(
            rows="two rows of swap_obj",
            what="the wrong caption equals a true one",
            source="counted",
        ),
    ),
)
