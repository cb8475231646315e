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

from compeval.base.text_only.cues import has_negation
from compeval.base.texts import have_same_words
from compeval.loaders.papers.figures import retrieval_set_size
from compeval.loaders.published import (
    HARD_NEGATIVE_SCHEMA,
    RAW_SCHEMA,
    VISUAL_GENOME,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
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
        config = f"prod_{TYPES[match[1]]}"
        complexity = int(match[2])
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
            same_caption = [rows[key] for rows in by_caption if key in rows]
            row = same_caption[0]._replace(
                swaps=False, unordered=any(row.unordered for row in same_caption)
            )
            yield row._replace(config="prod_raw", hard_negatives=(), unordered=False)
            if len(same_caption) == len(files):
                negatives = tuple(text for row in same_caption for text in row.hard_negatives)
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
        seen = re.search("unseen|seen", name.lower())
        corpus = re.search("cc12m|yfcc|laion", name.lower())
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


# By complexity, from 4 to 12: the numbers of Table 5 divided by 5 negatives, as in the files of complexity 4, 8 and 12.
# The files of negations have other numbers than the table; all 27 files together have 39,715 rows. The files of
# systematicity were not counted: theirs are the numbers of Table 5 divided by 4 (HN-Atom) and 6 (HN-Comp)
# negatives. Table 8 exchanges those of LAION's seen and unseen compounds.
ROWS = {
    "prod_hnatom/n4": 1258, "prod_hnatom/n5": 1454, "prod_hnatom/n6": 1805, "prod_hnatom/n7": 2082,
    "prod_hnatom/n8": 2241, "prod_hnatom/n9": 1897, "prod_hnatom/n10": 2265, "prod_hnatom/n11": 1724,
    "prod_hnatom/n12": 2001, "prod_hnswap/n4": 27, "prod_hnswap/n5": 36, "prod_hnswap/n6": 262,
    "prod_hnswap/n7": 505, "prod_hnswap/n8": 991, "prod_hnswap/n9": 884, "prod_hnswap/n10": 1293,
    "prod_hnswap/n11": 1076, "prod_hnswap/n12": 1578, "prod_hnneg": 16336, "cc12m_sc_hnatom": 26006,
    "cc12m_sc_hncomp": 26006, "cc12m_sc_hnall": 26006, "cc12m_uc_hnatom": 3587, "cc12m_uc_hncomp": 3587,
    "cc12m_uc_hnall": 3587, "yfcc_sc_hnatom": 18987, "yfcc_sc_hncomp": 18987, "yfcc_sc_hnall": 18987,
    "yfcc_uc_hnatom": 9801, "yfcc_uc_hncomp": 9801, "yfcc_uc_hnall": 9801, "laion_sc_hnatom": 15721,
    "laion_sc_hncomp": 15721, "laion_sc_hnall": 15721, "laion_uc_hnatom": 12401, "laion_uc_hncomp": 12401,
    "laion_uc_hnall": 12401,
}  # fmt: skip
BENCHMARK = Benchmark(
    description="Which caption of a crop is true, among foils of atoms, of word order or with "
    "negations?",
    year=2023,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="CREPE as published",
        homepage="https://github.com/RAIVNLab/CREPE",
        licence="none stated; CC BY 4.0 inferred from Visual Genome's annotations",
        citation="Ma et al. 2023, CREPE, CVPR, arXiv:2212.07796",
        root="https://raw.githubusercontent.com/RAIVNLab/CREPE/1fa81c425f442396fe304f170c8eb6dc0747c814/data",
        files=(
            RemoteFile(
                name="prod_hard_negatives.zip", git_blob="e73068643923319ab8bd38a43404a34221d41b41"
            ),
            RemoteFile(
                name="syst_hard_negatives.zip", git_blob="54eebe3a52eaacd978a08f2a5c1aaa7e53b82b4b"
            ),
        ),
    ),
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
    tested=True,
    unseen="the archives themselves, and the files of systematicity",
    rows=ROWS,
    flaws=(
        Flaw(
            rows="34 swap rows",
            what="the caption is among its negatives",
            source="counted over all productivity files",
        ),
        Flaw(
            rows="222 negation rows",
            what="a negative equals the caption up to case",
            source="counted over all productivity files",
        ),
        Flaw(
            rows="3,768 rows",
            what="the negatives are a set, without order",
            source="counted over all productivity files",
        ),
        Flaw(
            rows="80,626 of 81,680 negations",
            what="they begin with a capital, the caption does not",
            source="counted",
        ),
    ),
)
