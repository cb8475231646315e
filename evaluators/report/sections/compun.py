"""Make the tables and figures of Compun (Kumar et al. 2024, arXiv:2404.00419).

Source: Table 1 (kinds of prompt), Table 2 (number of example captions), Table 3 (classification with the same kinds of
prompt), Figure 3 (categories), Figure 4 (similarity of correct answers), section 6 (all images of the benchmark as
candidates). Difference from the paper: Figure 3 shows error
counts; here, accuracies are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from evaluators.report import headlines
from evaluators.report.figures import DASHES, add_chance_line, add_legend, describe_rows, draw
from evaluators.report.results import Result, Results, group_by_series
from evaluators.report.section import Section, format_over_seeds
from evaluators.report.tables import MISSING, Table, make_table

ACCURACY, AMONG_ALL = "recall@1", "all_recall@1"
CHANCE = 1 / 3
TEMPLATE, FIVE_EXAMPLES = "template", "examples-5"
PROMPTS = {
    TEMPLATE: "Template",
    "reversed": "Reversed",
    "descriptors": "Descriptors",
    FIVE_EXAMPLES: "Examples (5)",
}
"""Variant -> its title in Table 1."""
CLASS_PROMPTS = {variant: PROMPTS[variant] for variant in (TEMPLATE, "descriptors", FIVE_EXAMPLES)}
"""Variant -> its title in Table 3."""
Variants = Mapping[str, list[Result]]
"""Variant -> results of all training seeds of a model."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there are no results on Compun."""
    series = group_by_series(results.select("compun"))
    models = {name: _group_by_variant(series_results) for name, series_results in series.items()}
    if not models:
        return None
    return Section(
        "compun",
        [
            make_prompts_table(models),
            *make_examples_tables(models),
            make_categories_table(models),
            make_similarity_table(models),
            *make_classification_tables(results),
        ],
        draw_figures(models),
        [_make_headline(name, variants) for name, variants in models.items() if TEMPLATE in variants],
        shown={result.key for result in results.select("compun")},
    )


def _group_by_variant(results: Sequence[Result]) -> Variants:
    variants: dict[str, list[Result]] = {}
    for result in results:
        variants.setdefault(result.data["variant"] or TEMPLATE, []).append(result)
    return variants


def _mean(results: Sequence[Result], metric: str) -> float:
    return float(np.mean([result.metrics[metric] for result in results]))


def _describe(results: Sequence[Result], metric: str) -> str:
    return f"{_mean(results, metric):.1%} ({headlines.compare_value(results, metric)})"


def make_prompts_table(models: Mapping[str, Variants]) -> Table:
    """Make Table 1, with an additional column for all images of the benchmark as candidates."""
    template = next((variants[TEMPLATE][0] for variants in models.values() if TEMPLATE in variants), None)
    chance_among_all = template.data["chance"].get(AMONG_ALL) if template else None
    rows = [["Random", *[CHANCE] * len(PROMPTS), chance_among_all]]
    for name, variants in models.items():
        accuracies = (format_over_seeds(variants.get(variant, []), ACCURACY) for variant in PROMPTS)
        rows.append([name, *accuracies, format_over_seeds(variants.get(TEMPLATE, []), AMONG_ALL)])
    return make_table("compun", ["Model", *PROMPTS.values(), "Template, all images"], rows)


def _find_example_counts(models: Mapping[str, Variants]) -> list[int]:
    """Return the numbers of example captions for which there are results."""
    names = {variant for variants in models.values() for variant in variants if variant.startswith("examples-")}
    return sorted(int(name.removeprefix("examples-")) for name in names)


def make_examples_tables(models: Mapping[str, Variants]) -> Iterator[Table]:
    """Make Table 2: accuracy by number of example captions."""
    if counts := _find_example_counts(models):
        rows = [
            [name, *(format_over_seeds(variants.get(f"examples-{count}", []), ACCURACY) for count in counts)]
            for name, variants in models.items()
        ]
        yield make_table("compun_examples", ["Model", *(f"k = {count}" for count in counts)], rows)


def _iterate_prompts(models: Mapping[str, Variants]) -> Iterator[tuple[str, str, list[Result]]]:
    """Yield model, title of the kind of prompt, and results of all seeds."""
    for name, variants in models.items():
        yield from ((name, title, variants[variant]) for variant, title in PROMPTS.items() if variant in variants)


