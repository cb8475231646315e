"""Build the report: a self-contained HTML page and a Markdown page with tables and figures as in the papers.

    build([Path("results/microworld/clip-laion-s0"), ...], Path("report"))

writes ``index.html``, ``examples.html`` (examples of productivity), ``report.md``, ``tables/*.csv``, ``tables/*.tex``,
``figures/*.svg``, ``metrics.json`` for ``dvc metrics``, and ``plots/*.csv`` for ``dvc plots``. The same results always
produce the same bytes. Results on drawn scenes, on photographs and on published sets are parts of the page. If there
are several parts, the names of their files begin with the name of the part.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import pandas as pd

from evaluators.probes.analysis import PAIR_DATASETS
from evaluators.report.atom_counts import read_atom_counts
from evaluators.report.examples import Example, collect_examples, find_other_tasks
from evaluators.report.headlines import compare_with_chance
from evaluators.report.results import PARTS, Result, Results, read_results, split_parts
from evaluators.report.section import Section
from evaluators.report.sections import MODULES, tasks
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
from evaluators.report.text_only import read_text_only

TRUNCATED = re.compile(r"[\d,]+ of [\d,]+ (?P<rest>texts are longer than .*)")
"""A warning of evaluators/engine/score.py."""
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
    *("crepe", "crepe_published", "aro", "aro_published", "retrieval", "classification", "compprompts", "compun"),
    *PAIR_DATASETS,
)
"""Datasets that have a section. For all other datasets, the page shows examples only."""
PRODUCTIVITY_SPLITS = tuple(f"n{complexity}" for complexity in range(4, 13))
"""The splits of which examples.html shows a few rows."""


@dataclass(frozen=True)
class Part:
    """The results of a report on one kind of images, with all that the page shows of them."""

    id: str
    """"" if the report has one part."""
    results: Results
    models: Table
    sections: Sequence[Section]
    headline: Sequence[str]
    examples: Sequence[Example]

    @property
    def title(self) -> str:
        return PARTS.get(self.id, "")

    @property
    def prefix(self) -> str:
        """Beginning of the names of files and of ids in the page."""
        return f"{self.id}_" if self.id else ""

    @property
    def is_synthetic(self) -> bool:
        return any(result.is_synthetic for result in self.results)

    @property
    def source(self) -> str:
        return ", ".join(list_sources(self.results))

    @property
    def warnings(self) -> list[str]:
        return summarise_warnings(warning for result in self.results for warning in result.data["warnings"])

    @property
    def tables(self) -> list[Table]:
        return [self.models, *(table for section in self.sections for table in section.tables)]


def summarise_warnings(warnings: Iterable[str]) -> list[str]:
    """Return the distinct warnings, sorted, and one for all truncated texts of a length, which differ in numbers."""
    others: set[str] = set()
    tasks = Counter[str]()
    for warning in warnings:
        if truncated := TRUNCATED.fullmatch(warning):
            tasks[truncated["rest"]] += 1
        else:
            others.add(warning)
    return [*sorted(others), *(f"In {count:,} results, some {rest}" for rest, count in sorted(tasks.items()))]


def build(
    folders: Sequence[Path],
    output: Path,
    data_dir: Path | None = None,
    validity: Path | None = None,
    counts: Path | None = None,
    text_only: Sequence[Path] = (),
    find_shortcuts: Callable[[Iterable[str]], Mapping[str, Any]] = lambda names: {},
) -> str:
    """Write the report on the models' result folders and return its headline.

    ``validity``: validity.json. ``counts``: folder with the counts of atoms in the training captions. ``text_only``:
    text_only.json and text_only_aro.json. ``find_shortcuts``: a function that returns the best rule without the image
    on each set of the datasets with given names (evaluators/validity/shortcuts.py).
    """
    results = read_results(folders)
    results.text_only = read_text_only(text_only)
    results.shortcuts = find_shortcuts({result.data["dataset"] for result in results})
    if counts:
        results.atom_counts = read_atom_counts(counts, data_dir)
    if validity:
        results.validity = json.loads(validity.read_text())
    by_part = split_parts(results)
    parts = [
        make_part(name if len(by_part) > 1 else "", members, data_dir, is_first=name == next(iter(by_part)))
        for name, members in by_part.items()
    ]
    examples = {
        split: collect_examples(parts[0].results, [f"crepe/prod_hnall/{split}"], data_dir, 2)
        for split in PRODUCTIVITY_SPLITS
    }
    for part in parts:
        _write_files(output, part)
    _write_pages(output, parts, {split: items for split, items in examples.items() if items})
    metrics = {part.id: collect_metrics(part.results, part.sections) for part in parts}
    (output / "metrics.json").write_text(json.dumps(metrics.get("", metrics), indent=1) + "\n")
    return "\n".join(f"{part.title}: {line}" if part.title else line for part in parts for line in part.headline)


def make_part(name: str, results: Results, data_dir: Path | None, is_first: bool = True) -> Part:
    """Make a part of the page. The validity of the micro-world's sets is in the first part."""
    if not is_first:
        results = results.copy_with(results)
        results.validity = results.atom_counts = None
    complete = results.copy_with(result for result in results if result.data["data"]["limit"] is None)
    limited = [result for result in results if result.data["data"]["limit"] is not None]
    sections = make_sections(complete) if complete else []
    if limited:
        sections.append(Section("limited", list(tasks.make_tables("limited", limited, results))))
    lines = [*compare_with_chance(complete), *(line for section in sections for line in section.headline)]
    if not complete:
        lines.append("All results are on a limited number of rows (--limit), so there are no findings.")
    shown_tasks = [*list_example_tasks(complete), *find_other_tasks(complete, DATASETS_WITH_SECTION)]
    return Part(
        name, results, make_models_table(results), sections, lines, collect_examples(complete, shown_tasks, data_dir)
    )


