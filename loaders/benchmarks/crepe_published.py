"""CREPE as its authors released it: productivity and systematicity files with one row per caption.

    prod_vg_hard_negs_{atom,swap,negate}_complexity_<n>.csv      prod_{hnatom,hnswap,hnneg}, split n<n>
    syst_vg_hard_negs_{seen,unseen}_compounds_in_<corpus>.csv    <corpus>_{sc,uc}_{hnatom,hncomp,hnall,raw}, split test

Source: Ma, Hong, Gul et al. 2023 (arXiv:2212.07796), https://github.com/RAIVNLab/CREPE. Each row names a Visual Genome
image and a crop. ``sc`` means that all compounds of the caption occur in the training corpus, and ``uc`` that one does
not. A systematicity row without negatives of a type is not in the config of this type.

The three productivity files of a complexity are joined: ``prod_hnall`` has the captions that all three have, with 15
negatives (Figure 13), and ``prod_raw`` the captions that any of them has. The raw pairs of the paper (Table 5) are
others: they were not released, nor those of unseen atoms.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from compeval.base.texts import have_same_words
from compeval.loaders.audit import has_negation
from compeval.loaders.papers.figures import retrieval_set_size
from compeval.loaders.published import (
    HARD_NEGATIVE_SCHEMA,
    RAW_SCHEMA,
    VISUAL_GENOME,
    Benchmark,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import BOX_COLUMNS, parse_box, parse_texts, read_csv, read_each

PRODUCTIVITY = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_(\d+)")
SYSTEMATICITY = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_(cc12m|yfcc|laion)")
TYPES = {"atom": "hnatom", "swap": "hnswap", "negate": "hnneg"}
COLUMNS = {
    "valid_hard_negs_atom": "hnatom",
    "valid_hard_negs_comp": "hncomp",
    "valid_hard_negs_combined": "hnall",
}
"""Configs by column of the systematicity files."""


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file. A systematicity row is repeated for each type of its negatives, and without any."""
    if match := PRODUCTIVITY.match(name):
        config, complexity = f"prod_{TYPES[match[1]]}", int(match[2])
        rows = read_csv(path, ("image_id", "caption", "hard_negs", *BOX_COLUMNS))
        return read_each(rows, lambda row: _make_row(row, config, "hard_negs", complexity))
    if match := SYSTEMATICITY.match(name):
        return _read_systematicity(path, f"{match[2]}_{'sc' if match[1] == 'seen' else 'uc'}")
    raise ValueError(
        f"{path}: unknown file name. Expected prod_vg_hard_negs_<type>_complexity_<n>.csv or "
        "syst_vg_hard_negs_<seen or unseen>_compounds_in_<corpus>.csv."
    )


def _read_systematicity(path: Path, prefix: str) -> Iterator[Row | Unusable]:
    for row in read_csv(path, ("image_id", "caption", *COLUMNS, *BOX_COLUMNS)):
        if missing := COLUMNS.keys() - row.keys():
            yield Unusable(f"the row ends before {min(missing)}")
            continue
        present = [
            column for column in COLUMNS if row[column].strip() not in ("", "[]", "set()", "nan")
        ]
        rows = list(
            read_each(
                present,
                lambda column, row=row: _make_row(row, f"{prefix}_{COLUMNS[column]}", column),
            )
        )
        yield from rows
        if usable := next((item for item in rows if isinstance(item, Row)), None):
            yield usable._replace(config=f"{prefix}_raw", hard_negatives=(), unordered=False)


