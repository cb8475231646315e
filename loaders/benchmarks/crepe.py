"""Read CREPE as its authors released it: productivity and systematicity files with one row per caption.

    prod_vg_hard_negs_{atom,swap,negate}_complexity_<n>.csv         prod_{hnatom,hnswap,hnneg}, split n<n>
    syst_vg_hard_negs_{seen,unseen}_compounds_in_<corpus>.csv       <corpus>_{sc,uc}_{hnatom,hncomp,hnall}, split test

Source: Ma, Hong, Gul et al. 2023 (arXiv:2212.07796), https://github.com/RAIVNLab/CREPE. Each row names a Visual Genome
image and a crop. ``sc`` means that all compounds of the caption occur in the training corpus, and ``uc`` that one does
not. A systematicity row without negatives of a type is not in the config of this type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from loaders.benchmarks.rows import BOX_COLUMNS, Family, Row, Unusable, parse_box, parse_texts, read_csv, read_each
from loaders.papers.figures import retrieval_set_size

PRODUCTIVITY = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_(\d+)")
SYSTEMATICITY = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_(cc12m|yfcc|laion)")
TYPES = {"atom": "hnatom", "swap": "hnswap", "negate": "hnneg"}
COLUMNS = {"atom": "hnatom", "comp": "hncomp", "combined": "hnall"}


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file. A systematicity row is repeated for each type of its negatives."""
    if match := PRODUCTIVITY.match(name):
        return _productivity(path, f"prod_{TYPES[match[1]]}", int(match[2]))
    if match := SYSTEMATICITY.match(name):
        return _systematicity(path, f"{match[2]}_{'sc' if match[1] == 'seen' else 'uc'}")
    raise ValueError(
        f"{path}: unknown file name. Expected prod_vg_hard_negs_<type>_complexity_<n>.csv or "
        "syst_vg_hard_negs_<seen or unseen>_compounds_in_<corpus>.csv."
    )


def _productivity(path: Path, config: str, complexity: int) -> Iterator[Row | Unusable]:
    rows = read_csv(path, ("image_id", "caption", "hard_negs", *BOX_COLUMNS))
    return read_each(rows, lambda row: _row(row, config, f"n{complexity}", "hard_negs", complexity))


def _systematicity(path: Path, prefix: str) -> Iterator[Row | Unusable]:
    columns = {key: f"valid_hard_negs_{key}" for key in COLUMNS}
    for row in read_csv(path, ("image_id", "caption", *columns.values(), *BOX_COLUMNS)):
        if missing := columns.values() - row.keys():
            yield Unusable(f"the row ends before {min(missing)}")
            continue
        present = [key for key in COLUMNS if row[columns[key]].strip() not in ("", "[]", "set()", "nan")]
        yield from read_each(
            present, lambda key, row=row: _row(row, f"{prefix}_{COLUMNS[key]}", "test", columns[key], 0)
        )


def _row(row: dict[str, str], config: str, split: str, column: str, complexity: int) -> Row:
    negatives, unordered = parse_texts(row[column])
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
        parse_box(*(row[side] for side in BOX_COLUMNS)),
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
