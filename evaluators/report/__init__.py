"""The report: one self-contained HTML page and one Markdown page with the papers' tables and figures for our models.

    build([Path("results/microworld/clip-laion-s0"), ...], Path("report"))

writes ``index.html``, ``examples.html`` (productivity), ``report.md``, ``tables/*.csv`` and ``*.tex``,
``figures/*.svg``, and ``metrics.json`` for ``dvc metrics``. The same results give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from evaluators.report.examples import examples, other_tasks
from evaluators.report.results import Results, corpus_name, read_results
from evaluators.report.section import Section
from evaluators.report.sections import MODULES
from evaluators.report.tables import MISSING, Table, table, to_latex, to_markdown

EXAMPLE_TASKS = (
    "crepe/laion_sc_hnatom",
    "crepe/laion_uc_hnatom",
    "crepe/laion_uc_hncomp",
    "crepe/prod_hnatom/n4",
    "crepe/prod_hnswap/n8",
    "crepe/prod_hnneg/n8",
    "crepe/prod_hnatom/n12",
)
GENERATED = ("crepe", "aro", "retrieval", "classification", "compprompts", "compun", "controlledimcaps")
"""Datasets with sections of their own; the page shows examples of every other dataset."""
PRODUCTIVITY_SPLITS = tuple(f"n{complexity}" for complexity in range(4, 13))
"""The splits of examples.html, a few rows each."""


def build(folders: Sequence[Path], output: Path, data_dir: Path | None = None, validity: Path | None = None) -> str:
    """Write the report on the models' result folders; return its headline."""
    results = read_results(folders)
    if validity:
        results.validity = json.loads(validity.read_text())
    parts = sections(results)
    by_split = {split: examples(results, [f"crepe/prod_hnall/{split}"], data_dir, 2) for split in PRODUCTIVITY_SPLITS}
    context = {
        "synthetic": bool(results.frame["synthetic"].any()),
        "source": results.frame["source"].iloc[0],
        "models": models_table(results.frame),
        "sections": parts,
        "headline": [line for section in parts for line in section.headline],
        "warnings": sorted({warning for result in results for warning in result.data["warnings"]}),
        "examples": examples(results, [*EXAMPLE_TASKS, *other_tasks(results, GENERATED)], data_dir),
        "productivity_examples": {split: chosen for split, chosen in by_split.items() if chosen},
        "code": results[0].data["code"],
    }
    _write_files(output, [context["models"], *(each for section in parts for each in section.tables)], parts)
    _write_pages(output, context)
    (output / "metrics.json").write_text(json.dumps(metrics(results, parts), indent=1) + "\n")
    return "\n".join(context["headline"])


def sections(results: Results) -> list[Section]:
    """Every section that has results."""
    return [section for module in MODULES if (section := module.section(results))]


def models_table(results: pd.DataFrame) -> Table:
    """One row per model: its training data and the number of tasks and rows."""
    rows = []
    for name, group in results.groupby("model"):
        first = group.iloc[0]
        contamination = first["contaminated"] or MISSING
        rows.append([name, corpus_name(first["trained_on"]), contamination, len(group), group["rows"].sum()])
    header = ["Model", "Trained on", "Contamination", "Tasks", "Rows"]
    return table("models", header, rows)


def metrics(results: Results, parts: Sequence[Section]) -> dict[str, Any]:
    """The numbers for ``dvc metrics diff``."""
    table = results.frame
    recall = {
        str(task): {str(row["model"]): round(float(row["recall@1"]), 4) for _, row in group.iterrows()}
        for task, group in table[table["recall@1"].notna()].groupby("task")
    }
    numbers: dict[str, Any] = {"recall@1": recall, "seen_minus_unseen": {}}
    for section in parts:
        numbers |= section.metrics
    return numbers


def _write_files(output: Path, tables: Sequence[Table], parts: Sequence[Section]) -> None:
    for folder in ("tables", "figures"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for each in tables:
        each.cells.to_csv(output / "tables" / f"{each.name}.csv", index=False)
        (output / "tables" / f"{each.name}.tex").write_text(to_latex(each))
    for section in parts:
        for number, svg in enumerate(section.figures.values(), 1):
            (output / "figures" / f"{section.id}-{number}.svg").write_text(svg)


def _write_pages(output: Path, context: dict[str, Any]) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = to_markdown
    pages = {"index.html": "page.html.j2", "report.md": "page.md.j2"}
    if context["productivity_examples"]:
        pages["examples.html"] = "examples.html.j2"
    for name, template in pages.items():
        (output / name).write_text(environment.get_template(template).render(context))
