"""Make the tables of retrieval with perturbed captions and images (Yuksekgonul et al. 2023, arXiv:2210.01936).

Source: section 3.1, Tables 3 (captions) and 4 (images): Recall@1 and Recall@5 in both directions, mean and standard
deviation over the seeds of the perturbations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    return Section("retrieval", tables)


def make_tables(models: Mapping[str, list[Result]], config: str, perturbed: str) -> Iterator[Table]:
    """Make a table with one row per strategy and model. Yields nothing if there are no results.

    ``perturbed``: "captions" or "images".
    """
    rows = []
    for strategy, title in {"": UNPERTURBED, **STRATEGIES[perturbed]}.items():
        for name, results in models.items():
            metrics = [
                result.metrics
                for result in results
                if result.data["config"] == config and SEED.sub("", result.data["variant"] or "") == strategy
            ]
            if metrics:
                cells = (
                    format_mean_and_deviation([item[metric] for item in metrics if metric in item])
                    for metric in METRICS
                )
                rows.append([title, name, *cells])
    if any(row[0] != UNPERTURBED for row in rows) or (rows and perturbed == "captions"):
        header = ["Strategy", "Model", *METRICS.values()]
        yield make_table("retrieval", header, rows, suffix=f"_{config}_{perturbed}", set=SETS[config], what=perturbed)
