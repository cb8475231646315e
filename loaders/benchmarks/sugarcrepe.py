"""SugarCrepe: seven files of COCO captions, each caption with one fluent hard negative.

    {add,replace,swap}_{obj,att,rel}.json -> configs of the same names (add_rel and swap_rel do not exist); chance 1/2

Source: Hsieh et al. 2023 (arXiv:2306.14610), https://github.com/RAIVNLab/sugar-crepe. The images are whole images of
COCO's val2017. The negatives were written by a language model; in a swap, it may also change words to keep the text
fluent.
"""

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    RemoteFile,
)

PINNED_FILES = (
    RemoteFile(name="add_att.json", size=158863, sha256="012d88d729693d193760e6f3393b06a1cf874380a9db0062e937201199fe044d"),
    RemoteFile(name="add_obj.json", size=484593, sha256="1b9d76b93139a937b8dc1ada92a4f05ecc821bb3c291d752428bafadd4bb0682"),
    RemoteFile(name="replace_att.json", size=176843, sha256="9fe55fd4c0a9ad1f85d486d9f6d0215b41f867eb025026e7f7b5ce44352545ee"),
    RemoteFile(name="replace_obj.json", size=361126, sha256="9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898"),
    RemoteFile(name="replace_rel.json", size=312629, sha256="356bcc2fc4c6aed3f4d9fd50acc58489bb1fe70c28791f9368d4cbf9ea39cdc9"),
    RemoteFile(name="swap_att.json", size=154665, sha256="7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0"),
    RemoteFile(name="swap_obj.json", size=57569, sha256="073cdb8e253d053614e80710834d9773b09dbc1dd0a412f6f9492262caa1dcad"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two fluent captions, one with a changed, added or exchanged part, describes "
    "the image?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="SugarCrepe",
        homepage="https://github.com/RAIVNLab/sugar-crepe",
        licence="MIT; images: COCO, under their Flickr licences",
        citation="Hsieh et al. 2023, SugarCrepe, NeurIPS Datasets and Benchmarks, arXiv:2306.14610",
        root="https://raw.githubusercontent.com/RAIVNLab/sugar-crepe/0047054b243992f0fad63d6f64f7544862daf846/data",
        files=PINNED_FILES,
    ),
    images=COCO,
    columns=Columns(
        images=("filename",),
        captions=("caption",),
        hard_negatives=("negative_caption",),
        swaps="swap_*",
    ),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={
        "add_att": 692,
        "add_obj": 2062,
        "replace_att": 788,
        "replace_obj": 1652,
        "replace_rel": 1406,
        "swap_att": 666,
        "swap_obj": 245,
    },
    image_count=1560,
    flaws=(
        Flaw(
            rows="swap_obj", what="the file has 245 rows, the paper's table 246", source="counted"
        ),
    ),
)
