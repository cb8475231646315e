"""Results on datasets of a user's own images and captions (``compeval make``): by kind of hard negatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from matplotlib.axes import Axes

from compeval.evaluators.metrics.intervals import wilson_interval
from compeval.evaluators.report.figures import draw
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.sections.tasks import make_record
from compeval.evaluators.report.tables import format_with_interval, make_table
from compeval.evaluators.report.text_only import find_best_baseline
from compeval.evaluators.results import task_names
from compeval.evaluators.results.task_names import describe_set, split_config
from compeval.loaders.datasets.sorting import natural_key

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#e69f00", "#555555")
"""The colours of Okabe and Ito, with brown and grey in place of yellow and black. More models would not be legible."""
NO_BASELINES: Mapping[str, float] = {}
HEIGHT_PER_SET = 0.28
"""Inches."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if there is no result with hard negatives on an own dataset."""
    own = [result for result in results if is_own(result) and result.data["protocol"] == "choice"]
    if not own:
        return None
    own.sort(key=lambda result: (_sort_key(result.data["config"]), result.model))
    tables = []
    figures = {}
    for dataset in sorted({result.data["dataset"] for result in own}):
        members = [result for result in own if result.data["dataset"] == dataset]
        records = [
            make_record(item, results) | {"set": describe_set(item.data["config"])}
            for item in members
        ]
        tables.append(make_table("own", records, f"_{dataset}", dataset=dataset))
        if categories := [record for result in members for record in list_categories(result)]:
            tables.append(make_table("own_categories", categories, f"_{dataset}", dataset=dataset))
        best_by_config = {
            item.data["config"]: find_best_baseline(results, item) for item in members
        }
        baselines = {config: best.recall for config, best in best_by_config.items() if best}
        caption = f"{dataset}: Recall@1 by kind, with 95 % intervals over images; the grey marks are chance"
        caption += ", the triangles the best text-only baseline." if baselines else "."
        figures[caption] = draw_kinds(members, baselines)
    return Section("own", tables, figures, shown={result.key for result in own})


def is_own(result: Result) -> bool:
    """Return True if ``compeval make`` made the dataset."""
    return task_names.is_own(result.data)


def _sort_key(config: str) -> tuple[object, ...]:
    split, kind = split_config(config)
    return natural_key(kind), split


def list_categories(result: Result) -> Iterator[dict[str, object]]:
    """Yield a row for each kind that the user's own table names (``--kind-column``)."""
    chance = result.data["chance"]["recall@1"]
    for name, values in result.data.get("categories", {}).get("kind", {}).items():
        interval = wilson_interval(values["recall@1"], values["rows"])
        yield {
            "set": describe_set(result.data["config"]),
            "kind": name,
            "model": result.label,
            "rows": values["rows"],
            "recall": format_with_interval(values["recall@1"], interval, chance),
            "ties": values["tie_rate"],
            "chance": chance,
        }


def draw_kinds(results: Sequence[Result], baselines: Mapping[str, float] = NO_BASELINES) -> str:
    """Draw one line per set, from top to bottom, with a dot and its interval for each model.

    ``baselines``: config -> Recall@1 of the best text-only baseline.
    """
    sets = list(dict.fromkeys(result.data["config"] for result in results))
    models = sorted({result.label for result in results})[: len(PALETTE)]

    def paint(panels: list[Axes]) -> None:
        (axes,), labels = panels, {label: label for label in models}
        for result in (result for result in results if result.label in models):
            row = sets.index(result.data["config"])
            number = models.index(result.label)
            height = row + (number - (len(models) - 1) / 2) * 0.6 / len(models)
            share = 100 * result.metrics["recall@1"]
            low, high = (
                100 * end
                for end in result.data["intervals"].get("recall@1") or (share / 100, share / 100)
            )
            errors = [[max(share - low, 0)], [max(high - share, 0)]]
            label = labels.pop(result.label, None)
            axes.errorbar(share, height, xerr=errors, fmt="o", color=PALETTE[number], label=label)
        for row, config in enumerate(sets):
            chance = next(
                r.data["chance"]["recall@1"] for r in results if r.data["config"] == config
            )
            axes.vlines(
                100 * chance, row - 0.4, row + 0.4, color="#999999", linestyle="--", linewidth=1
            )
            if config in baselines:
                axes.plot(100 * baselines[config], row - 0.4, "v", color="#333333", markersize=5)
        axes.set(
            xlim=(-2, 102),
            xlabel="Recall@1 (%)",
            yticks=range(len(sets)),
            yticklabels=map(describe_set, sets),
        )
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.25))

    return draw(1, paint, (4.5, 1.2 + HEIGHT_PER_SET * len(sets) * max(1, len(models) / 3)))
