"""Write a page with rows on which one of two models is right and the other wrong (``compeval compare``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evaluators.report import render_template
from evaluators.report.examples import Example, is_current, make_choice_examples
from evaluators.report.results import Result
from evaluators.results import documents
from evaluators.results.compare import check_same_data, find_documents
from loaders.datasets.load import load_dataset

ROWS_PER_TASK = 6
"""Number of rows of each kind: only A is right, only B is right."""


def write_page(a: Path, b: Path, output: Path, data_dir: Path | None = None) -> Path:
    """Write the page and return its path. Raises ValueError if there is no such row, or if no dataset is here."""
    paths_a, paths_b = find_documents(a), find_documents(b)
    groups: dict[str, list[Example]] = {}
    for task in (task for task in paths_a if task in paths_b):
        results = [Result(paths[task], documents.read(paths[task])) for paths in (paths_a, paths_b)]
        check_same_data(results[0].data, results[1].data)
        if results[0].data["protocol"] == "choice" and is_current(results[0], data_dir):
            groups |= dict(_collect(results[0], results[1], data_dir))
    if not groups:
        raise ValueError(
            f"{a} and {b}: no rows with hard negatives on which one model is right, or their dataset is not here. "
            "Name its folder with --data."
        )
    output.mkdir(parents=True, exist_ok=True)
    page = output / "index.html"
    page.write_text(render_template("disagreements.html.j2", {"groups": groups}))
    return page


def _collect(a: Result, b: Result, data_dir: Path | None) -> Iterator[tuple[str, list[Example]]]:
    """Yield a title with the examples of each kind."""
    data = a.data
    split = load_dataset(data["dataset"], data["config"], data["split"], data_dir)
    frames = {result.model: result.examples.set_index("row") for result in (a, b)}
    if len(frames) < 2:
        raise ValueError(f"Both models are named {a.model}. Choose names with `compeval run --name`.")
    shared = np.intersect1d(frames[a.model].index.to_numpy(), frames[b.model].index.to_numpy())
    hit = {name: rows.loc[shared, "rank"] == 1 for name, rows in frames.items()}
    for right, wrong in ((a.model, b.model), (b.model, a.model)):
        rows = shared[(hit[right] & ~hit[wrong]).to_numpy()]
        if len(rows):
            selected = {name: frame.loc[rows] for name, frame in frames.items()}
            title = f"{data['task']}: only {right} is right ({len(rows):,} of {len(shared):,} rows)"
            yield title, make_choice_examples(data["task"], selected, split, ROWS_PER_TASK)
