"""Draw the figures of ARO (Yuksekgonul et al. 2023, arXiv:2210.01936).

Figure 1: accuracy on the four tasks. Figure 2: retrieval with perturbed captions and images. Figure 3: radar chart of
the four tasks and the downstream tasks of Table 6, for the models that have results on all of them. All values are
means over the seeds of perturbations and training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from evaluators.metrics.macro_views import name_frequent
from evaluators.report.figures import add_bars, describe_rows, draw
from evaluators.report.results import Result, Results, group_by_series

FIGURE_1 = (
    "ARO: accuracy on the four tasks, means over training and shuffling seeds; dashed lines show chance (Figure 1 of "
    "the paper)."
)
MIN_TASKS = 3
"""Minimum number of tasks in a radar chart."""


class TaskValue(NamedTuple):
    """A task and the metrics that stand for it. The first metric that a result has is shown."""

    title: str
    dataset: str
    config: str
    metrics: Sequence[str]
    variants: bool = False
    """Whether the value is the mean over all variants. Otherwise, results on variants are ignored."""

    def compute(self, results: Iterable[Result]) -> float | None:
        """Return the mean in percent over the results on the task. Returns None if there are none."""
        values = [
            next((result.metrics[metric] for metric in self.metrics if metric in result.metrics), None)
            for result in results
            if (result.family, result.data["config"]) == (self.dataset, self.config)
            and (self.variants or not result.data["variant"])
        ]
        shares = [value for value in values if value is not None]
        return 100 * float(np.mean(shares)) if shares else None


def _get_metrics(by: str) -> tuple[str, str]:
    """Return the macro accuracy over the frequent categories, and the micro accuracy, for sets of few rows."""
    return f"recall@1_macro_{by.replace(' ', '_')}_{name_frequent(by)}", "recall@1"


PAIRS = (
    TaskValue("VG-Relation", "aro", "vg_relation", _get_metrics("relation")),
    TaskValue("VG-Attribution", "aro", "vg_attribution", _get_metrics("attribute pair")),
)
ORDERS = (
    TaskValue("COCO-PRC", "aro", "coco_order", ("recall@1",), variants=True),
    TaskValue("Flickr30k-PRC", "aro", "flickr30k_order", ("recall@1",), variants=True),
)
PANELS = {1 / 2: PAIRS, 1 / 5: ORDERS}
"""Chance level -> tasks of a panel of Figure 1."""
DOWNSTREAM = (
    *(
        TaskValue(title, "classification", config, ("top1",))
        for config, title in (
            *(("cifar10", "CIFAR10"), ("cifar100", "CIFAR100"), ("imagenet", "ImageNet"), ("microworld", "Nouns")),
        )
    ),
    *(
        TaskValue(f"{title} {kind} R@1", "retrieval", config, (f"{direction}_recall@1",))
        for config, title in (("flickr30k", "Flickr30k"), ("coco", "COCO"))
        for direction, kind in (("t2i", "Image"), ("i2t", "Text"))
    ),
)


def make_values(models: Mapping[str, Sequence[Result]], tasks: Sequence[TaskValue]) -> pd.DataFrame:
    """Return the values in percent: one row per task that has results, one column per model that has results."""
    cells = {name: [task.compute(results) for task in tasks] for name, results in models.items()}
    table = pd.DataFrame(cells, index=pd.Index([task.title for task in tasks]), dtype=float)
    return table.dropna(axis=0, how="all").dropna(axis=1, how="all")


def draw_figures(results: Results) -> dict[str, str]:
    """Return caption -> SVG: Figure 1, and Figure 3 if a model has results on at least three tasks."""
    models = group_by_series(results)
    panels = {chance: make_values(models, tasks) for chance, tasks in PANELS.items()}
    panels = {chance: values for chance, values in panels.items() if values.size}

    def paint(axes_of_panels: list[Axes]) -> None:
        for axes, (chance, values) in zip(axes_of_panels, panels.items(), strict=True):
            add_bars(axes, values, "accuracy (%)", chance)

    drawings = {f"{FIGURE_1} {_describe_rows(models)}": draw(len(panels), paint)} if panels else {}
    complete = make_values(models, (*PAIRS, *ORDERS, *DOWNSTREAM)).dropna(axis=1)
    if len(complete) >= MIN_TASKS and complete.size:
        caption = "ARO and downstream tasks, percent, for models with results on all of them (Figure 3 of the paper)."
        drawings[caption] = draw(1, lambda panels: paint_radar(panels[0], complete), (6.0, 4.2), "polar")
    return drawings


def _describe_rows(models: Mapping[str, Sequence[Result]]) -> str:
    """Return the number of rows of each task of Figure 1."""
    counts: dict[str, list[int]] = {}
    for result in (result for results in models.values() for result in results):
        for task in (*PAIRS, *ORDERS):
            if task.compute([result]) is not None:
                counts.setdefault(task.title, []).append(result.data["data"]["rows"])
    return " ".join(describe_rows(numbers, f"rows of {title}") for title, numbers in counts.items())


def paint_radar(axes: Axes, values: pd.DataFrame) -> None:
    """Draw one closed line per column of ``values``, with one direction per row."""
    angle_T = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    for name, column in values.items():
        axes.plot([*angle_T, angle_T[0]], [*column, column.iloc[0]], label=str(name), linewidth=1.5)
    axes.set_xticks(angle_T, list(values.index), fontsize=8)
    axes.set_ylim(0, 100)
    axes.tick_params(axis="x", pad=12)
    axes.tick_params(axis="y", labelsize=7)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.15, 1.1))


def draw_retrieval(values_by_metric: Mapping[str, pd.DataFrame]) -> str:
    """Draw Figure 2: one panel per metric, one group of bars per strategy, one bar per model."""

    def paint(panels: list[Axes]) -> None:
        for axes, (title, values) in zip(panels, values_by_metric.items(), strict=True):
            add_bars(axes, values, "recall (%)")
            axes.set_title(title)

    return draw(len(values_by_metric), paint, (4.2, 4.0))
