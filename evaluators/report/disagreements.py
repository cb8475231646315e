"""Write a page with rows on which one of two models is right and the other wrong (``compeval compare``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from compeval.evaluators.report.examples import (
    Example,
    choose_rows,
    load_split,
    make_choice_examples,
    read_frames,
)
from compeval.evaluators.report.pages import render
from compeval.evaluators.report.results import Result
from compeval.evaluators.results.paired import find_common_tasks

ROWS_PER_TASK = 6
"""Number of rows of each kind: only A is right, only B is right."""


def write_page(a: Path, b: Path, output: Path, data_dir: Path | None = None) -> Path:
    """Write the page and return its path. Raises ValueError if there is no such row, or if no dataset is here."""
    groups: dict[str, list[Example]] = {}
    is_synthetic = False
    for paths, results in find_common_tasks([a, b]):
        if results[0]["protocol"] == "choice":
            groups |= dict(
                _collect(
                    [Result(*of_model) for of_model in zip(paths, results, strict=True)], data_dir
                )
            )
            is_synthetic |= results[0]["synthetic"]
    if not groups:
        raise ValueError(
            f"{a} and {b}: no rows with hard negatives on which one model is right, or their dataset is not here. "
            "Name its folder with --data."
        )
    output.mkdir(parents=True, exist_ok=True)
    page = output / "index.html"
    page.write_text(
        render("disagreements.html.j2", groups=groups, is_synthetic=is_synthetic), encoding="utf-8"
    )
    return page


def _collect(
    results: Sequence[Result], data_dir: Path | None
) -> Iterator[tuple[str, list[Example]]]:
    """Yield a title with the examples of each kind, given the results of two models on a task."""
    a, b = results
    if a.model == b.model:
        raise ValueError(
            f"Both models are named {a.model}. Choose names with `compeval run --name`."
        )
    if (split := load_split(a, data_dir)) is None:
        return
    frames = read_frames([a, b])
    task = a.data["task"]
    hits = {name: rows["rank"] == 1 for name, rows in frames.items()}
    for right, wrong in ((a.model, b.model), (b.model, a.model)):
        is_chosen = hits[right] & ~hits[wrong]
        if is_chosen.any():
            selected = {name: rows[is_chosen] for name, rows in frames.items()}
            title = (
                f"{task}: only {right} is right ({is_chosen.sum():,} of {len(is_chosen):,} rows)"
            )
            yield (
                title,
                make_choice_examples(task, selected, choose_rows(selected, ROWS_PER_TASK), split),
            )
