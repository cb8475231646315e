"""One self-contained HTML page and one Markdown page from results: the paper's tables and figures for our models.

    build([Path("results/microworld/clip-laion-s0"), ...], Path("report"))

writes ``index.html``, ``examples.html`` (of productivity), ``report.md``, ``tables/*.csv`` and ``*.tex``,
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
from evaluators.report.figures import paper_figures, validity_curve
from evaluators.report.gap import GapReport, gap_report
from evaluators.report.read import Result, frame, read_results
from evaluators.report.sections import sections
from evaluators.report.tables import Table, corpus_name, own_corpus, paper_tables, to_latex, to_markdown

PRIMARY = "hnatom"
"""The kind of hard negative that the same-caption gap is tested on: one kind, so that Holm's family is the corpora."""

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
"""Datasets with tables of their own; of any other one examples are shown."""
PRODUCTIVITY_SPLITS = tuple(f"n{complexity}" for complexity in range(4, 13))
"""What examples.html shows, a few rows of each."""


def headline(results: pd.DataFrame) -> list[str]:
    """The findings in a sentence each, with the chance level beside every number."""
    lines = []
    systematic = own_corpus(results)
    systematic = systematic[systematic["kind"] == "hnatom"]
    if set(systematic["split"]) >= {"sc", "uc"}:
        seen, unseen = (systematic[systematic["split"] == split]["recall@1"].mean() for split in ("sc", "uc"))
        chance = systematic["chance"].iloc[0]
        lines.append(
            f"HN-Atom Recall@1 is {seen:.1%} on seen compounds and {unseen:.1%} on unseen ones (chance {chance:.1%})."
        )
    productive = results[(results["kind"] == "hnatom") & results["complexity"].notna()]
    if not productive.empty:
        by_number = productive.groupby("complexity")["recall@1"].mean()
        first, last = int(by_number.index.min()), int(by_number.index.max())
        lines.append(
            f"From {first} to {last} atoms, HN-Atom Recall@1 goes from {by_number.iloc[0]:.1%} to "
            f"{by_number.iloc[-1]:.1%} (chance {productive['chance'].iloc[0]:.1%})."
        )
    return lines


def measured(results: pd.DataFrame) -> Table:
    """What was measured on what: one row a model."""
    rows = [
        [
            str(name),
            corpus_name(group["trained_on"].iloc[0]),
            group["contaminated"].iloc[0] or "-",
            str(len(group)),
            f"{group['rows'].sum():,}",
        ]
        for name, group in results.groupby("model")
    ]
    columns = pd.Index(["Model", "Trained on", "Contamination", "Tasks", "Rows"])
    return Table("models", "Models, and how much each was measured on.", pd.DataFrame(rows, columns=columns))


def validity_table(validity: dict[str, Any]) -> Table:
    """The oracle's verdicts: genuine share of each type of hard negative at each annotation recall."""
    shares = pd.DataFrame(validity["genuine"])
    cells = shares.pivot(index="type", columns="recall", values="genuine").sort_index(axis=1, ascending=False)
    text = cells.map(lambda share: "-" if pd.isna(share) else f"{100 * share:.2f}").reset_index()
    text.columns = ["Type", *(f"recall {float(recall):.1f}" for recall in cells.columns)]  # pyright: ignore
    caption = "Genuine hard negatives (percent, by the oracle), if only a share of the facts had been annotated."
    return Table("validity", caption, text)


def metrics(results: pd.DataFrame, gap_reports: Sequence[GapReport]) -> dict[str, Any]:
    """The numbers that ``dvc metrics diff`` should show."""
    recall = {
        str(task): {str(row["model"]): round(float(row["recall@1"]), 4) for _, row in group.iterrows()}
        for task, group in results[results["recall@1"].notna()].groupby("task")
    }
    gaps = {report.kind: {gap.corpus: round(gap.gap, 4) for gap in report.gaps} for report in gap_reports}
    return {"recall@1": recall, "seen_minus_unseen": gaps}


def contents(context: dict[str, Any]) -> list[tuple[str, str]]:
    """Anchor and title of each part of the page that has something to show."""
    kinds = {table.name.partition("_")[0] for table in context["tables"]}
    parts = [
        ("what", "What was measured", True),
        ("systematicity", "Systematicity", "systematicity" in kinds),
        ("gap", "Seen against unseen", context["gap_reports"]),
        ("productivity", "Productivity", "productivity" in kinds),
        ("validity", "Validity", context["validity"]),
        *((section.id, section.title, True) for section in context["sections"]),
        ("examples", "Examples", context["examples"]),
    ]
    return [(anchor, title) for anchor, title, there in parts if there]


def build(folders: Sequence[Path], output: Path, data_dir: Path | None = None, validity: Path | None = None) -> str:
    """Write the report on the models' result folders; gives its headline."""
    results = read_results(folders)
    table = frame(results)
    gap_reports = [report for report in [gap_report(results, PRIMARY)] if report]
    checked: dict[str, Any] | None = json.loads(validity.read_text()) if validity else None
    others = sections(results)
    context = {
        "synthetic": any(result.data["synthetic"] for result in results),
        "source": table["source"].iloc[0],
        "headline": [*headline(table), *(line for section in others for line in section.headline)],
        "measured": measured(table),
        "tables": paper_tables(table),
        "figures": paper_figures(table),
        "sections": others,
        "gap_reports": gap_reports,
        "validity": checked,
        "validity_table": checked and validity_table(checked),
        "validity_figure": checked and validity_curve(pd.DataFrame(checked["genuine"])),
        "warnings": _warnings(results),
        "examples": examples(results, [*EXAMPLE_TASKS, *other_tasks(results, GENERATED)], data_dir),
        "productivity_examples": {
            split: found
            for split in PRODUCTIVITY_SPLITS
            if (found := examples(results, [f"crepe/prod_hnall/{split}"], data_dir, count=2))
        },
        "code": results[0].data["code"],
    }
    _write(output, context | {"contents": dict(contents(context))})
    (output / "metrics.json").write_text(json.dumps(metrics(table, gap_reports), indent=1) + "\n")
    return "\n".join(context["headline"])


def _warnings(results: Sequence[Result]) -> list[str]:
    return sorted({warning for result in results for warning in result.data["warnings"]})


def _share(share: float | None, decimals: int) -> str:
    """As percent; a dash where nothing was counted."""
    return "-" if share is None else f"{share:.{decimals}%}"


def _write(output: Path, context: dict[str, Any]) -> None:
    for folder in ("tables", "figures"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    grouped = [*context["gap_reports"], *context["sections"]]
    tables = [context["measured"], *context["tables"], *(table for group in grouped for table in group.tables)]
    for table in tables + ([context["validity_table"]] if context["validity"] else []):
        table.cells.to_csv(output / "tables" / f"{table.name}.csv", index=False)
        (output / "tables" / f"{table.name}.tex").write_text(to_latex(table))
    figures = {"figure": context["figures"]} | {section.id: section.figures for section in context["sections"]}
    for name, drawn in figures.items():
        for number, svg in enumerate(drawn.values(), 1):
            (output / "figures" / f"{name}-{number}.svg").write_text(svg)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"markdown": to_markdown, "share": _share}
    pages = [("page.html.j2", "index.html"), ("page.md.j2", "report.md")]
    if context["productivity_examples"]:
        pages.append(("examples.html.j2", "examples.html"))
    for template, name in pages:
        (output / name).write_text(environment.get_template(template).render(context))
