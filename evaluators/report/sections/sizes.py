"""Relate the sizes of training set and model to systematicity and productivity (CREPE, arXiv:2212.07796, 5.2 and 5.3).

A measure of a model is its mean Recall@1 over complexities, for each type of hard negative, and the drop of Recall@1
from seen to unseen compounds. Next to each is the same mean over the paper's Tables 9 and 12 to 14. Models of the
micro-world have one size and are left out.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from compeval.base.schemas.corpus_names import CORPORA
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.sections.crepe import PRODUCTIVITY_KINDS, SINGLE_KINDS
from compeval.evaluators.report.tables import TEXTS, make_table
from compeval.evaluators.results.scores import read_csv, read_models

PAIRS: dict[str, float] = TEXTS["labels"]["training_pairs"]
"""Millions of image-text pairs by title of the corpus, as the paper names them."""
DROP = "drop"
MEASURES = {kind: PRODUCTIVITY_KINDS[kind] for kind in SINGLE_KINDS} | {
    DROP: "SC - UC, HN-Atom + HN-Comp"
}
MIN_MODELS = 3


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None unless models of two sizes were evaluated."""
    values = results.values
    values = values[(values["family"] == "crepe") & (values["metric"] == "recall@1")]
    values = values[values["training_data"].isin(list(CORPORA.values()))]
    if values.empty:
        return None
    effective = pd.Series(
        [result.data["model"]["effective"] for result in results.find(values)], values.index
    )
    groups = values.groupby([effective, values["model"]], sort=False)
    measured = [_measure(str(name), rows) for (name, _), rows in groups]
    models = pd.DataFrame(measured)
    if max(models["pairs"].nunique(), models["parameters"].nunique()) < 2:
        return None
    trends = [record for measure in MEASURES if (record := _correlate(models, measure))]
    tables = [make_table("model_sizes", measured)]
    return Section("sizes", [*tables, *([make_table("size_trends", trends)] if trends else [])])


def _measure(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the sizes and the measures of a model, ours and, with the prefix ``published_``, the paper's."""
    published = {
        row["task"].removeprefix("crepe_published/"): row["percent"] / 100
        for row in read_csv("papers")
        if row["model"] == name and row["metric"] == "recall@1"
    }
    sizes = {
        model.name: float(model.parameters) for model in read_models().values() if model.parameters
    }
    first = rows.iloc[0]
    record: dict[str, Any] = {"corpus": first["training_data"], "model": first["label"]}
    record |= {"pairs": PAIRS[first["training_data"]], "parameters": sizes.get(name)}
    rows = rows.assign(published=rows["task"].str.partition("/")[2].map(published))
    for kind in SINGLE_KINDS:
        group = rows[(rows["kind"] == kind) & rows["complexity"].notna()]
        record |= {
            kind: group["value"].mean(),
            f"published_{kind}": group["published"].mean(skipna=False),
        }
    own = rows[rows["is_own_corpus"] & (rows["kind"] == "hnall")].set_index("split")
    for prefix, column in (("", "value"), ("published_", "published")):
        record[f"{prefix}{DROP}"] = own[column].get("sc", float("nan")) - own[column].get(
            "uc", float("nan")
        )
    return record


def _correlate(models: pd.DataFrame, measure: str) -> dict[str, Any] | None:
    """Return Spearman's rank correlations of a measure with the sizes; None for fewer than MIN_MODELS models."""
    record: dict[str, Any] = {
        "measure": MEASURES[measure],
        "models": int(models[measure].notna().sum()),
    }
    for size in ("pairs", "parameters"):
        for prefix in ("", "published_"):
            both = models[[size, f"{prefix}{measure}"]].dropna().astype(float)
            if len(both) >= MIN_MODELS and both[size].nunique() > 1:
                record[f"{prefix}{size}"] = both.rank().corr().iloc[0, 1]
    return record if "pairs" in record or "parameters" in record else None
