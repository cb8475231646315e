"""``compeval compare`` and ``power``: compare models on the same rows, and plan how many rows a comparison needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from compeval.cli.console import AsJson, Data, Format, FormatName, note, print_records
from compeval.cli.results import format_interval


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="A B [C ...]", help="Result folders of models.")],
    by_category: Annotated[
        bool, typer.Option("--by-category", help="Compare two models within categories of rows, such as relations.")
    ] = False,
    disagreements: Annotated[
        Path | None, typer.Option(help="Write a page with rows on which one of two models is right, with pictures.")
    ] = None,
    data: Data = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Compare models row by row with paired tests: two models (B minus A), or a ranking of more."""
    if len(folders) < 2 or (len(folders) > 2 and (by_category or disagreements)):
        expected = "two" if by_category or disagreements else "two or more"
        raise ValueError(f"Name the result folders of {expected} models; got {len(folders)}.")
    chosen = "json" if as_json else output_format
    if disagreements is not None:
        from evaluators.report.disagreements import write_page

        note(f"The page: {write_page(folders[0], folders[1], disagreements, data)}")
    if len(folders) > 2:
        print_ranking(folders, chosen)
    elif by_category:
        _print_effects(folders[0], folders[1], chosen)
    else:
        _print_comparison(folders[0], folders[1], chosen)


def _print_comparison(a: Path, b: Path, output_format: FormatName) -> None:
    from evaluators.results.compare import compare as compare_results

    lines = compare_results(a, b)
    header = ("task", "metric", "rows", "A", "B", "B - A", "95 % interval", "McNemar p", "Wilcoxon p")
    rows = [
        (
            *(line.task, line.metric, f"{line.rows:,}", f"{line.a:.1%}", f"{line.b:.1%}"),
            *(f"{100 * line.difference:+.1f}", _format_points(line.interval)),
            *(f"{line.mcnemar_holm:.2g}", f"{line.wilcoxon_holm:.2g}"),
        )
        for line in lines
    ]
    _print_lines(output_format, header, rows, [line.to_json() for line in lines])
    note("p-values are Holm-corrected over the lines of this table.")


def print_ranking(folders: Sequence[Path], output_format: FormatName) -> None:
    from evaluators.results.compare import rank_models

    lines = rank_models(folders)
    header = ("task", "model", "rank", "metric", "rows", "%", "95 % interval", "p to the next")
    following = [
        other if (other.task, other.metric) == (line.task, line.metric) else line
        for line, other in zip(lines, [*lines[1:], lines[-1]], strict=True)
    ]
    rows = [
        (
            *(line.task, line.model, str(line.rank), line.metric, f"{line.rows:,}", f"{100 * line.share:.1f}"),
            *(format_interval(line.interval), f"{line.p[other.model]:.2g}" if other.model in line.p else "-"),
        )
        for line, other in zip(lines, following, strict=True)
    ]
    _print_lines(output_format, header, rows, [line.to_json() for line in lines])
    note("rank: 1 + the number of models that are significantly better. p-values are Holm-corrected over all pairs.")


def _print_effects(a: Path, b: Path, output_format: FormatName) -> None:
    from evaluators.results.compare import compare_categories

    lines = compare_categories(a, b)
    header = ("task", "category", "rows", "A", "B", "B - A", "95 % interval", "Cohen's g", "p")
    rows = [
        (
            *(line.task, f"{line.by}: {line.category}", f"{line.rows:,}", f"{line.a:.1%}", f"{line.b:.1%}"),
            *(f"{100 * (line.b - line.a):+.1f}", _format_points(line.interval)),
            *("-" if line.g is None else f"{line.g:+.2f}", f"{line.p:.2g}"),
        )
        for line in lines
    ]
    _print_lines(output_format, header, rows, [line.to_json() for line in lines])
    note("Cohen's g: the share of B among the rows that one model solves, minus 1/2. p-values are Holm-corrected.")


def _print_lines(
    output_format: FormatName,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    lines: Sequence[dict[str, Any]],
) -> None:
    """Print lines with an interval. CSV has its bounds in two columns, and no nested values."""
    records = [
        {name: value for name, value in line.items() if not isinstance(value, tuple | dict)}
        | dict(zip(("low", "high"), line["interval"], strict=True))
        for line in lines
    ]
    print_records(output_format, header, rows, records, list(lines))


def _format_points(interval: Sequence[float]) -> str:
    return "{:+.1f} to {:+.1f}".format(*(100 * bound for bound in interval))


def power(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[A B]", help="Result folders of two models, whose agreement is measured."),
    ] = None,
    difference: Annotated[
        float, typer.Option(min=0.01, max=100, help="Difference of interest in percentage points.")
    ] = 2,
    agreement: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Percentage of rows on which both models are right, or both wrong."),
    ] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Print the smallest difference that N rows show.")] = None,
    wanted: Annotated[float, typer.Option("--power", min=1, max=99.9, help="Probability to find it, in percent.")] = 80,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Print how many rows show a difference between two models at the 5 % level."""
    from evaluators.metrics import power as formulas

    chosen = "json" if as_json else output_format
    if folders:
        if len(folders) != 2 or agreement is not None or rows is not None:
            raise ValueError("Name either the result folders of two models, or --agreement with or without --rows.")
        _print_sensitivity(folders[0], folders[1], difference / 100, wanted / 100, chosen)
        return
    if agreement is None:
        raise ValueError("Name the result folders of two models, or --agreement, for example --agreement 90.")
    disagreement = 1 - agreement / 100
    if rows is None:
        needed = math.ceil(formulas.count_rows(difference / 100, disagreement, wanted / 100))
        record = {"difference": difference / 100, "agreement": agreement / 100, "power": wanted / 100, "rows": needed}
        text = (f"{difference:g}", f"{agreement:g} %", f"{wanted:g} %", f"{needed:,}")
    else:
        found = formulas.find_difference(rows, disagreement, wanted / 100)
        record = {"difference": found, "agreement": agreement / 100, "power": wanted / 100, "rows": rows}
        points = "none" if found is None else f"{100 * found:.1f}"
        text = (points, f"{agreement:g} %", f"{wanted:g} %", f"{rows:,}")
    print_records(chosen, ("difference in points", "agreement", "power", "rows"), [text], [record])
    note("For rows of different images. Rows that share images show less; with two result folders, this is measured.")


def _print_sensitivity(a: Path, b: Path, difference: float, wanted: float, output_format: FormatName) -> None:
    from evaluators.results.compare import measure_sensitivity

    lines = measure_sensitivity(a, b, difference, wanted)
    header = (
        "task",
        "metric",
        "rows",
        "agreement",
        "design effect",
        "detectable",
        f"rows for {100 * difference:g} points",
    )
    table_rows = [
        (
            *(line.task, line.metric, f"{line.rows:,}", f"{1 - line.disagreement:.1%}", f"{line.design_effect:.2f}"),
            "none" if line.detectable is None else f"{100 * line.detectable:.1f}",
            "-" if line.needed is None else f"{math.ceil(line.needed):,}",
        )
        for line in lines
    ]
    print_records(output_format, header, table_rows, [line.to_json() for line in lines])
    note(f"detectable: the smallest difference in points that a test at the 5 % level finds (power {wanted:.0%}).")
