"""ARO: the paper's tables for our models.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936): Table 2 (each relation, spatial ones and verbs), section 2.1 and
Table 6 (VG-Attribution), Table 5 (pick the right caption, over seeds). Theirs are shares, ours percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from evaluators.metrics.macro_views import MIN_ROWS_PER_PAIR as MIN_ROWS
from evaluators.report.read import Result
from evaluators.report.sections import Section, by_series, mean_and_deviation, over_seeds
from evaluators.report.tables import Table, percent
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


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of ARO."""
    models = by_series([result for result in results if result.data["dataset"] == "aro"])
    if not models:
        return None
    tables = [table for config in MACROS for table in choice_tables(models, config)]
    return Section(
        "aro",
        "Attribution, relation and order",
        "Which caption is true of the picture: of two with the objects or their attributes exchanged (chance 50 %), or "
        "of five with the words in another order (chance 20 %)? Micro is the mean over rows, macro over relations or "
        "ordered attribute pairs whatever their rows. In brackets are 95 % intervals over images, or where a model has "
        "several training seeds the lowest and the highest of them.",
        [*tables, *relations_table(models), *order_table(models)],
        headline=list(_headlines(models)),
    )


def of_config(models: Models, config: str) -> Models:
    """The models that have results of a config, with these alone."""
    found = {name: [one for one in results if one.data["config"] == config] for name, results in models.items()}
    return {name: results for name, results in found.items() if results}


def choice_tables(models: Models, config: str) -> Iterator[Table]:
    """Micro and macro accuracy of one mined set, by each rule that the results have."""
    measured = of_config(models, config)
    have = {metric for results in measured.values() for one in results for metric in one.data["metrics"]}
    columns = {metric: name for metric, name in MACROS[config].items() if metric in have}
    if measured:
        body = [[name, *(over_seeds(results, metric) for metric in columns)] for name, results in measured.items()]
        header = ["Model", *columns.values()]
        title = "VG-Relation" if config == RELATION else "VG-Attribution"
        cells = pd.DataFrame(body, columns=pd.Index(header))
        yield Table(f"aro_{config}", f"{title}: accuracy (percent; chance 50).", cells)


def relations_table(models: Models) -> Iterator[Table]:
    """Table 2: each relation, the means over relations of each kind above it."""
    measured = of_config(models, RELATION)
    if not measured:
        return
    rows_by: dict[str, int] = {}
    shares: dict[str, dict[str, float]] = {}
    for name, results in measured.items():
        tables = [result.data["categories"]["relation"] for result in results]
        rows_by |= {relation: entry["rows"] for relation, entry in tables[0].items()}
        shares[name] = {
            relation: float(np.mean([table[relation]["recall@1"] for table in tables if relation in table]))
            for relation in tables[0]
        }
    body = []
    for kind, title in KINDS.items():
        members = sorted(relation for relation in rows_by if kind_of_relation(relation) == kind)
        if members:
            means = (_mean([by[one] for one in members if one in by]) for by in shares.values())
            body.append([title, *map(percent, means), f"{sum(rows_by[one] for one in members):,}"])
            body += [
                [f"- {one}", *(percent(by.get(one)) for by in shares.values()), f"{rows_by[one]:,}"] for one in members
            ]
    cells = pd.DataFrame(body, columns=pd.Index(["Relation", *shares, "Rows"]))
    caption = "VG-Relation by relation: accuracy (percent); a kind's is the mean over its relations (Table 2)."
    yield Table("aro_relations", caption, cells)


def order_table(models: Models) -> Iterator[Table]:
    """Table 5: mean and standard deviation over the seeds of the shuffles (and of the training)."""
    body = []
    for name, results in models.items():
        cells = [_over_shuffles([one for one in results if one.data["config"] == config]) for config in ORDER]
        if set(cells) != {"-"}:
            body.append([name, *cells])
    if body:
        caption = "Pick the right caption of five: accuracy (percent; chance 20), over seeds (Table 5)."
        yield Table("aro_order", caption, pd.DataFrame(body, columns=pd.Index(["Model", *ORDER.values()])))


def _over_shuffles(results: Sequence[Result]) -> str:
    shares = [result.data["metrics"]["recall@1"] for result in results]
    return mean_and_deviation(shares)


def _mean(shares: Sequence[float]) -> float | None:
    return float(np.mean(shares)) if shares else None


def _headlines(models: Models) -> Iterator[str]:
    for name, results in of_config(models, RELATION).items():
        share = _mean([result.data["metrics"]["recall@1"] for result in results])
        yield f"{name} tells {percent(share)} % of VG-Relation's true captions from the swapped ones (chance 50 %)."
