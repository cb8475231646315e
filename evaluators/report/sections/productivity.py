"""Make the tables and figures of CREPE's productivity.

Source: arXiv:2212.07796, appendix B, Tables 12 to 14 and 16, Figures 5, 6 and 13. Figure 6 shows the models that were
not trained on a corpus of CREPE; OpenAI's CLIP models are one line, their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from evaluators.report import figures, headlines
from evaluators.report.below_chance import explain_below_chance
from evaluators.report.raw_tables import make_raw_table
from evaluators.report.results import COMPLEXITY, Result, Results, group_by_model
from evaluators.report.results import PRODUCTIVITY_KINDS as KINDS
from evaluators.report.section import Section
from evaluators.report.tables import Table, format_with_interval, make_table
from evaluators.report.text_only import describe_rules
from generators.schemas.corpus_names import CORPORA

FIGURE_KINDS = ("hnatom", "hnswap", "hnneg")
FIGURES = {
    "Recall@1 against complexity, by type of hard negative (Figure 5 of the paper).": FIGURE_KINDS,
    "Recall@1 against complexity, all types together (Figure 13 of the paper).": ("hnall",),
}
FIGURE_6 = "Recall@1 against complexity, models with other training data (Figure 6 of the paper)."
OPENAI, OPENAI_TITLE = "/openai", "OpenAI CLIP"
"""Suffix of the names of OpenAI's CLIP models, and the title of their mean."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results by complexity."""
    frame = results.frame[results.frame["complexity"].notna()]
    rows, raw = frame[frame["kind"].isin(KINDS)], frame[frame["kind"] == "raw"]
    if rows.empty and raw.empty:
        return None
    available = set(rows["kind"])
    drawings = {
        describe_figure(caption, rows, figure_kinds): draw_figure(rows, figure_kinds)
        for caption, kinds in FIGURES.items()
        if (figure_kinds := [kind for kind in kinds if kind in available])
    }
    others = rows[~rows["trained_on"].isin(list(CORPORA))]
    if other_kinds := [kind for kind in FIGURE_KINDS if kind in set(others["kind"])]:
        joined = join_openai_models(others)
        drawings[describe_figure(FIGURE_6, joined, other_kinds)] = draw_figure(joined, other_kinds)
    crepe = results.select("crepe")
    rules = {kind: describe_rules(results, _select_kind(crepe, kind)) for kind in KINDS}
    tables = [make_recall_table(rows[rows["kind"] == kind], kind, rules[kind]) for kind in KINDS if kind in available]
    if not raw.empty:
        titles = {number: f"n = {int(number)}" for number in sorted(raw["complexity"].unique())}
        tables.append(make_raw_table("productivity_raw", raw, "complexity", titles))
    shown = {*zip(rows["model"], rows["task"], strict=True), *zip(raw["model"], raw["task"], strict=True)}
    lines = [*make_headline(results), *explain_below_chance(results, KINDS, partial(_select_kind, crepe))]
    return Section("productivity", tables, drawings, lines, shown=shown)


def _select_kind(results: Sequence[Result], kind: str) -> list[Result]:
    """Return the results on the config of a kind of hard negatives."""
    return [result for result in results if result.data["config"] == f"prod_{kind}"]


def join_openai_models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with OpenAI's CLIP models as one series, so that a figure shows their mean."""
    is_openai = rows["model"].str.endswith(OPENAI)
    return rows.assign(series=rows["series"].mask(is_openai, OPENAI_TITLE))


def make_headline(results: Results) -> list[str]:
    """Test the trend of HN-Atom over the complexities, over the models that were evaluated on all of them."""
    chosen = {
        result: int(number[1])
        for result in results.select("crepe")
        if result.data["config"] == "prod_hnatom" and (number := COMPLEXITY.fullmatch(result.data["split"]))
    }
    if len(set(chosen.values())) < 2:
        return []
    rows = headlines.read_hits(list(chosen), "complexity", list(chosen.values()))
    rows = headlines.keep_complete_models(rows, "complexity")
    trend = headlines.test_slope(rows, "complexity") if len(rows) else None
    if trend is None:
        return []
    span = f"from {min(chosen.values())} to {max(chosen.values())} atoms"
    chance = next(iter(chosen)).data["chance"]["recall@1"]
    values = f"{len(rows):,} rows, {headlines.count_models(rows)}; chance {chance:.1%}"
    if not trend.is_significant:
        return [
            f"HN-Atom Recall@1 has no significant trend {span}: {100 * trend.slope:+.1f} points per atom "
            f"({headlines.describe_interval(trend)}; {values})."
        ]
    verb, sign = ("rises", 1) if trend.slope > 0 else ("falls", -1)
    return [
        f"HN-Atom Recall@1 {verb} by {100 * abs(trend.slope):.1f} points per atom {span} "
        f"({headlines.describe_interval(trend, sign)}; {values})."
    ]


def make_recall_table(rows: pd.DataFrame, kind: str, note: str = "") -> Table:
    """Make Tables 12 to 14: Recall@1 of each model by complexity."""
    numbers = sorted(rows["complexity"].unique())
    set_size = int(rows["set_size"].iloc[0])
    body: list[list[object]] = [["Random", "", *[1 / set_size] * len(numbers)]]
    for names, by_number in group_by_model(rows, "complexity"):
        selected = [by_number.get(number, {}) for number in numbers]
        cells = (format_with_interval(row.get("recall@1"), _get_interval(row), 1 / set_size) for row in selected)
        body.append([*names, *cells])
    header = ["Training data", "Model", *(f"n = {int(number)}" for number in numbers)]
    return make_table("productivity", header, body, suffix=f"_{kind}", note=note, kind=KINDS[kind], set_size=set_size)


def _get_interval(row: dict[str, float]) -> tuple[float, float] | None:
    return (row["low"], row["high"]) if row else None


def describe_figure(caption: str, rows: pd.DataFrame, kinds: Sequence[str]) -> str:
    """Return the caption of a figure with the meaning of its bands and the number of rows."""
    shown = rows[rows["kind"].isin(list(kinds))]
    return f"{caption} {figures.describe_spread(shown, 'Bands')} {figures.describe_rows(shown['rows'])}"


def draw_figure(rows: pd.DataFrame, kinds: list[str]) -> str:
    """Draw Recall@1 by complexity, with one panel per type of hard negative and one line per model."""

    def paint(panels: list[Axes]) -> None:
        for axes, kind in zip(panels, kinds, strict=True):
            kind_rows = rows[rows["kind"] == kind]
            for line in figures.make_lines(kind_rows):
                recall = figures.summarise_seeds(line.rows, "complexity")
                axes.plot(recall.index, recall["mean"], marker="o", markersize=4, **line.style)
                band = {"color": line.style["color"], "alpha": 0.12, "linewidth": 0}
                axes.fill_between(recall.index, recall["low"], recall["high"], **band)
            figures.add_chance_line(axes, 1 / kind_rows["set_size"].iloc[0])
            axes.set(title=KINDS[kind], xlabel="complexity n (atoms)", xticks=sorted(kind_rows["complexity"].unique()))
        figures.share_axes(panels, "y")
        figures.add_legend(panels[0], "Recall@1 (%)")

    return figures.draw(len(kinds), paint)
