"""Make the tables and figures of ARO and of retrieval with perturbed captions and images.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), Table 2 (accuracy per relation), section 2.1 and Table 6
(VG-Attribution), Table 5 (order of words, over seeds), Figures 1 (accuracy on the four tasks) and 3 (radar chart with
the downstream tasks of Table 6); section 3.1, Tables 3 and 4 (retrieval with perturbed captions and images) and Figure
2. Values of figures are means over the seeds of perturbations and training. Difference from the paper: values are in
percent, not shares of 1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from compeval.evaluators.metrics.macro_views import MIN_ROWS, select_frequent
from compeval.evaluators.report.figures import describe_rows, draw, draw_bars
from compeval.evaluators.report.headlines import MAX_MODELS, compare_value
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Results, sort_by
from compeval.evaluators.report.tables import TABLES, TEXTS, Table, make_pivot, make_table
from compeval.evaluators.report.text_only import describe_best_baseline
from compeval.generators.language.lexicon.relations import kind_of_relation

CHOICES = ("vg_relation", "vg_attribution")
"""Configs of two captions per image."""
ORDERS = ("flickr30k_order", "coco_order")
KINDS = {"spatial": "Spatial relations", "verb": "Verbs"}
TASKS: dict[str, list[str]] = TEXTS["labels"]["aro_tasks"]
"""Title in figures -> family, config and metric. Sets with too few rows for the metric are shown by Recall@1."""
PANELS = (["VG-Relation", "VG-Attribution"], ["COCO-PRC", "Flickr30k-PRC"])
FIGURE_1 = (
    "ARO: accuracy on the four tasks, means over training and shuffling seeds; dashed lines show chance (Figure 1 of "
    "the paper)."
)
FIGURE_3 = "ARO and downstream tasks, percent, for models with results on all of them (Figure 3 of the paper)."
MIN_TASKS = 3
"""Minimum number of tasks in a radar chart."""
FIGURE_2 = (
    "Recall@1 with perturbed captions and images, means over seeds (Figure 2 of the ARO paper)."
)
UNPERTURBED = "No shuffling"
STRATEGIES: dict[str, dict[str, str]] = TEXTS["labels"]["retrieval_strategies"]
"""Perturbed input ("captions", "images") -> strategy (a variant without seed) -> its title."""
SETS = {"coco": "COCO", "flickr30k": "Flickr30k"}


def make_section(results: Results) -> Section | None:
    """Make the section on ARO. Returns None if there are no results."""
    values = results.values[results.values["family"] == "aro"]
    if values.empty:
        return None
    recall = values[values["metric"] == "recall@1"]
    on_relations = recall[recall["config"] == "vg_relation"]
    tables = [
        make_pivot(f"aro_{config}", rows, note=describe_best_baseline(results, results.find(rows)))
        for config in CHOICES
        if len(rows := values[values["config"] == config])
    ]
    if len(on_relations):
        tables.append(make_relations_table(results, on_relations))
    on_orders = recall[recall["config"].isin(ORDERS)]
    if len(on_orders):
        note = describe_best_baseline(results, results.find(on_orders))
        tables.append(make_pivot("aro_order", on_orders, note=note))
    lines = [
        _describe_relations(name, rows, results)
        for name, rows in on_relations.groupby("series", sort=False)
    ]
    shown = get_keys(values[values["config"].isin([*CHOICES, *ORDERS])])
    return Section(
        "aro",
        tables,
        draw_figures(results.values),
        lines if len(lines) <= MAX_MODELS else [],
        shown=shown,
    )


def _describe_relations(name: object, values: pd.DataFrame, results: Results) -> str:
    matching = results.find(values)
    line = f"{name} prefers the true caption to the swapped caption in {values['value'].mean():.1%} of VG-Relation "
    line += f"({compare_value(matching, 'recall@1')}). {describe_best_baseline(results, matching)}"
    return line.strip()


def make_relations_table(results: Results, values: pd.DataFrame) -> Table:
    """Make Table 2: the accuracy of each relation and the mean over the frequent relations of each kind."""
    measured = pd.DataFrame(
        [
            {
                "relation": relation,
                "series": series,
                "share": entry["recall@1"],
                "rows": entry["rows"],
            }
            for result, series in zip(results.find(values), values["series"], strict=True)
            for relation, entry in result.data["categories"]["relation"].items()
        ]
    )
    num_rows = dict(measured.groupby("relation")["rows"].first())
    shares = measured.pivot_table(
        index="relation", columns="series", values="share", sort=False
    ).sort_index()
    frequent = set(select_frequent("relation", num_rows))
    records = []
    for kind, title in KINDS.items():
        members = [relation for relation in num_rows if kind_of_relation(relation) == kind]
        averaged = [relation for relation in members if relation in frequent]
        if members:
            rows = sum(num_rows[relation] for relation in averaged)
            records.append({"Relation": title, **shares.loc[averaged].mean(), "Rows": rows})
        for relation in members:
            name = f"- {relation}" + ("" if relation in frequent else " (not in the mean)")
            records.append({"Relation": name, **shares.loc[relation], "Rows": num_rows[relation]})
    return make_table("aro_relations", records, min_rows=MIN_ROWS["relation"])


def select_task(values: pd.DataFrame, title: str) -> pd.DataFrame:
    """Return the values of a task of the figures, one per result. Variants count if they are shuffling seeds."""
    family, config, metric = TASKS[title]
    is_seed = values["variant"].str.fullmatch(r"(s\d+)?")
    values = values[(values["family"] == family) & (values["config"] == config) & is_seed]
    has_metric = (values["metric"] == metric).any()
    return values[values["metric"] == (metric if has_metric else "recall@1")]


def average_tasks(values: pd.DataFrame, titles: Iterable[str]) -> pd.DataFrame:
    """Return the means in percent: one row per task that has results, one column per model that has results."""
    means = {
        title: 100 * select_task(values, title).groupby("series")["value"].mean()
        for title in titles
    }
    return pd.DataFrame(means).T.dropna(axis=0, how="all").dropna(axis=1, how="all")


def draw_figures(values: pd.DataFrame) -> dict[str, str]:
    """Return caption -> SVG: Figure 1, and Figure 3 if a model has results on at least three tasks."""
    panels = [means for titles in PANELS if (means := average_tasks(values, titles)).size]
    chances = [select_task(values, means.index[0])["chance"].iloc[0] for means in panels]
    counts = {title: select_task(values, title)["rows"] for titles in PANELS for title in titles}
    rows = " ".join(
        describe_rows(count, f"rows of {title}") for title, count in counts.items() if len(count)
    )
    drawings = (
        {f"{FIGURE_1} {rows}": draw_bars(panels, "accuracy (%)", chances=chances)} if panels else {}
    )
    complete = average_tasks(values, TASKS).dropna(axis=1)
    if len(complete) >= MIN_TASKS and complete.size:
        drawings[FIGURE_3] = draw(
            1, lambda panels: paint_radar(panels[0], complete), (6.0, 4.2), "polar"
        )
    return drawings


def paint_radar(axes: Axes, values: pd.DataFrame) -> None:
    """Draw one closed line per column of ``values``, with one direction per row."""
    angle_T = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    for name, column in values.items():
        axes.plot([*angle_T, angle_T[0]], [*column, column.iloc[0]], label=str(name), linewidth=1.5)
    axes.set_xticks(angle_T, list(values.index), fontsize=8)
    axes.set_ylim(0, 100)
    axes.tick_params(axis="x", pad=12)
    axes.tick_params(axis="y", labelsize=7)
    axes.legend(loc="upper left", bbox_to_anchor=(1.15, 1.1))


def make_retrieval(results: Results) -> Section | None:
    """Make the section on retrieval. Returns None if there are no results."""
    titles = {"": UNPERTURBED} | {
        key: title for group in STRATEGIES.values() for key, title in group.items()
    }
    values = results.values[
        (results.values["family"] == "retrieval") & results.values["config"].isin(list(SETS))
    ]
    values = sort_by(values.assign(title=values["strategy"].map(titles)), "strategy", titles)
    if values.empty:
        return None
    tables = []
    figures = {}
    for config, set_title in SETS.items():
        rows = values[values["config"] == config]
        for perturbed, strategies in STRATEGIES.items():
            selected = rows[rows["strategy"].isin(["", *strategies])]
            if (selected["strategy"] != "").any() or (len(selected) and perturbed == "captions"):
                suffix = f"_{config}_{perturbed}"
                tables.append(
                    make_pivot("retrieval", selected, suffix, set=set_title, what=perturbed)
                )
        if rows["strategy"].nunique() > 1:
            caption = f"{set_title}: {FIGURE_2} {describe_rows(rows['rows'], 'images')}"
            means = average_strategies(rows)
            figures[caption] = draw_bars(
                list(means.values()), "recall (%)", titles=list(means), size=(4.2, 4.0)
            )
    return Section("retrieval", tables, figures, shown=get_keys(values))


def average_strategies(values: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return title of a metric -> Recall@1 in percent, with one row per strategy and one column per model."""
    values = values.assign(value=100 * values["value"])
    return {
        TABLES["retrieval"]["pivot"]["titles"][metric]: values[
            values["metric"] == metric
        ].pivot_table(index="title", columns="series", values="value", sort=False)
        for metric in ("i2t_recall@1", "t2i_recall@1")
    }
