"""Build the report: a self-contained HTML page and a Markdown page with tables and figures as in the papers.

    build([Path("results/microworld/clip-laion-s0"), ...], Path("report"))

writes ``index.html``, ``examples.html`` (examples of productivity), ``report.md``, ``tables/*.csv``, ``tables/*.tex``,
``figures/*.svg``, ``metrics.json`` for ``dvc metrics``, and ``plots/*.csv`` for ``dvc plots``. The same results always
produce the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import pandas as pd

from evaluators.probes.analysis import PAIR_DATASETS
from evaluators.report.atom_counts import read_atom_counts
from evaluators.report.examples import collect_examples, find_other_tasks
from evaluators.report.results import Results, get_corpus_name, read_results
from evaluators.report.section import Section
from evaluators.report.sections import MODULES
from evaluators.report.tables import (
    MISSING,
    Table,
    escape_markdown,
    make_table,
    split_spread,
    to_csv,
    to_latex,
    to_markdown,
)

EXAMPLE_TASKS = (
    "crepe/laion_sc_hnatom",
    "crepe/laion_uc_hnatom",
    "crepe/laion_uc_hncomp",
    "crepe/laion_sc_hnall",
    "crepe/laion_uc_hnall",
    "crepe/prod_hnatom/n4",
    "crepe/prod_hnswap/n8",
    "crepe/prod_hnneg/n8",
    "crepe/prod_hnatom/n12",
)
DATASETS_WITH_SECTION = (
    *("crepe", "aro", "retrieval", "classification", "compprompts", "compun"),
    *PAIR_DATASETS,
)
"""Datasets that have a section. For all other datasets, the page shows examples only."""
PRODUCTIVITY_SPLITS = tuple(f"n{complexity}" for complexity in range(4, 13))
"""The splits of which examples.html shows a few rows."""


def build(
    folders: Sequence[Path],
    output: Path,
    data_dir: Path | None = None,
    validity: Path | None = None,
    counts: Path | None = None,
) -> str:
    """Write the report on the models' result folders and return its headline.

    ``validity``: validity.json. ``counts``: folder with the counts of atoms in the training captions.
    """
    results = read_results(folders)
    if counts:
        results.atom_counts = read_atom_counts(counts, data_dir)
    if validity:
        results.validity = json.loads(validity.read_text())
    sections = make_sections(results)
    examples_by_split = {
        split: collect_examples(results, [f"crepe/prod_hnall/{split}"], data_dir, 2) for split in PRODUCTIVITY_SPLITS
    }
    context = {
        "synthetic": bool((results.frame["synthetic"] == True).any()),  # noqa: E712 - None if there are no images
        "source": ", ".join(list_sources(results.frame)),
        "models": make_models_table(results.frame),
        "sections": sections,
        "headline": [line for section in sections for line in section.headline],
        "warnings": sorted({warning for result in results for warning in result.data["warnings"]}),
        "examples": collect_examples(
            results, [*EXAMPLE_TASKS, *find_other_tasks(results, DATASETS_WITH_SECTION)], data_dir
        ),
        "productivity_examples": {split: items for split, items in examples_by_split.items() if items},
        "code": results[0].data["code"],
    }
    _write_files(output, [context["models"], *(table for section in sections for table in section.tables)], sections)
    _write_pages(output, context)
    _write_plots(output / "plots", results.frame)
    (output / "metrics.json").write_text(json.dumps(collect_metrics(results, sections), indent=1) + "\n")
    return "\n".join(context["headline"])


def make_sections(results: Results) -> list[Section]:
    """Return all sections that have results."""
    return [section for module in MODULES if (section := module.make_section(results))]


def list_sources(results: pd.DataFrame) -> list[str]:
    """Return the sources of the images, or of all results if none has images."""
    with_images = results[results["synthetic"].notna()]
    return sorted((results if with_images.empty else with_images)["source"].unique())


def make_models_table(results: pd.DataFrame) -> Table:
    """Make a table with one row per model: its training data and the number of tasks and rows."""
    rows = []
    for name, group in results.groupby("model"):
        first = group.iloc[0]
        contamination = first["contaminated"] or MISSING
        rows.append([name, get_corpus_name(first["trained_on"]), contamination, len(group), group["rows"].sum()])
    header = ["Model", "Trained on", "Contamination", "Tasks", "Rows"]
    return make_table("models", header, rows)


def collect_metrics(results: Results, sections: Sequence[Section]) -> dict[str, Any]:
    """Return the content of metrics.json, for ``dvc metrics diff``."""
    frame = results.frame
    recall = {
        str(task): {str(row["model"]): round(float(row["recall@1"]), 4) for _, row in group.iterrows()}
        for task, group in frame[frame["recall@1"].notna()].groupby("task")
    }
    numbers: dict[str, Any] = {"recall@1": recall, "seen_minus_unseen": {}}
    for section in sections:
        numbers |= section.metrics
    return numbers


def _write_files(output: Path, tables: Sequence[Table], sections: Sequence[Section]) -> None:
    for folder in ("tables", "figures"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for table in tables:
        (output / "tables" / f"{table.name}.csv").write_text(to_csv(table))
        (output / "tables" / f"{table.name}.tex").write_text(to_latex(table))
    for section in sections:
        for number, svg in enumerate(section.figures.values(), 1):
            (output / "figures" / f"{section.id}-{number}.svg").write_text(svg)


def _write_plots(folder: Path, results: pd.DataFrame) -> None:
    """Write Recall@1 by split and by complexity with its interval and chance level."""
    folder.mkdir(exist_ok=True)
    for name, position in (("systematicity", "split"), ("productivity", "complexity")):
        rows = results[results["kind"].notna() & results[position].notna() & results["recall@1"].notna()]
        rows = (
            rows.rename(columns={"recall@1": "recall"})
            .astype({"complexity": "Int64"})
            .sort_values([position, "kind", "model"])
        )
        columns = ["model", "kind", position, "recall", "low", "high", "chance"]
        rows[columns].to_csv(folder / f"{name}.csv", index=False, float_format="%.4f")


def _write_pages(output: Path, context: dict[str, Any]) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = to_markdown
    environment.filters["split_spread"] = split_spread
    environment.filters["width"] = lambda svg: float(svg.partition(' width="')[2].partition("pt")[0])
    environment.filters["label"] = lambda svg, caption: svg.replace(
        "<svg", f'<svg role="img" aria-label="{markupsafe.escape(caption)}"', 1
    )
    environment.filters["escape_markdown"] = escape_markdown
    pages = {"index.html": "page.html.j2", "report.md": "page.md.j2"}
    if context["productivity_examples"]:
        pages["examples.html"] = "examples.html.j2"
    for name, template in pages.items():
        (output / name).write_text(environment.get_template(template).render(context))
