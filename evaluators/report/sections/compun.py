"""Compun: the tables and figures of the paper, for our models.

Source: Kumar et al. 2024 (arXiv:2404.00419): Table 1 (kinds of prompt), Table 2 (number of example captions), Figure 3
(categories; ours has accuracies where it counts errors), Figure 4 (similarity of correct answers), section 6 (against
all images of the benchmark).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd

from evaluators.report.figures import DASHES, STYLE, panels, svg
from evaluators.report.read import Result
from evaluators.report.sections import Section, by_series, over_seeds
from evaluators.report.tables import Table, percent

ACCURACY, AMONG_ALL = "recall@1", "all_recall@1"
TEMPLATE, PAPERS_CHOICE = "template", "examples-5"
PROMPTS = {
    TEMPLATE: "Template",
    "reversed": "Reversed",
    "descriptors": "Descriptors",
    PAPERS_CHOICE: "Examples (5)",
}
"""Variant -> its name in Table 1."""
Variants = Mapping[str, list[Result]]
"""Variant -> results of a model's seeds."""


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of Compun."""
    models = {name: _variants(found) for name, found in by_series(_of_compun(results)).items()}
    if not models:
        return None
    tables = [prompts_table(models), *examples_tables(models), categories_table(models), similarity_table(models)]
    return Section(
        "compun",
        "Compound nouns",
        "Given a prompt with a compound noun, which picture shows it: its own, or one of those of its constituents? "
        "Several prompts of a compound count by their mean score; chance is a third. In brackets are 95 % intervals "
        "over compounds, or where a model has several training seeds the lowest and the highest of them.",
        tables,
        figures(models),
        [_headline(name, variants) for name, variants in models.items() if TEMPLATE in variants],
    )


def _of_compun(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if result.data["dataset"] == "compun"]


def _variants(results: Sequence[Result]) -> Variants:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.data["variant"] or TEMPLATE, []).append(result)
    return found


def _mean(results: Sequence[Result], metric: str) -> float:
    return float(np.mean([result.data["metrics"][metric] for result in results]))


def prompts_table(models: Mapping[str, Variants]) -> Table:
    """Table 1, and the template against all images."""
    template = next((variants[TEMPLATE][0] for variants in models.values() if TEMPLATE in variants), None)
    by_chance = template.data["chance"].get(AMONG_ALL) if template else None
    rows = [["Random", *[percent(1 / 3)] * len(PROMPTS), percent(by_chance)]]
    for name, variants in models.items():
        accuracy = (over_seeds(variants.get(variant, []), ACCURACY) for variant in PROMPTS)
        rows.append([name, *accuracy, over_seeds(variants.get(TEMPLATE, []), AMONG_ALL)])
    caption = (
        "Compun: accuracy (percent) by kind of prompt, and of the template against all images of the benchmark, where "
        "other renderings of the compound count for neither side."
    )
    header = ["Model", *PROMPTS.values(), "Template, all images"]
    return Table("compun", caption, pd.DataFrame(rows, columns=pd.Index(header)))


def _counts(models: Mapping[str, Variants]) -> list[int]:
    """The numbers of example captions that there are results for."""
    names = {variant for variants in models.values() for variant in variants if variant.startswith("examples-")}
    return sorted(int(name.removeprefix("examples-")) for name in names)


def examples_tables(models: Mapping[str, Variants]) -> Iterator[Table]:
    """Table 2."""
    if not (counts := _counts(models)):
        return
    rows = [
        [name, *(over_seeds(variants.get(f"examples-{count}", []), ACCURACY) for count in counts)]
        for name, variants in models.items()
    ]
    header = ["Model", *(f"k = {count}" for count in counts)]
    caption = "Compun: accuracy (percent) by the number k of example captions; chance 33.33."
    yield Table("compun_examples", caption, pd.DataFrame(rows, columns=pd.Index(header)))


def categories_table(models: Mapping[str, Variants]) -> Table:
    """Accuracy by what the compound's picture shows of its constituents, and by surface form."""
    rows = []
    for name, variants in models.items():
        for variant, title in PROMPTS.items():
            found = variants.get(variant, [])
            for by, of_names in (found[0].data["categories"] if found else {}).items():
                for category, told in of_names.items():
                    accuracy = [result.data["categories"][by][category] for result in found]
                    means = (np.mean([one.get(key, np.nan) for one in accuracy]) for key in (ACCURACY, AMONG_ALL))
                    rows.append([name, title, by, category, f"{told['rows']:,}", *map(percent, map(float, means))])
    header = ["Model", "Prompts", "By", "Category", "Rows", "Accuracy", "All images"]
    caption = (
        "Compun: accuracy (percent) by whether the compound's picture shows either constituent, both or none, and by "
        "surface form; chance 33.33."
    )
    return Table("compun_categories", caption, pd.DataFrame(rows, columns=pd.Index(header)))


