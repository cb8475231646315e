"""Compare the captioners of the productivity sets: the captions themselves, and the scores of models on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from compeval.base.schemas.corpus_names import ProductivityConfig
from compeval.evaluators.report.headlines import compute_interval, read_hits
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.sections.crepe import PRODUCTIVITY_KINDS
from compeval.evaluators.report.tables import Table, format_with_interval, make_table
from compeval.evaluators.report.text_only import find_best_baseline

KINDS = ("hnatom", "hnswap", "hnneg")
NAMES = rf"^(?:(?P<captioner>[a-z]+)_)?(?P<kind>{'|'.join(KINDS)})$"
"""Name of a productivity set without its prefix, such as hnatom or llm_hnatom."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None without results on a variant of the productivity sets."""
    values = results.values
    values = values[values["complexity"].notna() & (values["metric"] == "recall@1")]
    names = values["kind"].str.extract(NAMES)
    values = values.assign(captioner=names["captioner"].fillna(""), kind=names["kind"]).dropna(
        subset="kind"
    )
    variants = sorted(set(values["captioner"]) - {""})
    compared = {variant: compare_with_default(results, values, variant) for variant in variants}
    tables = [
        make_table("captioner_scores", rows, f"_{variant}", variant=variant)
        for variant, rows in compared.items()
        if rows
    ]
    if not tables:
        return None
    if measured := (results.validity or {}).get("captioners"):
        tables.insert(0, make_caption_table(results, measured))
    return Section("captioners", tables, shown=get_keys(values[values["captioner"] != ""]))


def make_caption_table(results: Results, measured: Iterable[Mapping[str, Any]]) -> Table:
    """Make the table of captions: one row per captioner and range of complexities."""
    by_config = {result.data["config"]: result for result in results.select("crepe")}
    records = []
    for line in measured:
        on_atoms = by_config.get(ProductivityConfig(line["variant"] or None, "hnatom").name)
        baseline = find_best_baseline(results, on_atoms) if on_atoms else None
        baseline = str(baseline) if baseline else None
        records.append({**line, "atoms": format_range(line["complexities"]), "baseline": baseline})
    return make_table("captioners", records)


def format_range(numbers: Collection[int]) -> str:
    first = min(numbers)
    last = max(numbers)
    return str(first) if first == last else f"{first} to {last}"


def compare_with_default(
    results: Results, values: pd.DataFrame, variant: str
) -> list[dict[str, object]]:
    """Return the rows of the table of scores: Recall@1 of each model on a variant and on the default.

    Both are over the complexities that both have. ``values``: Recall@1 with the columns ``captioner`` and ``kind``.
    """
    rows = []
    for kind in KINDS:
        for label, group in values[values["kind"] == kind].groupby("label", sort=False):
            selected = {name: group[group["captioner"] == name] for name in (variant, "")}
            common = sorted(set(selected[variant]["complexity"]) & set(selected[""]["complexity"]))
            if not common:
                continue
            row: dict[str, object] = {
                "Model": label,
                "Type": PRODUCTIVITY_KINDS[kind],
                "Atoms": format_range(common),
            }
            for name, of_captioner in selected.items():
                hits = read_hits(results, of_captioner[of_captioner["complexity"].isin(common)])
                recall = format_with_interval(hits["hit"].mean(), compute_interval(hits))
                row |= {
                    f"Rows, {name or 'default'}": len(hits),
                    f"Recall@1, {name or 'default'}": recall,
                }
            rows.append(row | {"Chance": group["chance"].iloc[0]})
    return rows
