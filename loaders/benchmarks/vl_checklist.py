"""Read VL-CheckList: captions of objects, attributes and relations, each with one changed word.

    Attribute/<source>/<type>.json                 -> attribute_<type>             action, color, material, size, state
    Object/Location/<folder>/<source>_<place>.json -> object_location_<place>      center, mid, margin
    Object/Size/<folder>/<source>_<size>.json      -> object_size_<size>           large, medium, small
    Relation/<source>/<type>.json, Relation/<source>_action.json -> relation_<type>  action, spatial

Source: Zhao et al. 2022 (arXiv:2207.00221), https://github.com/om-ai-lab/VL-CheckList. Chance 1/2. The images are whole
images of Visual Genome, SWiG and HAKE. A config has the rows of several sources, and published scores are means over
the sources (``recall@1_macro_source``). A source of Object has several parts, such as swig_agent and swig_tool; the
authors average them first, here their rows count alike. A side of a row may have several captions; like the authors, we
use the first. The authors' configuration limits a file to its first 1,000 rows; here, all rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from generators.schemas.rows import CHOICE_SCHEMA
from loaders.published.declaration import Benchmark, Flaw, github
from loaders.published.image_sets import HAKE, SWIG, VISUAL_GENOME
from loaders.published.rows import Row, Unusable, read_each, read_json


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    config, source = parse_name(PurePosixPath(name))

    def row(item: list) -> Row:
        image, captions = item
        texts = (captions["POS"][0],), (captions["NEG"][0],)
        return Row(config, (image,), *texts, categories=(("source", source.partition("_")[0]), ("part", source)))

    return read_each(read_json(path), row)


def parse_name(name: PurePosixPath) -> tuple[str, str]:
    """Return the config and the part of a source that a file contains, such as swig_agent."""
    kind, folder = name.parts[0], name.parent.name
    if kind == "Object":
        source, _, size_or_place = name.stem.rpartition("_")
        return f"object_{name.parts[1]}_{size_or_place}".lower(), source
    source, _, change = name.stem.rpartition("_") if folder == kind else (folder, "", name.stem)
    return f"{kind}_{change}".lower(), source


DOWNLOADS = {
    "Attribute/vaw/action.json": (247229, "aa9b2e4348a83bfae9593eb3edd713b451d14ae041f1f553a05bc3ab22670358"),
    "Attribute/vaw/material.json": (941482, "e182bff14fa4f7e3cd212b46efa1d63ee25b7b91b05eece1cab3bb8ba65de2e9"),
    "Attribute/vaw/size.json": (1177705, "847850ec3533a5425872ce349c5f6eda3377e71ba3fe124a6327fe0a8ee8a986"),
    "Attribute/vaw/state.json": (381152, "09ea607e33d7ca62014eec46ffd18a70c34d9f3bbe6a46d8cbb70fa93b2b7681"),
    "Attribute/vg/action.json": (175956, "a20b1ee682ab2fb62978cca3a95fc27aa6b35f9238ca7c8847f74671c40db7ba"),
    "Attribute/vg/color.json": (1040049, "93e5d316cfc964c7b4bce2182c9916533ec3aa6e006830859af7c0d2de9f76c7"),
    "Attribute/vg/material.json": (226906, "b2c1e312cba0a8efdc5113dd451e21f7fd9d0e96a222a5406ffa8dd67b30d094"),
    "Attribute/vg/size.json": (239074, "0a2a929d9dce990cfd4b05299e2d2a7fe59b5c679a3e7f52419a5375ea42f24b"),
    "Attribute/vg/state.json": (84899, "d13bc1292de364cd787fc651f4abc0ffaafe9fbf09ec8ce25af76bb349415a2e"),
    "Object/Location/hake_location/hake_obj_margin.json": (
        1150392,
        "366036209fa04e6b19e446873a443cd53bf31a4fb1c67500e1a9239d38a670b6",
    ),
    "Object/Location/swig_location/swig_agent/swig_agent_margin.json": (
        104006,
        "44e5e84b2b918dd598a3120681d39f7e32b6bfa768b00c8f21bba13edefd0cd7",
    ),
    "Object/Location/swig_location/swig_agent/swig_agent_mid.json": (
        2017390,
        "bb9e2b4eda57ec58fd4abb69150a65f4516b63b88d2e7b9aa6965aaf02d422a6",
    ),
    "Object/Location/swig_location/swig_destination/swig_destination_center.json": (
        493077,
        "b5b49b88aca88b15452791297f709c1d960acad393bd609b399eff7d095e65fe",
    ),
    "Object/Location/swig_location/swig_destination/swig_destination_margin.json": (
        23696,
        "e4800a02f7b29a3518b2d0b42466fda895cf2f3b18051d6c0be2aca080f78023",
    ),
    "Object/Location/swig_location/swig_destination/swig_destination_mid.json": (
        254279,
        "f683618a16ae3ba25540a5bd6d9b32bdfedd1f2cf87d930be7527b823ac18f90",
    ),
    "Object/Location/swig_location/swig_item/swig_item_center.json": (
        1679033,
        "c3773948b258fc400e215a5d0b5f3f503cb0d2517b8a913559a1f6a9690489e2",
    ),
    "Object/Location/swig_location/swig_item/swig_item_margin.json": (
        37463,
        "375aaf489b71d15332faf362c49524c3073209e586768ad5091cbeaabdd853af",
    ),
    "Object/Location/swig_location/swig_item/swig_item_mid.json": (
        695242,
        "1a2e16a2d0bb56e3b1f3954316d2843df27680500e488dba1836f5863b1d472b",
    ),
    "Object/Location/swig_location/swig_tool/swig_tool_center.json": (
        1782184,
        "b5401f571d1ad9fe78aff41a3aa4096fbabca7d6cfdda1c8ec0537dd60235b30",
    ),
    "Object/Location/swig_location/swig_tool/swig_tool_margin.json": (
        56770,
        "e53ea11ab37cd4dd09e02c43d6dc2226d13384d2511a1e543117183d01dec7e7",
    ),
    "Object/Location/swig_location/swig_tool/swig_tool_mid.json": (
        1000268,
        "899495a517c022e5ba1e6e6654f934d181d25d412203728d9bca02c1c4b0957d",
    ),
    "Object/Location/vg_location/vg_obj_margin.json": (
        719657,
        "14c00f0b84f8709ee1b04b70e18bfff9b8c6ea650af6047e6523906634ca1e3c",
    ),
    "Object/Location/vg_location/vg_subj_center.json": (
        2352051,
        "9d69a2d46d405a5ff62dbc000349f3614f76e1945c8b684f2b850c13a2d8cd1f",
    ),
    "Object/Location/vg_location/vg_subj_margin.json": (
        551575,
        "8c188d5533eb1f1108ad9ea2a743177c3b24d46d5361f6c94af2cf4d7d299332",
    ),
    "Object/Location/vg_location/vg_subj_mid.json": (
        2427035,
        "f215e8cff68e688ed7bcd8ca8b6a9a12f7e1edf38aec6bb59846ed745bf8b6e4",
    ),
    "Object/Size/hake_size/hake_obj_medium.json": (
        3513509,
        "ecbe2fdf963138364dd16afb1e0bad6b14c189a3229373e0905b35432d32730f",
    ),
    "Object/Size/hake_size/hake_obj_small.json": (
        673993,
        "1f06d35ebf3db0f5c886ea4ec502c376faed3d425f4211804c8dd89cc0de2221",
    ),
    "Object/Size/swig_size/swig_agent/swig_agent_medium.json": (
        170189,
        "b4147d44dd4a16c5a580d8c1e5d2a9a8f7adb3a74838e88c2b169ef805fdec63",
    ),
    "Object/Size/swig_size/swig_agent/swig_agent_small.json": (
        17663,
        "595f454c422eb64e41e07afc27dd966fc5a8d65865f9aa4bc67402a1ba2d3e33",
    ),
    "Object/Size/swig_size/swig_destination/swig_destination_large.json": (
        714790,
        "fa3c1e0a6c418868e326ddaa218caa888d46f4b6de9f6475ea5c19e40056e27c",
    ),
    "Object/Size/swig_size/swig_destination/swig_destination_medium.json": (
        52002,
        "4b404a3a1c37f077bcd37aa9cc50a5f4943cdc258ae20cc76fed21ec2d077f2f",
    ),
    "Object/Size/swig_size/swig_destination/swig_destination_small.json": (
        4260,
        "81d7f531e9516bb469e0c251fc078f7557c1ceb3a8fab6b01d479fa5c6ccda1c",
    ),
    "Object/Size/swig_size/swig_item/swig_item_large.json": (
        2042889,
        "efb6c7bcce85d6540bd042368144670a6f72471f009b8a0a3fcb4d8763b4fb6e",
    ),
    "Object/Size/swig_size/swig_item/swig_item_medium.json": (
        304476,
        "bc6898e3fdd0a0c75b33a734022f153fead0dacacb3160c3ec17f47f16397fe8",
    ),
    "Object/Size/swig_size/swig_item/swig_item_small.json": (
        64373,
        "33d9d4b827385faf6bee8237330df5561348e266b29d031c00b28820a4c81a40",
    ),
    "Object/Size/swig_size/swig_tool/swig_tool_large.json": (
        2051134,
        "6e50360bcbd3aadade6073b0ca67e07e8d64a56426d059e732475af88444d146",
    ),
    "Object/Size/swig_size/swig_tool/swig_tool_medium.json": (
        652610,
        "05ad7953ddb0ce563ece3f36f83a62ca22d90c256cc82a70c44c876260baa8e7",
    ),
    "Object/Size/swig_size/swig_tool/swig_tool_small.json": (
        135478,
        "55fa1b2ee3c9c33cf21ba7e84421c551bc19cab1768440f3600a70564802d77a",
    ),
    "Object/Size/vg_size/vg_obj_medium.json": (
        2663221,
        "cc08adb0c267f8e4cce7a75c5ff91f585ced1510fb6893a4c6dc52cebe713d4d",
    ),
    "Object/Size/vg_size/vg_obj_small.json": (
        1183599,
        "a2aa7820542f7b3bf2117d570e7fd0a8deb3235d91d01488d49038a19a485fd7",
    ),
    "Object/Size/vg_size/vg_subj_large.json": (
        2439019,
        "b491242d2e4405155d826b22b48d83bb42100fa16ac4b0b05d70a3a9f1d14311",
    ),
    "Object/Size/vg_size/vg_subj_medium.json": (
        1930274,
        "111c66edc702fcf494dd34ef72191d9557b91c32afc079a9b2d97cf4bc512259",
    ),
    "Object/Size/vg_size/vg_subj_small.json": (
        961368,
        "37e35926c4689592c44cd7f659c4deff011432b211c4736108e1fd0feabec464",
    ),
    "Relation/swig_action.json": (3882658, "ed3a65cb815c1fb0947b337bbfc95bbcf517fa0124ce7cb9bd4d915de02eb4f4"),
    "Relation/vg/action.json": (1216888, "2722201353c885670315f935d53cb4e08f462e629c3f88c73da9a286ea66d7a1"),
    "Relation/vg/spatial.json": (2753305, "2582095a4b8515048ba2e33d37d2bffc109e6734924b47bf977236b7f9b72303"),
}
BENCHMARK = Benchmark(
    title="VL-CheckList",
    asks="Which of two captions with one different object, attribute or relation describes the image?",
    year=2022,
    paper="Zhao et al. 2022, VL-CheckList, EMNLP system demonstrations, arXiv:2207.00221",
    homepage="https://github.com/om-ai-lab/VL-CheckList",
    licence="none stated; images: Visual Genome (CC BY 4.0), SWiG and HAKE, under their own licences",
    licence_id="other",
    files={
        "Attribute/*/*.json": VISUAL_GENOME,
        "Object/*/vg_*/*.json": VISUAL_GENOME,
        "Object/*/hake_*/*.json": HAKE,
        "Object/*/swig_*/*/*.json": SWIG,
        "Relation/vg/*.json": VISUAL_GENOME,
        "Relation/swig_action.json": SWIG,
        "Relation/hake_action.json": HAKE,
    },
    split_files=True,
    downloads=github("om-ai-lab/VL-CheckList", "6f8d6a3281c401b89e4e154f46c6974ec2df3a82", DOWNLOADS, folder="data"),
    read=read,
    schema=CHOICE_SCHEMA,
    rows={
        "attribute_action": 4_931,
        "attribute_material": 14_305,
        "attribute_size": 18_016,
        "attribute_state": 5_880,
        "attribute_color": 11_569,
        "object_location_margin": 24_841,
        "object_location_mid": 35_839,
        "object_location_center": 34_665,
        "object_size_medium": 85_310,
        "object_size_small": 30_985,
        "object_size_large": 37_400,
        "relation_action": 37_883,
        "relation_spatial": 30_650,
    },
    image_count=75258,
    chance={"*": 1 / 2},
    flaws=(
        Flaw("122 rows", "both captions are equal; 66 of them in Attribute/vg/color", "counted"),
        Flaw("9,874 rows", "they are repeated; 4,448 of them in Relation/vg/spatial", "counted"),
        Flaw("Object", "a wrong caption may be about another object altogether (man has leg, flower pot)", "read"),
        Flaw("files of more than 1,000 rows", "the authors' configuration takes their first 1,000", "authors' code"),
        Flaw("swig_place_large, _medium, _small", "the files are empty; they are not downloaded", "counted"),
        Flaw("nine files, among them Attribute/vaw/color", "they are not pinned; import your own copies", "CompEval"),
    ),
)
