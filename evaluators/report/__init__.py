"""Build the report: a self-contained HTML page and a Markdown page with tables and figures as in the papers.

    build([Path("results/microworld/clip-laion-s0"), ...], Path("report"))

writes ``index.html``, ``examples.html`` (examples of productivity), ``report.md``, ``tables/*.csv``, ``tables/*.tex``,
``figures/*.svg``, ``metrics.json`` for ``dvc metrics``, and ``plots/*.csv`` for ``dvc plots``. The same results always
produce the same bytes. Results on drawn scenes, on photographs and on published sets are parts of the page. If there
are several parts, the names of their files begin with the name of the part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from compeval.evaluators.probes.analysis import PAIR_DATASETS
from compeval.evaluators.report.examples import Example, collect_examples, find_other_tasks
from compeval.evaluators.report.figures import join_panels
from compeval.evaluators.report.headlines import compare_with_chance
from compeval.evaluators.report.pages import Section, render
from compeval.evaluators.report.results import PARTS, Results, read_results, split_parts
from compeval.evaluators.report.rows import collect_rows, write_rows
from compeval.evaluators.report.sections import SECTIONS, tasks
from compeval.evaluators.report.sections.atom_counts import read_atom_counts
from compeval.evaluators.report.strip import Test, make_strip
from compeval.evaluators.report.tables import TEXTS, Table, make_table, to_csv, to_latex
from compeval.evaluators.report.text_only import find_without_measured, read_text_only
from compeval.evaluators.results.task_names import explain_names
from compeval.evaluators.results.task_warnings import summarise_warnings
from compeval.evaluators.validity.best_baselines import find_best_of_results
from compeval.loaders.datasets.verified import verify_images_once

EXAMPLE_TASKS: list[str] = TEXTS["example_tasks"]
DATASETS_WITH_SECTION = (*TEXTS["datasets_with_section"], *PAIR_DATASETS)
"""Datasets that have a section. For all other datasets, the page shows examples only."""
ROWS = 1000
"""Number of rows on the page of rows."""
MAX_NAMES = 4
"""Number of models whose names are in the title."""
PRODUCTIVITY_SPLITS = tuple(f"n{complexity}" for complexity in range(4, 13))
"""The splits of which examples.html shows a few rows."""


@dataclass(frozen=True)
class ReportPart:
    """The results of a report on one kind of images, with all that the page shows of them."""

    id: str
    """"" if the report has one part."""
    results: Results
    """All results, limited ones as well."""
    complete: Results
    models: Table
    sections: Sequence[Section]
    headline: Sequence[str]
    examples: Sequence[Example]
    strip: Sequence[Test]
    rows: Sequence[Example] = ()
    """Rows of the page of rows; there is no page without rows."""
    num_rows: int = 0
    """Number of all rows with hard negatives."""

    @property
    def title(self) -> str:
        return PARTS.get(self.id, "")

    @property
    def prefix(self) -> str:
        """Beginning of the names of files and of ids in the page."""
        return f"{self.id}_" if self.id else ""

    @property
    def names(self) -> str:
        """The models, or their number if there are many."""
        names = sorted({result.label for result in self.results})
        return ", ".join(names) if len(names) <= MAX_NAMES else f"{len(names)} models"

    @property
    def data(self) -> str:
        """The data and, if it is known, the day of the last evaluation (side files of the results)."""
        rows = {result.data["task"]: result.data["data"]["rows"] for result in self.results}
        text = f"{len(rows):,} task{'s' if len(rows) > 1 else ''}, {sum(rows.values()):,} rows"
        date = max((result.date for result in self.results), default="")
        return f"{text}, evaluated on {date}" if date else text

    @property
    def first_examples(self) -> list[Example]:
        """Two examples with a picture for the top: one on which a model is wrong, and one of another task."""
        shown = [example for example in self.examples if example.image and example.top]
        shown.sort(key=lambda example: not example.is_failure)
        others = [example for example in shown[1:] if example.task != shown[0].task]
        return [*shown[:1], *sorted(others, key=lambda example: example.is_failure)[:1]]

    @property
    def is_synthetic(self) -> bool:
        return any(result.is_synthetic for result in self.results)

    @property
    def source(self) -> str:
        """The sources of the images, or of all results if none has images."""
        with_images = [result for result in self.results if result.is_synthetic is not None]
        return ", ".join(sorted({result.data["source"] for result in with_images or self.results}))

    @property
    def explained_names(self) -> list[str]:
        """Explanations of the names of the tasks."""
        return explain_names(result.data for result in self.results)

    @property
    def warnings(self) -> list[str]:
        return summarise_warnings(
            warning for result in self.results for warning in result.data["warnings"]
        )


def build(
    folders: Sequence[Path],
    output: Path,
    data_dir: Path | None = None,
    validity: Path | None = None,
    counts: Path | None = None,
    text_only: Sequence[Path] = (),
    rows: int = ROWS,
) -> str:
    """Write the report on the models' result folders and return its headline.

    ``validity``: validity.json. ``counts``: folder with the counts of atoms in the training captions. ``text_only``:
    text_only.json and text_only_aro.json. ``rows``: number of rows on the page of rows, which can be filtered.
    """
    results = read_results(folders)
    results.text_only = read_text_only(text_only)
    results.best_baselines = find_best_of_results(find_without_measured(results), data_dir)
    results.atom_counts = read_atom_counts(counts, data_dir) if counts else None
    results.validity = json.loads(validity.read_text(encoding="utf-8")) if validity else None
    with verify_images_once():
        return _build(results, output, data_dir, rows)


def _build(results: Results, output: Path, data_dir: Path | None, rows: int) -> str:
    by_part = split_parts(results)
    crepe_part = _find_crepe_part(by_part)
    for name, members in by_part.items():
        # Both are measured on the built CREPE.
        if name != crepe_part:
            members.validity = None
            members.atom_counts = None
    parts = [
        make_part(name if len(by_part) > 1 else "", members, data_dir, rows)
        for name, members in by_part.items()
    ]
    for part in parts:
        _write_files(output, part)
    productivity_examples = {
        split: examples
        for split in PRODUCTIVITY_SPLITS
        if (
            examples := collect_examples(
                by_part[crepe_part], [f"crepe/prod_hnall/{split}"], data_dir, 2
            )
        )
    }
    context = {
        "parts": parts,
        "source": ", ".join(dict.fromkeys(part.source for part in parts)),
        "is_synthetic": parts[0].is_synthetic and len(parts) == 1,
        "productivity_examples": productivity_examples,
        "code": parts[0].results[0].data["code"],
    }
    pages = {"index.html": "page.html.j2", "report.md": "page.md.j2"}
    if productivity_examples:
        pages["examples.html"] = "examples.html.j2"
    for name, template in pages.items():
        (output / name).write_text(render(template, **context), encoding="utf-8")
    metrics = {part.id: collect_metrics(part) for part in parts}
    (output / "metrics.json").write_text(
        json.dumps(metrics.get("", metrics), indent=1) + "\n", encoding="utf-8"
    )
    return "\n".join(
        f"{part.title}: {line}" if part.title else line for part in parts for line in part.headline
    )


def _find_crepe_part(by_part: Mapping[str, Results]) -> str:
    """Return the first part with results on a CREPE that was built, or the first part."""
    for name, members in by_part.items():
        if any(not result.is_published for result in members.select("crepe")):
            return name
    return next(iter(by_part))


def make_part(name: str, results: Results, data_dir: Path | None, num_shown: int = 0) -> ReportPart:
    """Make a part of the page. Limited results are in a section of their own only."""
    complete = results.copy_with(result for result in results if not result.is_limited)
    limited = [result for result in results if result.is_limited]
    sections = make_sections(complete) if complete else []
    if limited:
        sections.append(tasks.make_section("limited", limited, results))
    lines = [
        *compare_with_chance(complete),
        *(line for section in sections for line in section.headline),
    ]
    if not complete:
        lines.append(
            "All results are on a limited number of rows (--limit), so there are no findings."
        )
    crepe = sorted({result.data["dataset"] for result in complete.select("crepe")})
    shown_tasks = [f"{dataset}/{task}" for dataset in crepe for task in EXAMPLE_TASKS]
    shown_tasks += find_other_tasks(complete, DATASETS_WITH_SECTION)
    examples = collect_examples(complete, shown_tasks, data_dir)
    models = make_models_table(results)
    rows = collect_rows(complete, data_dir, num_shown)
    return ReportPart(
        name, results, complete, models, sections, lines, examples, make_strip(complete), *rows
    )


def make_sections(results: Results) -> list[Section]:
    """Return all sections that have results."""
    sections = [section for make_section in SECTIONS if (section := make_section(results))]
    shown = {key for section in sections for key in section.shown}
    others = [result for result in results if result.key not in shown]
    return [*sections, tasks.make_section("tasks", others, results)] if others else sections


def make_models_table(results: Results) -> Table:
    """Make a table with one row per model: its training data and the number of tasks and rows."""
    records = []
    for name, group in groupby(sorted(results, key=attrgetter("model")), key=attrgetter("model")):
        first, *others = group
        about = {
            "training_data": first.training_data,
            "contaminated": first.data["model"]["contaminated"],
        }
        rows = sum(result.data["data"]["rows"] for result in (first, *others))
        records.append({"model": name, **about, "tasks": 1 + len(others), "rows": rows})
    return make_table("models", records)


def collect_metrics(part: ReportPart) -> dict[str, Any]:
    """Return the content of metrics.json, for ``dvc metrics diff``."""
    numbers: dict[str, Any] = {"recall@1": {}, "seen_minus_unseen": {}}
    for result in sorted(part.complete, key=lambda result: (result.data["task"], result.model)):
        if "recall@1" in result.metrics:
            by_model = numbers["recall@1"].setdefault(result.data["task"], {})
            by_model[result.model] = round(result.metrics["recall@1"], 4)
    for section in part.sections:
        numbers |= section.metrics
    return numbers


def _write_files(output: Path, part: ReportPart) -> None:
    for folder in ("tables", "figures", "plots"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for table in [part.models, *(table for section in part.sections for table in section.tables)]:
        (output / "tables" / f"{part.prefix}{table.name}.csv").write_text(
            to_csv(table), encoding="utf-8"
        )
        (output / "tables" / f"{part.prefix}{table.name}.tex").write_text(
            to_latex(table), encoding="utf-8"
        )
    for section in part.sections:
        for number, svg in enumerate(section.figures.values(), 1):
            path = output / "figures" / f"{part.prefix}{section.id}-{number}.svg"
            path.write_text(join_panels(svg), encoding="utf-8")
    if part.complete:
        _write_plots(output / "plots", part)
    if part.rows:
        write_rows(
            output, part.prefix, part.rows, sorted({result.model for result in part.complete})
        )
        page = render("rows.html.j2", part=part, is_synthetic=part.is_synthetic)
        (output / f"{part.prefix}rows.html").write_text(page, encoding="utf-8")


def _write_plots(folder: Path, part: ReportPart) -> None:
    """Write Recall@1 by split and by complexity with its interval and chance level."""
    values = part.complete.values
    recall = values[(values["metric"] == "recall@1") & values["kind"].notna()].rename(
        columns={"value": "recall"}
    )
    for name, position in (("systematicity", "split"), ("productivity", "complexity")):
        rows = recall[recall[position].notna()].sort_values([position, "kind", "model"])
        columns = ["model", "kind", position, "recall", "low", "high", "chance"]
        rows[columns].to_csv(folder / f"{part.prefix}{name}.csv", index=False, float_format="%.4f")
