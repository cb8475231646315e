"""Make the tables and figures of ARO (Yuksekgonul et al. 2023, arXiv:2210.01936).

Source: Table 2 (accuracy per relation), section 2.1 and Table 6 (VG-Attribution), Table 5 (order of words, over seeds),
Figures 1 (accuracy on the four tasks) and 3 (radar chart with the downstream tasks of Table 6). Difference from the
paper: values are in percent, not shares of 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evaluators.metrics.macro_views import MIN_ROWS, name_frequent, select_frequent
from evaluators.report import headlines
from evaluators.report.aro_figures import draw_figures
from evaluators.report.results import Result, Results, group_by_series
from evaluators.report.section import Section, format_over_seeds
from evaluators.report.tables import Table, format_mean_and_deviation, make_table
from evaluators.report.text_only import describe_rules
from generators.language.lexicon.relations import kind_of_relation

RELATION, ATTRIBUTION = "vg_relation", "vg_attribution"
ORDER = {"flickr30k_order": "Flickr30k-PRC", "coco_order": "COCO-PRC"}
KINDS = {"spatial": "Spatial relations", "verb": "Verbs"}
MACROS = {
    RELATION: {
        "recall@1": "Micro",
        f"recall@1_macro_relation_{name_frequent('relation')}": (
            f"Macro, relations of {MIN_ROWS['relation']} rows or more"
        ),
        "recall@1_macro_relation_table_2": "Macro, the paper's 45 relations",
    },
    ATTRIBUTION: {
        "recall@1": "Micro",
        f"recall@1_macro_attribute_pair_{name_frequent('attribute pair')}": (
            f"Macro, pairs of {MIN_ROWS['attribute pair']} rows or more"
        ),
    },
}
Models = Mapping[str, list[Result]]
"""Model -> results of all its training seeds."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on ARO."""
    models = group_by_series(results.select("aro"))
    if not models:
        return None
    tables = [table for config in MACROS for table in make_choice_tables(models, config, results)]
    lines = [
        f"{name} prefers the true caption to the swapped caption in {np.mean(_get_recalls(config_results)):.1%} of "
        f"VG-Relation ({headlines.compare_value(config_results, 'recall@1')})."
        for name, config_results in select_config(models, RELATION).items()
    ]
    tables += [*make_relations_table(models), *make_order_table(models)]
    configs = {*MACROS, *ORDER}
    shown = {result.key for result in results.select("aro") if result.data["config"] in configs}
    return Section(
        "aro", tables, draw_figures(results), lines if len(lines) <= headlines.MAX_MODELS else [], shown=shown
    )


def select_config(models: Models, config: str) -> Models:
    """Return the models' results on a config, without models that have none."""
    selected = {
        name: [result for result in results if result.data["config"] == config] for name, results in models.items()
    }
    return {name: results for name, results in selected.items() if results}


def make_choice_tables(models: Models, config: str, results: Results) -> Iterator[Table]:
    """Make the table of micro and macro accuracy on a config."""
    models = select_config(models, config)
    available = {metric for results in models.values() for result in results for metric in result.metrics}
    columns = {metric: name for metric, name in MACROS[config].items() if metric in available}
    if models:
        rows = [[name, *(format_over_seeds(members, metric) for metric in columns)] for name, members in models.items()]
        note = describe_rules(results, [result for members in models.values() for result in members])
        yield make_table(f"aro_{config}", ["Model", *columns.values()], rows, note=note)


def make_relations_table(models: Models) -> Iterator[Table]:
    """Make Table 2: the accuracy of each relation and the mean over the frequent relations of each kind."""
    models = select_config(models, RELATION)
    if not models:
        return
    num_rows: dict[str, int] = {}
    shares: dict[str, dict[str, float]] = {}
    for name, results in models.items():
        categories = [result.data["categories"]["relation"] for result in results]
        num_rows |= {relation: entry["rows"] for relation, entry in categories[0].items()}
        shares[name] = {
            relation: float(np.mean([by[relation]["recall@1"] for by in categories if relation in by]))
            for relation in categories[0]
        }
    frequent = set(select_frequent("relation", num_rows))
    rows = []
    for kind, title in KINDS.items():
        members = sorted(relation for relation in num_rows if kind_of_relation(relation) == kind)
        averaged = [relation for relation in members if relation in frequent]
        if members:
            means = (_mean([by[relation] for relation in averaged if relation in by]) for by in shares.values())
            rows.append([title, *means, sum(num_rows[relation] for relation in averaged)])
            rows += [
                [
                    f"- {relation}" + ("" if relation in frequent else " (not in the mean)"),
                    *(by.get(relation) for by in shares.values()),
                    num_rows[relation],
                ]
                for relation in members
            ]
    yield make_table("aro_relations", ["Relation", *shares, "Rows"], rows, min_rows=MIN_ROWS["relation"])


def make_order_table(models: Models) -> Iterator[Table]:
    """Make Table 5: mean and standard deviation over the seeds of the shuffles and of the training."""
    by_config = {config: select_config(models, config) for config in ORDER}
    names = [name for name in models if any(name in selected for selected in by_config.values())]
    rows = [
        [
            name,
            *(format_mean_and_deviation(_get_recalls(selected.get(name, []))) for selected in by_config.values()),
        ]
        for name in names
    ]
    if rows:
        yield make_table("aro_order", ["Model", *ORDER.values()], rows)


def _get_recalls(results: list[Result]) -> list[float]:
    return [result.metrics["recall@1"] for result in results]


def _mean(shares: list[float]) -> float | None:
    return float(np.mean(shares)) if shares else None