def make_sections(results: Results) -> list[Section]:
    """Return all sections that have results."""
    sections = [section for module in MODULES if (section := module.make_section(results))]
    others = tasks.make_section(results, {key for section in sections for key in section.shown})
    return [*sections, others] if others else sections


def list_example_tasks(results: Results) -> list[str]:
    """Return EXAMPLE_TASKS of CREPE's dataset and of the imported one."""
    datasets = sorted({result.data["dataset"] for result in results.select("crepe")})
    return [f"{dataset}/{task.partition('/')[2]}" for dataset in datasets for task in EXAMPLE_TASKS]


def list_sources(results: Results) -> list[str]:
    """Return the sources of the images, or of all results if none has images."""
    with_images = [result for result in results if result.is_synthetic is not None]
    return sorted({result.data["source"] for result in with_images or results})


def make_models_table(results: Results) -> Table:
    """Make a table with one row per model: its training data and the number of tasks and rows."""
    models: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.model):
        models.setdefault(result.model, []).append(result)
    rows = [
        [
            name,
            members[0].training_data,
            members[0].data["model"]["contaminated"] or MISSING,
            len(members),
            sum(result.data["data"]["rows"] for result in members),
        ]
        for name, members in models.items()
    ]
    return make_table("models", ["Model", "Trained on", "Contamination", "Tasks", "Rows"], rows)


def collect_metrics(results: Results, sections: Sequence[Section]) -> dict[str, Any]:
    """Return the content of metrics.json, for ``dvc metrics diff``."""
    recall: dict[str, dict[str, float]] = {}
    for result in sorted(results, key=lambda result: (result.data["task"], result.model)):
        if "recall@1" in result.metrics and result.data["data"]["limit"] is None:
            recall.setdefault(result.data["task"], {})[result.model] = round(result.metrics["recall@1"], 4)
    numbers: dict[str, Any] = {"recall@1": recall, "seen_minus_unseen": {}}
    for section in sections:
        numbers |= section.metrics
    return numbers


def _write_files(output: Path, part: Part) -> None:
    for folder in ("tables", "figures", "plots"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for table in part.tables:
        (output / "tables" / f"{part.prefix}{table.name}.csv").write_text(to_csv(table))
        (output / "tables" / f"{part.prefix}{table.name}.tex").write_text(to_latex(table))
    for section in part.sections:
        for number, svg in enumerate(section.figures.values(), 1):
            (output / "figures" / f"{part.prefix}{section.id}-{number}.svg").write_text(svg)
    complete = part.results.copy_with(result for result in part.results if result.data["data"]["limit"] is None)
    if complete:
        _write_plots(output / "plots", part.prefix, complete.frame)


def _write_plots(folder: Path, prefix: str, results: pd.DataFrame) -> None:
    """Write Recall@1 by split and by complexity with its interval and chance level."""
    for name, position in (("systematicity", "split"), ("productivity", "complexity")):
        rows = results[results["kind"].notna() & results[position].notna() & results["recall@1"].notna()]
        rows = (
            rows.rename(columns={"recall@1": "recall"})
            .astype({"complexity": "Int64"})
            .sort_values([position, "kind", "model"])
        )
        columns = ["model", "kind", position, "recall", "low", "high", "chance"]
        rows[columns].to_csv(folder / f"{prefix}{name}.csv", index=False, float_format="%.4f")


def render_template(name: str, context: Mapping[str, Any]) -> str:
    """Render a template of this folder. Templates of HTML escape all values."""
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
    return environment.get_template(name).render(context)


def _write_pages(output: Path, parts: Sequence[Part], productivity_examples: Mapping[str, Sequence[Example]]) -> None:
    context = {
        "parts": parts,
        "source": ", ".join(dict.fromkeys(part.source for part in parts)),
        "synthetic": parts[0].is_synthetic and len(parts) == 1,
        "productivity_examples": productivity_examples,
        "code": parts[0].results[0].data["code"],
    }
    pages = {"index.html": "page.html.j2", "report.md": "page.md.j2"}
    if productivity_examples:
        pages["examples.html"] = "examples.html.j2"
    for name, template in pages.items():
        (output / name).write_text(render_template(template, context))
