"""Make the tables and figures of retrieval with perturbed captions and images.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Tables 3 (captions) and 4 (images): Recall@1 and
Recall@5 in both directions, mean and standard deviation over the seeds of the perturbations; Figure 2 (Recall@1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from evaluators.report.aro_figures import draw_retrieval
from evaluators.report.figures import describe_rows
from evaluators.report.results import SEED, Result, Results, group_by_series
from evaluators.report.section import Section
from evaluators.report.tables import TEXTS, Table, format_mean_and_deviation, make_table

UNPERTURBED = "No shuffling"
STRATEGIES = {perturbed: TEXTS["labels"][f"retrieval_{perturbed}"] for perturbed in ("captions", "images")}
SETS = {"coco": "COCO", "flickr30k": "Flickr30k"}
METRICS = TEXTS["labels"]["retrieval_metrics"]


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on retrieval."""
    models = group_by_series(results.select("retrieval"))
    if not models:
        return None
    tables = [table for config in SETS for perturbed in STRATEGIES for table in make_tables(models, config, perturbed)]
    figures = {
        f"{title}: Recall@1 with perturbed captions and images, means over seeds (Figure 2 of the ARO paper). "
        f"{_describe_rows(models, config)}": draw_retrieval(values)
        for config, title in SETS.items()
        if len(next(iter((values := make_figure_values(models, config)).values()))) > 1
    }
    strategies = {"", *STRATEGIES["captions"], *STRATEGIES["images"]}
    shown = {
        result.key
        for result in results.select("retrieval")
        if result.data["config"] in SETS and SEED.sub("", result.data["variant"] or "") in strategies
    }
    return Section("retrieval", tables, figures, shown=shown)


def _describe_rows(models: Mapping[str, list[Result]], config: str) -> str:
    results = (result.data for series in models.values() for result in series)
    return describe_rows((data["data"]["rows"] for data in results if data["config"] == config), "images")


def make_figure_values(models: Mapping[str, list[Result]], config: str) -> dict[str, pd.DataFrame]:
    """Return title of a metric -> Recall@1 in percent, with one row per strategy and one column per model."""
    strategies = {"": UNPERTURBED, **STRATEGIES["captions"], **STRATEGIES["images"]}
    values = {}
    for metric in ("i2t_recall@1", "t2i_recall@1"):
        cells = {
            name: {
                title: 100 * sum(shares) / len(shares)
                for strategy, title in strategies.items()
                if (shares := [item[metric] for item in _select(results, config, strategy) if metric in item])
            }
            for name, results in models.items()
        }
        values[METRICS[metric]] = (
            pd.DataFrame(cells).reindex([*strategies.values()]).dropna(how="all").dropna(axis=1, how="all")
        )
    return values


def _select(results: Sequence[Result], config: str, strategy: str) -> list[dict[str, float]]:
    """Return the metrics of all seeds of a strategy."""
    return [
        result.metrics
        for result in results
        if result.data["config"] == config and SEED.sub("", result.data["variant"] or "") == strategy
    ]


def make_tables(models: Mapping[str, list[Result]], config: str, perturbed: str) -> Iterator[Table]:
    """Make a table with one row per strategy and model. Yields nothing if there are no results.

    ``perturbed``: "captions" or "images".
    """
    rows = []
    for strategy, title in {"": UNPERTURBED, **STRATEGIES[perturbed]}.items():
        for name, results in models.items():
            if metrics := _select(results, config, strategy):
                cells = (
                    format_mean_and_deviation([item[metric] for item in metrics if metric in item])
                    for metric in METRICS
                )
                rows.append([title, name, *cells])
    if any(row[0] != UNPERTURBED for row in rows) or (rows and perturbed == "captions"):
        header = ["Strategy", "Model", *METRICS.values()]
        yield make_table("retrieval", header, rows, suffix=f"_{config}_{perturbed}", set=SETS[config], what=perturbed)