def join(splits: Mapping[tuple[str, str], Sequence[Row]]) -> Iterator[Row]:
    """Yield the rows of prod_hnall and prod_raw, given those of the productivity files by config and split."""
    for split in dict.fromkeys(split for config, split in splits if config.startswith("prod_")):
        files = [splits.get((f"prod_{kind}", split), ()) for kind in TYPES.values()]
        if not all(files):
            continue
        by_caption = [
            {(row.image_id, row.box, row.captions): row for row in rows} for rows in files
        ]
        for key in dict.fromkeys(key for rows in by_caption for key in rows):
            found = [rows[key] for rows in by_caption if key in rows]
            row = found[0]._replace(swaps=False, unordered=any(row.unordered for row in found))
            yield row._replace(config="prod_raw", hard_negatives=(), unordered=False)
            if len(found) == len(files):
                negatives = tuple(text for row in found for text in row.hard_negatives)
                yield row._replace(config="prod_hnall", hard_negatives=negatives)


def _make_row(row: dict[str, str], config: str, column: str, complexity: int = 0) -> Row:
    negatives, unordered = parse_texts(row[column])
    size = retrieval_set_size(config)
    assert size is not None
    if len(negatives) != size - 1:
        raise ValueError(f"{len(negatives)} negatives instead of {size - 1}")
    image_id = str(int(float(row["image_id"])))
    return Row(
        config,
        (f"{image_id}.jpg",),
        (row["caption"],),
        negatives,
        image_id=image_id,
        split=f"n{complexity}" if complexity else "test",
        box=parse_box(*(row[side] for side in BOX_COLUMNS)),
        swaps=config.endswith("hnswap"),
        unordered=unordered,
        complexity=complexity,
    )


MIN_SHARE = 0.2
"""Share of negations, or of exchanged words, from which a file is one of negations or swaps. In the published files it
is 0 for the other types, 1 for negations and at least 0.36 for swaps."""


def recognise(name: str, items: list[dict[str, str]]) -> str | None:
    """The column ``n`` contains the complexity; the type follows from the negatives.

    The content of the systematicity files does not say which they are, so the name has to contain seen or unseen, and
    the corpus.
    """
    columns = set(items[0]) if items and name.endswith(".csv") else set()
    if COLUMNS.keys() <= columns:
        seen, corpus = (
            re.search(pattern, name.lower()) for pattern in ("unseen|seen", "cc12m|yfcc|laion")
        )
        return (
            f"syst_vg_hard_negs_{seen[0]}_compounds_in_{corpus[0]}.csv" if seen and corpus else None
        )
    if {"n", "hard_negs"} <= columns and len(complexities := {row.get("n") for row in items}) == 1:
        return f"prod_vg_hard_negs_{_find_type(items)}_complexity_{complexities.pop()}.csv"
    return None


def _find_type(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the type of the negatives of a productivity file: negate, swap or atom."""
    pairs: list[tuple[str, str]] = []
    for row in rows:
        with suppress(ValueError, KeyError):
            pairs += [(row["caption"], negative) for negative in parse_texts(row["hard_negs"])[0]]
    least = MIN_SHARE * len(pairs)
    if (
        sum(has_negation(negative) and not has_negation(caption) for caption, negative in pairs)
        > least
    ):
        return "negate"
    return "swap" if sum(have_same_words(*pair) for pair in pairs) > least else "atom"


BENCHMARK = Benchmark(
    images=dict.fromkeys(
        ("prod_vg_hard_negs_*_complexity_*.csv", "syst_vg_hard_negs_*_compounds_in_*.csv"),
        VISUAL_GENOME,
    ),
    read_file=read,
    recognise_file=recognise,
    item=f"the columns image_id, caption, {', '.join(BOX_COLUMNS)}, and n and hard_negs or {', '.join(COLUMNS)}",
    join=join,
    schema=HARD_NEGATIVE_SCHEMA,
    other_schemas={"*_raw": RAW_SCHEMA},
    chance={
        "prod_raw": 1 / 1508,
        "*_raw": 1 / 1855,
        "prod_hnall": 1 / 16,
        "prod_*": 1 / 6,
        "*_hnatom": 1 / 5,
        "*_hncomp": 1 / 7,
        "*_hnall": 1 / 11,
    },
)
