"""``compeval compare``, ``power`` and ``leaderboard``: compare models, and plan how many rows a comparison needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli.console import (
    check_results,
    check_writable,
    err,
    print_message,
    print_records,
    reject_unused_options,
)
from compeval.cli.options import Data, Format, FormatName
from compeval.cli.results import (
    count_texts,
    drop_columns,
    format_baseline,
    get_recall,
    measure_baselines,
)

if TYPE_CHECKING:
    from compeval.evaluators.validity.best_baselines import BestBaseline

DIFFERENCE = 2.0
"""Default difference of interest in percentage points."""


def compare(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B [C ...]", help="Result folders of models, or a folder that contains them."
        ),
    ],
    by_category: Annotated[
        bool,
        typer.Option(
            "--by-category", help="Compare two models within categories of rows, such as relations."
        ),
    ] = False,
    disagreements: Annotated[
        Path | None,
        typer.Option(
            help="Write a page with rows on which one of two models is right, with pictures."
        ),
    ] = None,
    data: Data = None,
    all_metrics: Annotated[
        bool,
        typer.Option(
            "--all-metrics",
            help="Of two models, also the accuracy on pairs of the caption and one negative.",
        ),
    ] = False,
    output_format: Format = "table",
) -> None:
    """Compare models row by row with paired tests: two models (B minus A), or a ranking of more.

    The column text-only has the best of the baselines that see no image, for hard negatives whose dataset is here. csv
    and json contain all metrics.

    Example: `compeval compare results/coco/ViT-B-32 results/coco/ViT-L-14 --by-category`.
    """
    folders = _find_models(folders)
    if len(folders) < 2 or (len(folders) > 2 and (by_category or disagreements)):
        expected = "two" if by_category or disagreements else "two or more"
        raise ValueError(f"Name the result folders of {expected} models; got {len(folders)}.")
    if by_category and disagreements is None:
        reject_unused_options("with --by-category", data=data)
    if by_category or len(folders) > 2:
        reason = "with --by-category" if by_category else "on more than two models"
        reject_unused_options(reason, all_metrics=all_metrics)
    check_results(folders)
    if disagreements is not None:
        check_writable(disagreements, "--disagreements")
        from compeval.evaluators.report.disagreements import write_page

        print_message(f"The page: {write_page(folders[0], folders[1], disagreements, data)}")
    if len(folders) > 2:
        print_ranking(folders, data, output_format)
    elif by_category:
        _print_effects(folders[0], folders[1], output_format)
    else:
        _print_comparison(folders[0], folders[1], data, output_format, all_metrics=all_metrics)


def _find_models(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of models: those in a single folder that contains the results of several models."""
    if len(folders) != 1:
        return list(folders)
    from compeval.evaluators.results.documents import read_undamaged

    models: dict[str, set[Path]] = {}
    for path, result in read_undamaged(folders[0]).items():
        parts = path.relative_to(folders[0]).parts
        models.setdefault(str(result["model"]["name"]), set()).add(folders[0] / parts[0])
    found = [sorted(paths)[0] for paths in models.values() if len(paths) == 1]
    return sorted(set(found)) if len(set(found)) == len(models) > 1 else list(folders)


def _print_comparison(
    a: Path, b: Path, data: Path | None, output_format: FormatName, *, all_metrics: bool
) -> None:
    from compeval.evaluators.protocols.ranking import is_on_request
    from compeval.evaluators.results.compare import compare_pairs, summarise
    from compeval.evaluators.results.paired import read_paired_values

    pairs = list(read_paired_values([a, b]))
    lines = compare_pairs(pairs)
    if len(pairs) > 1:
        lines.append(summarise(pairs))
    records = [line._asdict() for line in lines]
    shown = [record for record in records if all_metrics or not is_on_request(record["metric"])]
    _print_with_baselines("comparison", records, shown, _measure_baselines(a, data), output_format)
    print_message(
        "p-values are Holm-corrected over the tasks of this table. The mean gives each task the same weight."
    )


def _measure_baselines(folder: Path, data: Path | None) -> Mapping[str, BestBaseline]:
    """Return task -> best text-only baseline, of the tasks of a result folder."""
    from compeval.evaluators.results import documents
    from compeval.evaluators.results.paired import find_documents

    return measure_baselines(map(documents.read, find_documents(folder).values()), data)


def _print_with_baselines(
    table: str,
    records: Sequence[dict[str, Any]],
    shown: Sequence[dict[str, Any]],
    baselines: Mapping[str, BestBaseline],
    output_format: FormatName,
) -> None:
    """Print records with their text-only baselines: those that are ``shown`` as a table, and all as csv and json."""
    from compeval.evaluators.report.tables import format_rows

    described = [
        record
        | {"text_only": format_baseline(baselines.get(record["task"]), record["metric"]) or None}
        for record in shown
    ]
    documents = [
        record | {"text_only": get_recall(baselines.get(record["task"]), record["metric"])}
        for record in records
    ]
    rows = drop_columns(format_rows(table, described))
    print_records(output_format, rows, documents, left=count_texts(rows))


def print_ranking(folders: Sequence[Path], data: Path | None, output_format: FormatName) -> None:
    from compeval.evaluators.results.compare import rank_models

    lines = rank_models(folders)
    records = [line._asdict() for line in lines]
    following = [
        line.p.get(other.model) if (other.task, other.metric) == (line.task, line.metric) else None
        for line, other in pairwise([*lines, *lines[-1:]])
    ]
    rows = [record | {"next": p} for record, p in zip(records, following, strict=True)]
    baselines = _measure_baselines(folders[0], data)
    _print_with_baselines("ranking", records, rows, baselines, output_format)
    print_message(
        "rank: 1 + the number of models that are significantly better. p-values are Holm-corrected over all pairs."
    )


