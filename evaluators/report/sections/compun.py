"""Make the tables and figures of Compun (Kumar et al. 2024, arXiv:2404.00419).

Source: Table 1 (kinds of prompt), Table 2 (number of example captions), Table 3 (classification with the same kinds of
prompt), Figure 3 (categories), Figure 4 (similarity of correct answers), section 6 (all images of the benchmark as
candidates). Difference from the paper: Figure 3 shows error
counts; here, accuracies are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes

from compeval.evaluators.report import headlines
from compeval.evaluators.report.figures import (
    DASHES,
    add_chance_line,
    add_legend,
    describe_rows,
    draw,
)
from compeval.evaluators.report.pages import Section, get_keys
from compeval.evaluators.report.results import Results, sort_by
from compeval.evaluators.report.tables import TABLES, Table, make_pivot, make_table

ACCURACY = "recall@1"
AMONG_ALL = "all_recall@1"
TEMPLATE = "template"
FIVE_EXAMPLES = "examples-5"
PROMPTS: dict[str, str] = TABLES["compun"]["pivot"]["titles"]
"""Kind of prompt -> its title in Table 1."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on Compun."""
    values = results.values.assign(prompts=results.values["variant"].replace("", TEMPLATE))
    classified = values[(values["family"] == "classification") & (values["metric"] == "top1")]
    values = values[values["family"] == "compun"]
    if values.empty:
        return None
    accuracy = values[values["metric"] == ACCURACY].assign(column=values["prompts"])
    among_all = values[(values["metric"] == AMONG_ALL) & (values["prompts"] == TEMPLATE)].assign(
        column=AMONG_ALL
    )
    tables = [
        make_pivot("compun", pd.concat([accuracy, among_all]).sort_index()),
        *(
            [make_pivot("compun_examples", counted)]
            if len(counted := count_examples(accuracy))
            else []
        ),
        make_categories_table(results, accuracy),
        make_similarity_table(results, accuracy),
    ]
    compared = classified[classified["prompts"].isin(["descriptors", FIVE_EXAMPLES])]
    classified = classified[classified["series"].isin(compared["series"])]
    if len(classified):
        tables.append(make_pivot("compun_classification", classified))
    lines = [
        make_headline(results, str(name), rows)
        for name, rows in values.groupby("series", sort=False)
        if TEMPLATE in set(rows["prompts"])
    ]
    return Section("compun", tables, draw_figures(results, accuracy), lines, shown=get_keys(values))


def count_examples(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return the results with example captions, with their number as column ``k``."""
    numbers = accuracy["variant"].str.extract(r"^examples-(\d+)$")[0]
    return accuracy.assign(k=numbers.astype("Int64")).dropna(subset="k")


def group_by_prompts(accuracy: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield model, title of the kind of prompt, and its values over all seeds."""
    for name, of_model in accuracy.groupby("series", sort=False):
        for kind, rows in sort_by(of_model, "prompts", PROMPTS).groupby("prompts", sort=False):
            yield str(name), PROMPTS[str(kind)], rows


def make_categories_table(results: Results, accuracy: pd.DataFrame) -> Table:
    """Make the table of accuracy by shown constituents and by surface form."""
    records = []
    for name, title, of_prompts in group_by_prompts(accuracy):
        seeds = [result.data["categories"] for result in results.find(of_prompts)]
        for by, categories in seeds[0].items():
            for category, entry in categories.items():
                means = pd.DataFrame([seed[by][category] for seed in seeds]).mean().to_dict()
                records.append(
                    means
                    | {
                        "model": name,
                        "prompts": title,
                        "by": by,
                        "category": category,
                        "rows": entry["rows"],
                    }
                )
    return make_table("compun_categories", records)


def read_correct_scores(results: Results, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return similarity and margin of the correct rows of all seeds."""
    rows = pd.concat(
        [result.examples[["rank", "similarity", "margin"]] for result in results.find(accuracy)]
    )
    return rows[rows["rank"] == 1]


def make_similarity_table(results: Results, accuracy: pd.DataFrame) -> Table:
    """Make the table of the values in Figure 4."""
    records = []
    for name, title, of_prompts in group_by_prompts(accuracy):
        scores = read_correct_scores(results, of_prompts)
        deviations = scores.std(ddof=0).add_suffix("_std")
        record = {"model": name, "prompts": title, "correct": len(scores)}
        records.append(record | scores.mean().to_dict() | deviations.to_dict())
    return make_table("compun_similarity", records)


def draw_figures(results: Results, accuracy: pd.DataFrame) -> dict[str, str]:
    """Return caption -> SVG: accuracy by number of example captions, and similarities of correct answers."""
    rows = describe_rows(accuracy["rows"], "rows per result")
    counted = count_examples(accuracy)
    with_template = accuracy[accuracy["prompts"] == TEMPLATE]
    drawings = {}

    def paint_accuracy(panels: list[Axes]) -> None:
        for index, (name, of_model) in enumerate(counted.groupby("series", sort=False)):
            points = 100 * of_model.groupby("k")["value"].mean()
            style = {"marker": "o", "markersize": 4, "linestyle": DASHES[index % len(DASHES)]}
            panels[0].plot(points.index.astype(int), points, label=str(name), **style)
        add_chance_line(panels[0], counted["chance"].iloc[0])
        panels[0].set(xlabel="example captions k", xticks=sorted(counted["k"].unique()))
        add_legend(panels[0], "accuracy (%)")

    def paint_similarity(panels: list[Axes]) -> None:
        for name, of_model in with_template.groupby("series", sort=False):
            scores = read_correct_scores(results, of_model)["similarity"]
            panels[0].hist(scores, bins=20, range=(-1, 1), histtype="step", label=str(name))
        panels[0].set(xlabel="similarity (cosine)")
        add_legend(panels[0], "correct answers")

    if len(counted):
        caption = "Compun: accuracy against the number of example captions, means over seeds (Table 2 of the paper)."
        drawings[f"{caption} {rows}"] = draw(1, paint_accuracy)
    if len(with_template):
        caption = "Compun: similarity of the correct answers of all seeds, template (Figure 4 of the paper)."
        drawings[f"{caption} {rows}"] = draw(1, paint_similarity)
    return drawings


def make_headline(results: Results, name: str, values: pd.DataFrame) -> str:
    """Return the finding on a model: its accuracy with the template, with examples and among all images."""
    parts = {
        "with the template": (ACCURACY, TEMPLATE),
        "with five example captions": (ACCURACY, FIVE_EXAMPLES),
        "against all images": (AMONG_ALL, TEMPLATE),
    }
    accuracies = []
    for text, (metric, prompts) in parts.items():
        rows = values[(values["metric"] == metric) & (values["prompts"] == prompts)]
        if len(rows):
            compared = headlines.compare_value(results.find(rows), metric)
            accuracies.append(f"{rows['value'].mean():.1%} ({compared}) {text}")
    return f"Compound nouns, {name}: accuracy {', '.join(accuracies)}."
