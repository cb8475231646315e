"""ARO's tables (Yuksekgonul et al. 2023, arXiv:2210.01936).

Source: Table 2 (each relation, by kind), section 2.1 and Table 6 (VG-Attribution), Table 5 (pick the right caption,
over seeds). The paper prints shares, this section percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evaluators.metrics.macro_views import MIN_ROWS_PER_PAIR as MIN_ROWS
from evaluators.report.results import Result, Results, by_series
from evaluators.report.section import Section, over_seeds
from evaluators.report.tables import Table, mean_and_deviation, table
from generators.language.lexicon.relations import kind_of_relation

RELATION, ATTRIBUTION = "vg_relation", "vg_attribution"
ORDER = {"flickr30k_order": "Flickr30k-PRC", "coco_order": "COCO-PRC"}
KINDS = {"spatial": "Spatial relations", "verb": "Verbs"}
MACROS = {
    RELATION: {
        "recall@1": "Micro",
        "recall@1_macro_relation": "Macro",
        "recall@1_macro_relation_table_2": "Macro, the paper's 45 relations",
    },
    ATTRIBUTION: {
        "recall@1": "Micro",
        "recall@1_macro_attribute_pair": "Macro",
        f"recall@1_macro_attribute_pair_from_{MIN_ROWS}_rows": f"Macro, pairs of {MIN_ROWS} rows or more",
    },
}
Models = Mapping[str, list[Result]]
"""Model -> results, of all its training seeds."""


def section(results: Results) -> Section | None:
    """None without results on ARO."""
    models = by_series(results.of("aro"))
    if not models:
        return None
    tables = [each for config in MACROS for each in choice_tables(models, config)]
    lines = [
        f"{name} prefers the true caption to the swapped one in {np.mean(_recalls(own)):.1%} of VG-Relation "
        "(chance 50.0%)."
        for name, own in of_config(models, RELATION).items()
    ]
    return Section("aro", [*tables, *relations_table(models), *order_table(models)], headline=lines)


def of_config(models: Models, config: str) -> Models:
    """The models with results on a config, and only those results."""
    chosen = {name: [one for one in results if one.data["config"] == config] for name, results in models.items()}
    return {name: results for name, results in chosen.items() if results}


def choice_tables(models: Models, config: str) -> Iterator[Table]:
    """Micro and macro accuracy of one mined set."""
    models = of_config(models, config)
    reported = {metric for results in models.values() for result in results for metric in result.metrics}
    columns = {metric: name for metric, name in MACROS[config].items() if metric in reported}
    if models:
        rows = [[name, *(over_seeds(results, metric) for metric in columns)] for name, results in models.items()]
        yield table(f"aro_{config}", ["Model", *columns.values()], rows)


def relations_table(models: Models) -> Iterator[Table]:
    """Table 2: each relation, below the mean over the relations of its kind."""
    models = of_config(models, RELATION)
    if not models:
        return
    count: dict[str, int] = {}
    shares: dict[str, dict[str, float]] = {}
    for name, results in models.items():
        categories = [result.data["categories"]["relation"] for result in results]
        count |= {relation: entry["rows"] for relation, entry in categories[0].items()}
        shares[name] = {
            relation: float(np.mean([by[relation]["recall@1"] for by in categories if relation in by]))
            for relation in categories[0]
        }
    rows = []
    for kind, title in KINDS.items():
        members = sorted(relation for relation in count if kind_of_relation(relation) == kind)
        if members:
            means = (_mean([by[one] for one in members if one in by]) for by in shares.values())
            rows.append([title, *means, sum(count[one] for one in members)])
            rows += [[f"- {one}", *(by.get(one) for by in shares.values()), count[one]] for one in members]
    yield table("aro_relations", ["Relation", *shares, "Rows"], rows)


def order_table(models: Models) -> Iterator[Table]:
    """Table 5: mean and standard deviation over the seeds of the shuffles (and of the training)."""
    by_config = {config: of_config(models, config) for config in ORDER}
    names = [name for name in models if any(name in chosen for chosen in by_config.values())]
    rows = [
        [name, *(mean_and_deviation(_recalls(chosen.get(name, []))) for chosen in by_config.values())] for name in names
    ]
    if rows:
        yield table("aro_order", ["Model", *ORDER.values()], rows)


def _recalls(results: list[Result]) -> list[float]:
    return [result.metrics["recall@1"] for result in results]


def _mean(shares: list[float]) -> float | None:
    return float(np.mean(shares)) if shares else None