def _print_effects(a: Path, b: Path, output_format: FormatName) -> None:
    from compeval.evaluators.report.tables import format_rows
    from compeval.evaluators.results.compare import compare_categories

    records = [line._asdict() for line in compare_categories(a, b)]
    rows = format_rows(
        "effects", (record | {"difference": record["b"] - record["a"]} for record in records)
    )
    print_records(output_format, rows, records)
    print_message(
        "Cohen's g: the share of B among the rows that one model solves, minus 1/2. p-values are Holm-corrected."
    )


def power(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[A B]", help="Result folders of two models, whose agreement is measured."
        ),
    ] = None,
    difference: Annotated[
        float, typer.Option(min=0.01, max=100, help="Difference of interest in percentage points.")
    ] = DIFFERENCE,
    agreement: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Percentage of rows on which both models are right, or both wrong."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Print the smallest difference that N rows show.")
    ] = None,
    wanted: Annotated[
        float, typer.Option("--power", min=1, max=99.9, help="Probability to find it, in percent.")
    ] = 80,
    output_format: Format = "table",
) -> None:
    """Print how many rows show a difference between two models at the 5 % level.

    Example: `compeval power --agreement 90 --difference 1`.
    """
    check_results(folders or ())
    from compeval.evaluators.metrics.power import count_rows, find_difference

    if folders:
        if len(folders) != 2 or agreement is not None or rows is not None:
            raise ValueError(
                "Name either the result folders of two models, or --agreement with or without --rows."
            )
        _print_sensitivity(folders[0], folders[1], difference / 100, wanted / 100, output_format)
        return
    if agreement is None:
        raise ValueError(
            "Name the result folders of two models, or --agreement, for example --agreement 90."
        )
    if rows is not None:
        reject_unused_options(
            "with --rows, which prints the smallest one", difference=difference != DIFFERENCE
        )
    disagreement = 1 - agreement / 100
    points = difference / 100
    if rows is None:
        rows = math.ceil(count_rows(points, disagreement, wanted / 100))
    else:
        points = find_difference(rows, disagreement, wanted / 100)
    _print_power(points, agreement, wanted, rows, output_format)


def _print_power(
    difference: float | None, agreement: float, wanted: float, rows: int, output_format: FormatName
) -> None:
    """Print the difference (a share; None if no difference is large enough) that ``rows`` rows show.

    ``agreement`` and ``wanted`` are in percent.
    """
    record = {
        "difference": difference,
        "agreement": agreement / 100,
        "power": wanted / 100,
        "rows": rows,
    }
    row = {
        "difference in points": "none" if difference is None else f"{100 * difference:.1f}",
        "agreement": f"{agreement:g} %",
        "power": f"{wanted:g} %",
        "rows": f"{rows:,}",
    }
    print_records(output_format, [row], [record])
    print_message(
        "For rows of different images. Rows that share images show less; with two result folders, this is measured."
    )


def _print_sensitivity(
    a: Path, b: Path, difference: float, wanted: float, output_format: FormatName
) -> None:
    from compeval.evaluators.results.compare import measure_sensitivity

    lines = measure_sensitivity(a, b, difference, wanted)
    rows = [
        {
            "task": line.task,
            "metric": line.metric,
            "rows": f"{line.rows:,}",
            "agreement": f"{1 - line.disagreement:.1%}",
            "design effect": f"{line.design_effect:.2f}",
            "detectable": "none" if line.detectable is None else f"{100 * line.detectable:.1f}",
            f"rows for {100 * difference:g} points": "-"
            if line.needed is None
            else f"{math.ceil(line.needed):,}",
        }
        for line in lines
    ]
    print_records(output_format, rows, [line._asdict() for line in lines])
    print_message(
        f"detectable: the smallest difference in points that a test at the 5 % level finds (power {wanted:.0%})."
    )


def leaderboard(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="Result folders, of many models. Default: all results in results/."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the page and its tables.")] = Path(
        "leaderboard"
    ),
    data: Data = None,
    about: Annotated[
        Path | None,
        typer.Option(
            help="CSV with a column model and any of family, parameters, date, training_data, "
            "text_only."
        ),
    ] = None,
    published: Annotated[
        bool | None,
        typer.Option(
            help="Show published models with scores on the same rows, in another style. This is "
            "the default; without result folders, --published shows only them."
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="With --published alone, show all columns of this benchmark, such as "
            "sugarcrepe. Repeatable.",
        ),
    ] = None,
) -> None:
    """Write a self-contained page that ranks models, with CSV, parquet and LaTeX. Needs the extra `leaderboard`.

    `compeval leaderboard --published` shows the published models alone: no results are needed.

    Example: `compeval leaderboard results --about models.csv`.
    """
    check_writable(output)
    if published and results is None:
        reject_unused_options("with --published alone, without results", data=data, about=about)
        with err.status("Ranking"):
            from compeval.evaluators.leaderboard import build_published

            page = build_published(output, benchmark or ())
        typer.echo(f"The leaderboard of published models: {page}")
        return
    reject_unused_options("without --published, or with result folders", benchmark=benchmark)
    results = results or [Path("results")]
    check_results(results)
    with err.status("Ranking"):
        from compeval.evaluators.leaderboard import build

        page = build(results, output, data, about, with_published=published is not False)
    typer.echo(f"The leaderboard: {page}")