def make_categories_table(models: Mapping[str, Variants]) -> Table:
    """Make the table of accuracy by shown constituents and by surface form."""
    rows = []
    for name, title, results in _iterate_prompts(models):
        for by, categories in results[0].data["categories"].items():
            for category, entry in categories.items():
                metrics = [result.data["categories"][by][category] for result in results]
                means = (float(np.mean([item.get(key, np.nan) for item in metrics])) for key in (ACCURACY, AMONG_ALL))
                rows.append([name, title, by, category, entry["rows"], *means])
    header = ["Model", "Prompts", "By", "Category", "Rows", "Accuracy", "All images"]
    return make_table("compun_categories", header, rows)


def make_classification_tables(results: Results) -> Iterator[Table]:
    """Make Table 3: zero-shot accuracy with prompts from templates, descriptors and example captions."""
    rows = []
    for name, series in group_by_series(results.select("classification")).items():
        for config in sorted({result.data["config"] for result in series}):
            variants = _group_by_variant([result for result in series if result.data["config"] == config])
            if variants.keys() & CLASS_PROMPTS.keys() - {TEMPLATE}:
                accuracies = (format_over_seeds(variants.get(variant, []), "top1") for variant in CLASS_PROMPTS)
                rows.append([name, config, *accuracies])
    if rows:
        yield make_table("compun_classification", ["Model", "Set", *CLASS_PROMPTS.values()], rows)


def read_correct_scores(results: Sequence[Result]) -> pd.DataFrame:
    """Read similarity and margin of the correct rows of all seeds."""
    rows = pd.concat([result.examples[["rank", "similarity", "margin"]] for result in results])
    return rows[rows["rank"] == 1]


def make_similarity_table(models: Mapping[str, Variants]) -> Table:
    """Make the table of the values in Figure 4."""
    rows = []
    for name, title, results in _iterate_prompts(models):
        scores = read_correct_scores(results)
        cells = [f"{scores[key].mean():.3f} ± {scores[key].std(ddof=0):.3f}" for key in ("similarity", "margin")]
        rows.append([name, title, len(scores), *(cells if len(scores) else [MISSING, MISSING])])
    return make_table("compun_similarity", ["Model", "Prompts", "Correct", "Similarity", "Margin"], rows)


def draw_figures(models: Mapping[str, Variants]) -> dict[str, str]:
    """Return caption -> SVG: accuracy by number of example captions, and similarities of correct answers."""
    counts, drawings = _find_example_counts(models), {}
    results = (result for variants in models.values() for series in variants.values() for result in series)
    rows = describe_rows((result.data["data"]["rows"] for result in results), "rows per result")

    def paint_accuracy(panels: list[Axes]) -> None:
        for index, (name, variants) in enumerate(models.items()):
            points = {
                count: 100 * _mean(results, ACCURACY)
                for count in counts
                if (results := variants.get(f"examples-{count}"))
            }
            style = {"marker": "o", "markersize": 4, "linestyle": DASHES[index % len(DASHES)]}
            panels[0].plot(list(points), list(points.values()), label=name, **style)
        add_chance_line(panels[0], CHANCE)
        panels[0].set(xlabel="example captions k", xticks=counts)
        add_legend(panels[0], "accuracy (%)")

    def paint_similarity(panels: list[Axes]) -> None:
        for name, variants in models.items():
            if TEMPLATE in variants:
                scores = read_correct_scores(variants[TEMPLATE])["similarity"]
                panels[0].hist(scores, bins=20, range=(-1, 1), histtype="step", label=name)
        panels[0].set(xlabel="similarity (cosine)")
        add_legend(panels[0], "correct answers")

    if counts:
        drawings[
            f"Compun: accuracy against the number of example captions, means over seeds (Table 2 of the paper). {rows}"
        ] = draw(1, paint_accuracy)
    if any(TEMPLATE in variants for variants in models.values()):
        drawings[
            f"Compun: similarity of the correct answers of all seeds, template (Figure 4 of the paper). {rows}"
        ] = draw(1, paint_similarity)
    return drawings


def _make_headline(name: str, variants: Variants) -> str:
    template = variants[TEMPLATE]
    line = f"Compound nouns, {name}: accuracy {_describe(template, ACCURACY)} with the template"
    if FIVE_EXAMPLES in variants:
        line += f", {_describe(variants[FIVE_EXAMPLES], ACCURACY)} with five example captions"
    if AMONG_ALL in template[0].metrics:
        line += f", {_describe(template, AMONG_ALL)} against all images"
    return f"{line}."
