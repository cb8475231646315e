"""Compun's tables and figures (Kumar et al. 2024, arXiv:2404.00419).

Source: Table 1 (kinds of prompt), Table 2 (number of example captions), Figure 3 (categories; accuracies here, error
counts there), Figure 4 (similarity of correct answers), section 6 (against all images of the benchmark).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from evaluators.report.figures import DASHES, chance_line, draw, legend
from evaluators.report.results import Result, Results, by_series
from evaluators.report.section import Section, over_seeds
from evaluators.report.tables import MISSING, Table, table

ACCURACY, AMONG_ALL = "recall@1", "all_recall@1"
CHANCE = 1 / 3
TEMPLATE, FIVE_EXAMPLES = "template", "examples-5"
PROMPTS = {
    TEMPLATE: "Template",
    "reversed": "Reversed",
    "descriptors": "Descriptors",
    FIVE_EXAMPLES: "Examples (5)",
}
"""Variant -> its name in Table 1."""
Variants = Mapping[str, list[Result]]
"""Variant -> results of a model's seeds."""


def section(results: Results) -> Section | None:
    """None without results on Compun."""
    models = {name: _variants(own) for name, own in by_series(results.of("compun")).items()}
    if not models:
        return None
    return Section(
        "compun",
        [prompts_table(models), *examples_tables(models), categories_table(models), similarity_table(models)],
        figures(models),
        [_headline(name, variants) for name, variants in models.items() if TEMPLATE in variants],
    )


def _variants(results: Sequence[Result]) -> Variants:
    variants: dict[str, list[Result]] = {}
    for result in results:
        variants.setdefault(result.data["variant"] or TEMPLATE, []).append(result)
    return variants


def _mean(results: Sequence[Result], metric: str) -> float:
    return float(np.mean([result.metrics[metric] for result in results]))


def prompts_table(models: Mapping[str, Variants]) -> Table:
    """Table 1, and the template against all images."""
    template = next((variants[TEMPLATE][0] for variants in models.values() if TEMPLATE in variants), None)
    all_chance = template.data["chance"].get(AMONG_ALL) if template else None
    rows = [["Random", *[CHANCE] * len(PROMPTS), all_chance]]
    for name, variants in models.items():
        accuracies = (over_seeds(variants.get(variant, []), ACCURACY) for variant in PROMPTS)
        rows.append([name, *accuracies, over_seeds(variants.get(TEMPLATE, []), AMONG_ALL)])
    return table("compun", ["Model", *PROMPTS.values(), "Template, all images"], rows)


def _example_counts(models: Mapping[str, Variants]) -> list[int]:
    """The numbers of example captions that have results."""
    names = {variant for variants in models.values() for variant in variants if variant.startswith("examples-")}
    return sorted(int(name.removeprefix("examples-")) for name in names)


def examples_tables(models: Mapping[str, Variants]) -> Iterator[Table]:
    """Table 2."""
    if counts := _example_counts(models):
        rows = [
            [name, *(over_seeds(variants.get(f"examples-{count}", []), ACCURACY) for count in counts)]
            for name, variants in models.items()
        ]
        yield table("compun_examples", ["Model", *(f"k = {count}" for count in counts)], rows)


def _by_prompt(models: Mapping[str, Variants]) -> Iterator[tuple[str, str, list[Result]]]:
    """Model, title of the kind of prompt, and results of all seeds."""
    for name, variants in models.items():
        yield from ((name, title, variants[variant]) for variant, title in PROMPTS.items() if variant in variants)


def categories_table(models: Mapping[str, Variants]) -> Table:
    """Accuracy by the constituents that the compound's image shows, and by surface form."""
    rows = []
    for name, title, results in _by_prompt(models):
        for by, categories in results[0].data["categories"].items():
            for category, entry in categories.items():
                metrics = [result.data["categories"][by][category] for result in results]
                means = (float(np.mean([one.get(key, np.nan) for one in metrics])) for key in (ACCURACY, AMONG_ALL))
                rows.append([name, title, by, category, entry["rows"], *means])
    header = ["Model", "Prompts", "By", "Category", "Rows", "Accuracy", "All images"]
    return table("compun_categories", header, rows)


def correct_scores(results: Sequence[Result]) -> pd.DataFrame:
    """Similarity and margin of the correct rows, of all seeds."""
    rows = pd.concat([result.examples[["rank", "similarity", "margin"]] for result in results])
    return rows[rows["rank"] == 1]


def similarity_table(models: Mapping[str, Variants]) -> Table:
    """Figure 4 in numbers."""
    rows = []
    for name, title, results in _by_prompt(models):
        scores = correct_scores(results)
        cells = [f"{scores[key].mean():.3f} ± {scores[key].std(ddof=0):.3f}" for key in ("similarity", "margin")]
        rows.append([name, title, len(scores), *(cells if len(scores) else [MISSING, MISSING])])
    return table("compun_similarity", ["Model", "Prompts", "Correct", "Similarity", "Margin"], rows)


def figures(models: Mapping[str, Variants]) -> dict[str, str]:
    """Accuracy against the number of example captions, and the similarities of correct answers."""
    counts, drawings = _example_counts(models), {}

    def accuracy(panels: list[Axes]) -> None:
        for index, (name, variants) in enumerate(models.items()):
            points = {
                count: 100 * _mean(results, ACCURACY)
                for count in counts
                if (results := variants.get(f"examples-{count}"))
            }
            style = {"marker": "o", "markersize": 4, "linestyle": DASHES[index % len(DASHES)]}
            panels[0].plot(list(points), list(points.values()), label=name, **style)
        chance_line(panels[0], CHANCE)
        panels[0].set(xlabel="example captions k", xticks=counts)
        legend(panels[0], "accuracy (%)")

    def similarity(panels: list[Axes]) -> None:
        for name, variants in models.items():
            if TEMPLATE in variants:
                scores = correct_scores(variants[TEMPLATE])["similarity"]
                panels[0].hist(scores, bins=20, range=(-1, 1), histtype="step", label=name)
        panels[0].set(xlabel="similarity (cosine)")
        legend(panels[0], "correct answers")

    if counts:
        drawings["Compun: accuracy against the number of example captions (Table 2 of the paper)."] = draw(1, accuracy)
    if any(TEMPLATE in variants for variants in models.values()):
        drawings["Compun: similarity of the correct answers, template (Figure 4 of the paper)."] = draw(1, similarity)
    return drawings


def _headline(name: str, variants: Variants) -> str:
    template = variants[TEMPLATE]
    line = f"Compound nouns, {name}: accuracy {_mean(template, ACCURACY):.1%} with the template"
    if FIVE_EXAMPLES in variants:
        line += f", {_mean(variants[FIVE_EXAMPLES], ACCURACY):.1%} with five example captions"
    line += f" (chance {CHANCE:.1%})"
    if AMONG_ALL in template[0].metrics:
        chance = template[0].data["chance"][AMONG_ALL]
        line += f", {_mean(template, AMONG_ALL):.1%} against all images (chance {chance:.1%})"
    return f"{line}."
