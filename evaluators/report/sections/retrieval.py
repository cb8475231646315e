"""Retrieval with perturbed captions and images (Yuksekgonul et al. 2023, arXiv:2210.01936).

Source: section 3.1, Tables 3 (captions) and 4 (images): Recall@1 and Recall@5 in both directions, mean and standard
deviation over the seeds of the perturbations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evaluators.report.results import SEED, Result, Results, by_series
from evaluators.report.section import Section
from evaluators.report.tables import TEXTS, Table, mean_and_deviation, table

UNPERTURBED = "No shuffling"
STRATEGIES = {what: TEXTS["labels"][f"retrieval_{what}"] for what in ("captions", "images")}
SETS = {"coco": "COCO", "flickr30k": "Flickr30k"}
METRICS = TEXTS["labels"]["retrieval_metrics"]


def section(results: Results) -> Section | None:
    """None without results on perturbed retrieval."""
    models = by_series(results.of("retrieval"))
    if not models:
        return None
    return Section("retrieval", [t for config in SETS for what in STRATEGIES for t in tables(models, config, what)])


def tables(models: Mapping[str, list[Result]], config: str, what: str) -> Iterator[Table]:
    """One row per strategy and model, over the seeds; no table without results."""
    rows = []
    for strategy, title in {"": UNPERTURBED, **STRATEGIES[what]}.items():
        for name, results in models.items():
            metrics = [
                result.metrics
                for result in results
                if result.data["config"] == config and SEED.sub("", result.data["variant"] or "") == strategy
            ]
            if metrics:
                cells = (mean_and_deviation([one[metric] for one in metrics if metric in one]) for metric in METRICS)
                rows.append([title, name, *cells])
    if any(row[0] != UNPERTURBED for row in rows) or (rows and what == "captions"):
        header = ["Strategy", "Model", *METRICS.values()]
        yield table("retrieval", header, rows, suffix=f"_{config}_{what}", set=SETS[config], what=what)