def correct_scores(results: Sequence[Result]) -> pd.DataFrame:
    """Similarity and margin of the rows that are right, of all seeds."""
    rows = pd.concat([result.examples[["rank", "similarity", "margin"]] for result in results])
    return rows[rows["rank"] == 1]


def similarity_table(models: Mapping[str, Variants]) -> Table:
    """Figure 4 in numbers."""
    rows = []
    for name, variants in models.items():
        for variant, title in PROMPTS.items():
            if found := variants.get(variant):
                scores = correct_scores(found)
                told = [f"{scores[key].mean():.3f} ± {scores[key].std(ddof=0):.3f}" for key in ("similarity", "margin")]
                rows.append([name, title, str(len(scores)), *(told if len(scores) else ["-", "-"])])
    header = ["Model", "Prompts", "Correct", "Similarity", "Margin"]
    caption = (
        "Compun, correct answers alone: similarity (cosine) of the compound's picture and its margin over the nearer "
        "constituent's, mean and standard deviation."
    )
    return Table("compun_similarity", caption, pd.DataFrame(rows, columns=pd.Index(header)))


def figures(models: Mapping[str, Variants]) -> dict[str, str]:
    """Accuracy against the number of example captions, and the similarities of correct answers."""
    made, counts = {}, _counts(models)
    with mpl.rc_context(STYLE):
        if counts:
            figure, (axes,) = panels(1)
            for index, (name, variants) in enumerate(models.items()):
                there = [count for count in counts if f"examples-{count}" in variants]
                accuracy = [100 * _mean(variants[f"examples-{count}"], ACCURACY) for count in there]
                axes.plot(there, accuracy, marker="o", markersize=4, linestyle=DASHES[index % len(DASHES)], label=name)
            axes.axhline(100 / 3, color="#999999", linestyle="--", linewidth=1)
            axes.set(xlabel="example captions k", ylabel="accuracy (%)", xticks=counts)
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False, fontsize=8)
            made["Compun: accuracy against the number of example captions (the paper's Table 2); dashed: chance."] = (
                svg(figure)
            )
        if any(TEMPLATE in variants for variants in models.values()):
            figure, (axes,) = panels(1)
            for name, variants in models.items():
                if TEMPLATE in variants:
                    scores = correct_scores(variants[TEMPLATE])["similarity"]
                    axes.hist(scores, bins=20, range=(-1, 1), histtype="step", label=name)
            axes.set(xlabel="similarity (cosine)", ylabel="correct answers")
            axes.legend(frameon=False, fontsize=8)
            made["Compun: similarity of the correct answers, template (the paper's Figure 4)."] = svg(figure)
    return made


def _headline(name: str, variants: Variants) -> str:
    template = variants[TEMPLATE]
    line = f"Compound nouns, {name}: {_mean(template, ACCURACY):.1%} are right with the template"
    if PAPERS_CHOICE in variants:
        line += f", {_mean(variants[PAPERS_CHOICE], ACCURACY):.1%} with five example captions"
    line += " (chance 33.3%)"
    if AMONG_ALL in template[0].data["metrics"]:
        by_chance = template[0].data["chance"][AMONG_ALL]
        line += f", {_mean(template, AMONG_ALL):.1%} against all images (chance {by_chance:.1%})"
    return f"{line}."
