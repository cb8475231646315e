"""Make the tables and figures of CREPE's systematicity.

Source: arXiv:2212.07796, appendix B, Tables 9 to 11 and 15, Figure 4. sc: seen compounds, uc: unseen compounds, ua:
unseen atoms. Values are in percent; 95 % confidence intervals over images are in brackets.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report import figures, headlines
from evaluators.report.below_chance import explain_below_chance
from evaluators.report.raw_tables import make_raw_table
from evaluators.report.results import SYSTEMATICITY_KINDS as KINDS
from evaluators.report.results import Result, Results, group_by_model, select_own_corpus
from evaluators.report.section import Section
from evaluators.report.tables import Table, format_with_interval, make_table
from evaluators.report.text_only import describe_rules
from generators.schemas.corpus_names import parse_systematicity

METRICS = {"recall@1": "R@1", "recall@3": "R@3", "recall@5": "R@5", "avg_recall": "Avg R@K"}
SPLITS = ("sc", "uc")
CAPTION = "Seen and unseen compounds (Figure 4 of the paper)."


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no model was evaluated on the sets of its own training corpus."""
    rows = select_own_corpus(results.frame)
    own = results.select_keys(set(zip(rows["model"], rows["task"], strict=True)))
    kinds = [kind for kind in KINDS if (rows["kind"] == kind).any()]
    select = partial(_select_kind, own)
    rules = {kind: describe_rules(results, select(kind)) for kind in kinds}
    tables = [make_recall_table(rows[rows["kind"] == kind], kind, rules[kind]) for kind in kinds]
    raw = rows[rows["kind"] == "raw"]
    if not raw.empty:
        splits = {split: split.upper() for split in ("sc", "uc", "ua") if split in set(raw["split"])}
        tables.append(make_raw_table("systematicity_raw", raw, "split", splits))
    if not tables:
        return None
    kinds = [kind for kind in kinds if not kind.endswith("balanced")]
    drawn = rows[rows["kind"].isin(kinds)]
    drawings = {}
    if kinds:
        bars, counts = figures.describe_spread(drawn, "Bars"), figures.describe_rows(drawn["rows"])
        drawings[f"{CAPTION} {bars} {counts}"] = draw_figure(rows, kinds)
    lines = [*make_headline(own), *explain_below_chance(results, KINDS, select)]
    return Section("systematicity", tables, drawings, lines, shown={result.key for result in own})


def _select_kind(results: Results, kind: str) -> list[Result]:
    """Return the results on the configs of a kind of hard negatives."""
    configs = {result: parse_systematicity(result.data["config"]) for result in results}
    return [result for result, config in configs.items() if config and config.kind == kind]


def make_headline(results: Results) -> list[str]:
    """Compare seen with unseen compounds of HN-Atom, over the models that were evaluated on both."""
    splits = {result: parse_systematicity(result.data["config"]) for result in results}
    chosen = {result: parts.split for result, parts in splits.items() if parts and parts.kind == "hnatom"}
    chosen = {result: split for result, split in chosen.items() if split in SPLITS}
    if set(chosen.values()) != set(SPLITS):
        return []
    rows = headlines.read_hits(list(chosen), "split", list(chosen.values()))
    rows = headlines.keep_complete_models(rows, "split")
    difference = headlines.test_slope(rows.assign(seen=(rows["split"] == "sc").astype(int)), "seen")
    if difference is None:
        return []
    seen, unseen = (rows[rows["split"] == split].groupby("model")["hit"].mean().mean() for split in SPLITS)
    chance = next(iter(chosen)).data["chance"]["recall@1"]
    values = f"seen {seen:.1%}, unseen {unseen:.1%}, chance {chance:.1%}; {headlines.count_models(rows)}"
    if not difference.is_significant:
        return [
            "HN-Atom Recall@1 does not differ significantly between seen and unseen compounds: seen minus unseen is "
            f"{100 * difference.slope:+.1f} points ({headlines.describe_interval(difference)}; {values})."
        ]
    easier, sign = ("Seen", 1) if difference.slope > 0 else ("Unseen", -1)
    return [
        f"{easier} compounds are easier by {100 * abs(difference.slope):.1f} points of HN-Atom Recall@1 "
        f"({headlines.describe_interval(difference, sign)}; {values})."
    ]


def make_recall_table(rows: pd.DataFrame, kind: str, note: str = "") -> Table:
    """Make Tables 9 to 11: recalls of each model on the SC and UC sets of its own corpus."""
    metrics = [key for key in METRICS if key in rows and rows[key].notna().any()]
    set_size = int(rows["set_size"].iloc[0])
    chance = {f"recall@{k}": k / set_size for k in (1, 3, 5)} | {"avg_recall": 2 / set_size}  # (1 + 3) / 2
    body = [["Random", "", *(chance[key] for key in metrics for _ in SPLITS)]]
    for names, by_split in group_by_model(rows, "split"):
        cells = []
        for key in metrics:
            for row in (by_split.get(split, {}) for split in SPLITS):
                interval = (row["low"], row["high"]) if row else None
                cell = format_with_interval(row.get(key), interval, chance[key]) if key == "recall@1" else row.get(key)
                cells.append(cell)
        body.append([*names, *cells])
    header = ["Training data", "Model", *(f"{METRICS[key]} {split.upper()}" for key in metrics for split in SPLITS)]
    return make_table("systematicity", header, body, suffix=f"_{kind}", note=note, kind=KINDS[kind], set_size=set_size)


def draw_figure(rows: pd.DataFrame, kinds: list[str]) -> str:
    """Draw Figure 4: Recall@1 on SC and UC, with one panel per type of hard negative and one line per model."""

    def paint(panels: list[Axes]) -> None:
        for axes, kind in zip(panels, kinds, strict=True):
            kind_rows = rows[rows["kind"] == kind]
            for index, line in enumerate(figures.make_lines(kind_rows)):
                recall = figures.summarise_seeds(line.rows, "split").reindex(SPLITS)
                shift = 0.04 * (index - 1)
                error = [recall["mean"] - recall["low"], recall["high"] - recall["mean"]]
                axes.errorbar([shift, 1 + shift], recall["mean"], error, marker="o", capsize=3, **line.style)
            figures.add_chance_line(axes, 1 / kind_rows["set_size"].iloc[0])
            axes.set(title=KINDS[kind], xticks=[0, 1], xticklabels=["seen (SC)", "unseen (UC)"], xlim=(-0.3, 1.3))
        figures.share_axes(panels, "y")
        figures.add_legend(panels[0], "Recall@1 (%)")

    return figures.draw(len(kinds), paint)
