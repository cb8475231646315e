"""The paper's tables, in its own shape, from a frame of results (read.frame).

Source: CREPE (arXiv:2212.07796), appendix B: Tables 9 to 11 (systematicity), 12 to 14 (productivity), 15 and 16 (raw).
Numbers are percent, as printed there; in brackets 95 % intervals over images. Tables come as data frames of text, ready
for HTML, Markdown, LaTeX and CSV.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from generators.schemas.corpus_names import CORPORA

KINDS = {"hnall": "HN-Atom + HN-Comp", "hnatom": "HN-Atom", "hncomp": "HN-Comp"}
PRODUCTIVITY_KINDS = {
    "hnatom": "HN-Atom",
    "hnswap": "HN-Swap",
    "hnneg": "HN-Neg",
    "hnneg_balanced": "HN-Neg, balanced",
    "hnall": "All types",
}
METRICS = {"recall@1": "R@1", "recall@3": "R@3", "recall@5": "R@5", "avg_recall": "Avg R@K"}


@dataclass(frozen=True)
class Table:
    """A caption, the name of its files, and the cells."""

    name: str
    caption: str
    cells: pd.DataFrame


def percent(share: float | None) -> str:
    return "-" if share is None or math.isnan(share) else f"{100 * share:.2f}"


def _row(rows: pd.DataFrame, key: str | int) -> Mapping[Any, Any] | None:
    """The one row of that index."""
    return rows.loc[[key]].to_dict("records")[0] if key in rows.index else None


def with_interval(row: Mapping[Any, Any] | None) -> str:
    """Recall@1 and its 95 % interval."""
    if row is None:
        return "-"
    return f"{percent(row['recall@1'])} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def corpus_name(corpus: str | None) -> str:
    return CORPORA.get(corpus or "", corpus or "other")


def model_name(row: pd.Series) -> str:
    """The model, marked where its training images are the benchmark's."""
    return f"{row['model']} *" if row["contaminated"] else row["model"]


def ordered(results: pd.DataFrame) -> pd.DataFrame:
    """By training corpus, in the paper's order, then by model."""
    place = {corpus: index for index, corpus in enumerate(CORPORA)}
    return results.assign(place=results["trained_on"].map(place).fillna(len(place))).sort_values(["place", "model"])


def own_corpus(results: pd.DataFrame) -> pd.DataFrame:
    """Systematicity rows of models on the corpus that they were trained on."""
    return results[results["split"].notna() & (results["corpus"] == results["trained_on"])]


def systematicity(results: pd.DataFrame, kind: str) -> Table | None:
    """Tables 9 to 11: recalls of each model on the SC and UC sets of its own corpus; None where nothing was run."""
    rows = own_corpus(results)
    rows = rows[rows["kind"] == kind]
    if rows.empty:
        return None
    metrics = [key for key in METRICS if key in rows and rows[key].notna().any()]
    set_size = int(rows["set_size"].iloc[0])
    chance = {"recall@1": 1 / set_size, "recall@3": 3 / set_size, "recall@5": 5 / set_size}
    chance["avg_recall"] = (chance["recall@1"] + chance["recall@3"]) / 2
    header = ["Training data", "Model", *(f"{METRICS[key]} {split}" for key in metrics for split in ("SC", "UC"))]
    body = [["Random", "", *(percent(chance[key]) for key in metrics for _ in ("SC", "UC"))]]
    for (_, model), group in ordered(rows).groupby(["place", "model"]):
        by_split = group.set_index("split")
        rows_of = [_row(by_split, split) for split in ("sc", "uc")]
        cells = [
            with_interval(row) if key == "recall@1" else percent(None if row is None else row[key])
            for key in metrics
            for row in rows_of
        ]
        first = group.iloc[0]
        body.append([corpus_name(first["trained_on"]), model_name(first), *cells])
        assert model == first["model"]
    caption = f"Systematicity, {KINDS[kind]}: image-to-text retrieval among {set_size} captions (percent)."
    return Table(f"systematicity_{kind}", caption, pd.DataFrame(body, columns=header))


def by_complexity(results: pd.DataFrame, kind: str) -> Table | None:
    """Tables 12 to 14: Recall@1 of each model by complexity; None where nothing was run."""
    rows = results[results["complexity"].notna() & (results["kind"] == kind)]
    if rows.empty:
        return None
    numbers = sorted(int(number) for number in rows["complexity"].unique())
    set_size = int(rows["set_size"].iloc[0])
    header = ["Training data", "Model", *(f"n = {number}" for number in numbers)]
    body = [["Random", "", *([percent(1 / set_size)] * len(numbers))]]
    for _, group in ordered(rows).groupby(["place", "model"]):
        first, by_number = group.iloc[0], group.set_index("complexity")
        cells = [with_interval(_row(by_number, number)) for number in numbers]
        body.append([corpus_name(first["trained_on"]), model_name(first), *cells])
    caption = f"Productivity, {PRODUCTIVITY_KINDS[kind]}: Recall@1 among {set_size} captions (percent)."
    return Table(f"productivity_{kind}", caption, pd.DataFrame(body, columns=header))


def raw(results: pd.DataFrame) -> Table | None:
    """Table 15: image-to-text Recall@1 on the raw pairs, mean and standard deviation over folds."""
    rows = own_corpus(results)
    rows = rows[rows["kind"] == "raw"]
    if rows.empty:
        return None
    splits = [split for split in ("sc", "uc", "ua") if split in set(rows["split"])]
    body = []
    for _, group in ordered(rows).groupby(["place", "model"]):
        first, by_split = group.iloc[0], group.set_index("split")
        cells = [
            f"{percent(by_split['i2t_recall@1'].get(split))} ± {percent(by_split['i2t_recall@1_std'].get(split))}"
            for split in splits
        ]
        body.append([corpus_name(first["trained_on"]), model_name(first), str(int(first["set_size"])), *cells])
    header = ["Training data", "Model", "N", *(split.upper() for split in splits)]
    chance = f"chance {100 / int(rows['set_size'].max()):.2f}"
    return Table(
        "systematicity_raw",
        f"Raw retrieval, image to text: Recall@1 among N captions (percent, {chance}).",
        pd.DataFrame(body, columns=header),
    )


def paper_tables(results: pd.DataFrame) -> list[Table]:
    """Every table for which there are results."""
    made = [systematicity(results, kind) for kind in KINDS]
    made += [by_complexity(results, kind) for kind in PRODUCTIVITY_KINDS]
    return [table for table in [*made, raw(results)] if table is not None]


def to_latex(table: Table) -> str:
    return table.cells.to_latex(index=False, caption=table.caption, label=f"tab:{table.name}", escape=True)


def to_markdown(table: Table) -> str:
    """A GitHub table under its caption."""
    header, rows = list(table.cells.columns), table.cells.to_numpy().tolist()
    lines: Sequence[Sequence[str]] = [header, ["---"] * len(header), *rows]
    return f"{table.caption}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
