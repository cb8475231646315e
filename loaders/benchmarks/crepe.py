"""CREPE as its authors released it: productivity and systematicity files, one row a caption.

    prod_vg_hard_negs_{atom,swap,negate}_complexity_<n>.csv         prod_{hnatom,hnswap,hnneg}, split n<n>
    syst_vg_hard_negs_{seen,unseen}_compounds_in_<corpus>.csv       <corpus>_{sc,uc}_{hnatom,hncomp,hnall}, split test

Source: Ma, Hong, Gul et al. 2023 (arXiv:2212.07796), https://github.com/RAIVNLab/CREPE. Each row names a Visual Genome
image and a crop. A systematicity row may lack negatives of a type, and is then not in that config.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from loaders.benchmarks.rows import Family, Row, Unusable, box, csv_rows, each, literal
from loaders.cards.crepe import retrieval_set_size

PRODUCTIVITY = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_(\d+)")
SYSTEMATICITY = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_(cc12m|yfcc|laion)")
TYPES = {"atom": "hnatom", "swap": "hnswap", "negate": "hnneg"}
COLUMNS = {"atom": "hnatom", "comp": "hncomp", "combined": "hnall"}
BOX = ("x", "y", "width", "height")


def read(path: Path) -> Iterator[Row | Unusable]:
    """The rows of one file; a systematicity row comes once for each type of its negatives."""
    if found := PRODUCTIVITY.match(path.name):
        return _productivity(path, f"prod_{TYPES[found[1]]}", int(found[2]))
    if found := SYSTEMATICITY.match(path.name):
        return _systematicity(path, f"{found[2]}_{'sc' if found[1] == 'seen' else 'uc'}")
    raise ValueError(f"{path}: the name says neither complexity nor compounds and corpus, as the published ones do.")


def _productivity(path: Path, config: str, complexity: int) -> Iterator[Row | Unusable]:
    rows = csv_rows(path, ("image_id", "caption", "hard_negs", *BOX))
    return each(rows, lambda row: _row(row, config, f"n{complexity}", "hard_negs", complexity))


def _systematicity(path: Path, prefix: str) -> Iterator[Row | Unusable]:
    keys = {key: f"valid_hard_negs_{key}" for key in COLUMNS}
    for row in csv_rows(path, ("image_id", "caption", *keys.values(), *BOX)):
        if missing := keys.values() - row.keys():
            yield Unusable(f"the row ends before {min(missing)}")
            continue
        present = [key for key in COLUMNS if row[keys[key]].strip() not in ("", "[]", "set()", "nan")]
        yield from each(present, lambda key, row=row: _row(row, f"{prefix}_{COLUMNS[key]}", "test", keys[key], 0))


def _row(row: dict[str, str], config: str, split: str, column: str, complexity: int) -> Row:
    negatives, unordered = literal(row[column])
    size = retrieval_set_size(config)
    assert size is not None
    if len(negatives) != size - 1:
        raise ValueError(f"{len(negatives)} negatives instead of {size - 1}")
    image_id = str(int(float(row["image_id"])))
    return Row(
        config,
        split,
        image_id,
        f"{image_id}.jpg",
        box(*(row[side] for side in BOX)),
        row["caption"],
        negatives,
        swaps=config.endswith("hnswap"),
        unordered=unordered,
        complexity=complexity,
    )


FAMILY = Family(
    name="crepe_published",
    title="CREPE as published",
    files={
        "prod_vg_hard_negs_*_complexity_*.csv": "visual_genome",
        "syst_vg_hard_negs_*_compounds_in_*.csv": "visual_genome",
    },
    read=read,
    schema=HARD_NEGATIVE_SCHEMA,
    image_folders=("VG_100K", "VG_100K_2", "images"),
    licence="cc-by-4.0",
    url="https://github.com/RAIVNLab/CREPE",
    paper="Ma et al. 2023, arXiv:2212.07796",
)
