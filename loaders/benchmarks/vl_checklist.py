"""VL-CheckList: captions of objects, attributes and relations, each with one changed word.

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

from pathlib import PurePosixPath
from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, HAKE, SWIG, VISUAL_GENOME, Benchmark, Row


def make_row(item: list[Any], file: str) -> Row:
    image, captions = item
    config, part = parse_name(PurePosixPath(file))
    categories = (("source", part.partition("_")[0]), ("part", part))
    return Row(
        config, (image,), (captions["POS"][0],), (captions["NEG"][0],), categories=categories
    )


def parse_name(name: PurePosixPath) -> tuple[str, str]:
    """Return the config and the part of a source that a file contains, such as swig_agent."""
    kind, folder = name.parts[0], name.parent.name
    if kind == "Object":
        part, _, size_or_place = name.stem.rpartition("_")
        return f"object_{name.parts[1]}_{size_or_place}".lower(), part
    part, _, change = name.stem.rpartition("_") if folder == kind else (folder, "", name.stem)
    return f"{kind}_{change}".lower(), part


BENCHMARK = Benchmark(
    images={
        "Attribute/*/*.json": VISUAL_GENOME,
        "Object/*/vg_*/*.json": VISUAL_GENOME,
        "Object/*/hake_*/*.json": HAKE,
        "Object/*/swig_*/*/*.json": SWIG,
        "Relation/vg/*.json": VISUAL_GENOME,
        "Relation/swig_action.json": SWIG,
        "Relation/hake_action.json": HAKE,
    },
    split_files=True,
    make_row=make_row,
    item='lists [image, {"POS": [caption], "NEG": [caption]}]',
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
)
