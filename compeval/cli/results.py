"""``compeval show`` and ``score``: print results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli.console import check_writable, err, format_interval, print_message, print_records
from compeval.cli.options import Data, Format, FormatName, Results

if TYPE_CHECKING:
    from compeval.evaluators.results.documents import Result

TIES = "ties %"
"""Column with the share of ties, which tables have if it is above 1 % for one of their metrics."""
SUMMARY_FROM = 20
"""Number of lines from which `compeval run` prints a summary."""


def show(
    result: Annotated[Path, typer.Argument(help="A result file, or a folder of results.")] = Path(
        "results"
    ),
    output_format: Format = "table",
) -> None:
    """Print a result, or all results in a folder. csv and json contain all metrics, table and md the main metrics.

    Example: `compeval show results --format csv`.
    """
    from compeval.evaluators.results import documents

    paths = documents.list_documents(result) if result.is_dir() else [result]
    if not paths:
        raise ValueError(f"{result}: no result files. `compeval run` writes them to results/.")
    print_results([documents.read(path) for path in paths], output_format)


def score(
    file: Annotated[
        Path, typer.Argument(help="Parquet, CSV or JSON Lines with the columns `row` and `scores`.")
    ],
    task: Annotated[str, typer.Option(help="Task that was scored.")],
    name: Annotated[str, typer.Option(help="Name of the model.")],
    data: Data = None,
    output: Results = Path("results"),
    output_format: Format = "table",
) -> None:
    """Write a result from scores that another program computed. The correct caption's score is first in each row.

    Example: `compeval score scores.parquet --task sugarcrepe/swap_obj --name my-model`.
    """
    check_writable(output)
    from compeval.evaluators.results.external import score_file

    print_results([score_file(file, task, name, data_dir=data, output=output)], output_format)


def print_results(results: Sequence[Result], output_format: FormatName, folder: str = "") -> None:
    """Print results. If ``folder`` is given, a long table is replaced by a summary that names this folder."""
    lines = [(result, metric) for result in results for metric in _main_metrics(result)]
    is_long = bool(folder) and len(lines) > SUMMARY_FROM and output_format in ("table", "md")
    rows = (
        _summarise(results) if is_long else [_make_row(result, metric) for result, metric in lines]
    )
    if not any(row[TIES] for row in rows):
        rows = [{name: cell for name, cell in row.items() if name != TIES} for row in rows]
    print_records(
        output_format,
        rows,
        [record for result in results for record in _to_records(result)],
        results,
    )
    for text in [*_collect_notes(results), *_describe_positions(results, is_long)]:
        print_message(text)
    if is_long:
        print_message(
            f"Means over {len(results)} tasks. `compeval show {folder}` prints each task with its interval."
        )


def _describe_positions(results: Sequence[Result], is_long: bool) -> list[str]:
    """Return where results stand among the published models: per task, or of many results per benchmark."""
    from compeval.evaluators.results.ranks import find_positions
    from compeval.evaluators.results.scores import MEAN, describe_missing

    if err.quiet:
        return []
    positions = find_positions(results)
    whole = {(position.model, position.task) for position in positions if position.metric == MEAN}
    lines = [
        f"{position.model}, {position}"
        if len({item.model for item in positions}) > 1
        else str(position)
        for position in positions
        if not is_long
        or position.metric == MEAN
        or (position.model, position.task.partition("/")[0]) not in whole
    ]
    return [*lines, describe_missing()] if lines and describe_missing() else lines


def _make_row(result: Result, metric: str) -> dict[str, str]:
    return {
        "model": _label(result),
        "task": result["task"],
        "metric": metric,
        "rows": f"{result['data']['rows']:,}",
        "%": f"{100 * result['metrics'][metric]:.1f}",
        "95 % interval": format_interval(result["intervals"].get(metric)),
        "chance": f"{100 * result['chance'][metric]:.1f}",
        TIES: _format_ties([result], metric),
    }


def _format_ties(results: Sequence[Result], metric: str) -> str:
    """Return the largest share of ties in percent; empty if it is not worth a line."""
    from compeval.evaluators.results.ties import SHOWN_FROM, get_tie_rate

    share = max(get_tie_rate(result["metrics"], metric) for result in results)
    return f"{100 * share:.1f}" if share > SHOWN_FROM else ""


def _label(result: Result) -> str:
    return result["model"]["name"] + (" †" if result["model"]["contaminated"] else "")


def _summarise(results: Sequence[Result]) -> list[dict[str, str]]:
    """Return one line per group of tasks: a config with its splits, or its variants without their seeds."""
    from compeval.evaluators.protocols.ranking import list_main_metrics

    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        variant = re.sub(r"(^|-)s\d+$", "", result["variant"] or "") or (
            "*" if result["variant"] else ""
        )
        name = f"{result['dataset']}/{result['config']}" + (f"@{variant}" if variant else "")
        for metric in list_main_metrics(result):
            groups.setdefault((_label(result), name, metric), []).append(result)
    rows: list[dict[str, str]] = []
    for (model, name, metric), members in groups.items():
        shares = [100 * result["metrics"][metric] for result in members]
        chances = sorted({f"{100 * result['chance'][metric]:.1f}" for result in members}, key=float)
        rows.append(
            {
                "model": model,
                "tasks": name,
                "metric": metric,
                "number": str(len(members)),
                "mean %": f"{sum(shares) / len(shares):.1f}",
                "lowest to highest": f"{min(shares):.1f} to {max(shares):.1f}",
                "chance": " to ".join(dict.fromkeys((chances[0], chances[-1]))),
                TIES: _format_ties(members, metric),
            }
        )
    return rows


def _to_records(result: Result) -> Iterator[dict[str, Any]]:
    """Yield one record per metric, with shares of 1."""
    names = {
        name: result[name]
        for name in ("task", "dataset", "config", "split", "variant", "source", "synthetic")
    }
    for metric, value in result["metrics"].items():
        low, high = result["intervals"].get(metric) or (None, None)
        yield {
            "model": result["model"]["name"],
            **names,
            "rows": result["data"]["rows"],
            "metric": metric,
            "value": value,
            "low": low,
            "high": high,
            "chance": result["chance"].get(metric),
        }


def _collect_notes(results: Sequence[Result]) -> list[str]:
    notes: dict[str, None] = {}
    for result in results:
        model = result["model"]
        if model["contaminated"]:
            notes[f"† {model['name']}: {model['contaminated']}."] = None
        if model["effective"] not in (model["name"], model["spec"]):
            notes[f"{model['name']} ran as {model['effective']}."] = None
        if result["synthetic"]:
            notes[
                "Synthetic data: do not compare these micro-world numbers with published numbers."
            ] = None
        if "authors" in result:
            notes[
                f"{result['dataset']}: authors_* is the authors' own score. {result['authors']}"
            ] = None
        notes |= dict.fromkeys(result["warnings"])
        if result["skipped"]:
            notes[
                f"{result['task']}: {len(result['skipped'])} rows skipped because of unreadable images."
            ] = None
    return list(notes)


def _main_metrics(result: dict[str, Any]) -> list[str]:
    """Return the main metrics, each followed by its macro means, and the accuracy on pairs if that is another one."""
    from compeval.evaluators.protocols.ranking import list_main_metrics

    macro = [name for name in result["metrics"] if "_macro_" in name]
    return [
        name
        for main in list_main_metrics(result)
        for name in (main, *(mean for mean in macro if mean.startswith(f"{main}_")))
    ]
