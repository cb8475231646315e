"""``compeval show`` and ``score``: print results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli.console import check_writable, err, format_interval, print_message, print_records
from compeval.cli.options import Data, Format, FormatName, Results

if TYPE_CHECKING:
    from compeval.evaluators.results.documents import Result
    from compeval.evaluators.results.ranks import Position
    from compeval.evaluators.validity.best_baselines import BestBaseline

TIES = "ties %"
"""Column with the share of ties, which tables have if it is above 1 % for one of their metrics."""
TEXT_ONLY = "text-only %"
"""Column with the best text-only baseline on the task."""
MODEL = "model"
METRIC = "metric"
LEFT = ("task", "tasks", MODEL, METRIC)
"""Columns of text."""
MAIN_METRIC = "recall@1"
SUMMARY_FROM = 20
"""Number of lines from which `compeval run` prints a summary."""


def show(
    result: Annotated[Path, typer.Argument(help="A result file, or a folder of results.")] = Path(
        "results"
    ),
    data: Data = None,
    all_metrics: Annotated[
        bool,
        typer.Option(
            "--all-metrics",
            help="Also means over atoms, the accuracy on pairs of the caption and one negative, and retrieval by row, "
            "not by content.",
        ),
    ] = False,
    output_format: Format = "table",
) -> None:
    """Print a result, or all results in a folder. csv and json contain all metrics, table and md the main metrics.

    The column text-only has the best of the baselines that see no image, for hard negatives whose dataset is here.

    Example: `compeval show results --format csv`.
    """
    from compeval.evaluators.results import documents

    paths = documents.list_documents(result) if result.is_dir() else [result]
    if not paths:
        raise ValueError(f"{result}: no result files. `compeval run` writes them to results/.")
    results = [documents.read(path) for path in paths]
    baselines = measure_shown_baselines(results, data, output_format)
    print_results(results, baselines, output_format, data=data, all_metrics=all_metrics)


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

    result = score_file(file, task, name, data_dir=data, output=output)
    baselines = measure_shown_baselines([result], data, output_format)
    print_results([result], baselines, output_format, data=data)


def print_results(
    results: Sequence[Result],
    baselines: Mapping[str, BestBaseline],
    output_format: FormatName,
    folder: str = "",
    *,
    data: Path | None = None,
    all_metrics: bool = False,
) -> None:
    """Print results. If ``folder`` is given, a long table is replaced by a summary that names this folder.

    ``baselines``: task -> best text-only baseline (``measure_shown_baselines``). ``data``: folder of the datasets;
    those that are not there are named. ``all_metrics``: also those that are shown on request.
    """
    from compeval.evaluators.results.task_names import explain_names

    lines = [
        (result, metric)
        for result in results
        for metric in _main_metrics(result, all_metrics=all_metrics)
    ]
    is_long = bool(folder) and len(lines) > SUMMARY_FROM and output_format in ("table", "md")
    rows = (
        _summarise(results, baselines)
        if is_long
        else [_make_row(result, metric, baselines) for result, metric in lines]
    )
    rows = drop_columns(rows)
    title = None
    if output_format == "table" and len({row[MODEL] for row in rows}) == 1:
        title = rows[0][MODEL]
        rows = [{key: cell for key, cell in row.items() if key != MODEL} for row in rows]
    print_records(
        output_format,
        rows,
        [record for result in results for record in _to_records(result, baselines)],
        results,
        left=count_texts(rows),
        title=title,
    )
    notes = [*explain_names(results), *_name_missing_datasets(results, data)]
    for text in [*notes, *_collect_notes(results)]:
        print_message(text)
    for text in _describe_positions(results, is_long):
        print_message(text)
    if is_long:
        print_message(
            f"Means over {len(results)} tasks. `compeval show {folder}` prints each task with its interval."
        )


def drop_columns(rows: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    """Return the rows without the metric if all are Recall@1, and without empty columns."""
    from compeval.evaluators.results.compare import SHARE_OF_HITS

    dropped = {
        name for name in (TIES, TEXT_ONLY) if all(row.get(name) in ("", "-") for row in rows)
    }
    if {row[METRIC] for row in rows} <= {MAIN_METRIC, SHARE_OF_HITS}:
        dropped.add(METRIC)
    return [{name: cell for name, cell in row.items() if name not in dropped} for row in rows]


def count_texts(rows: Sequence[Mapping[str, str]]) -> int:
    """Return the number of columns of text, which are first."""
    return sum(name in LEFT for name in rows[0]) if rows else 0


def _name_missing_datasets(results: Sequence[Result], data: Path | None) -> list[str]:
    """Return a sentence on the datasets that are not here, so that no text-only baselines are shown of them."""
    from compeval.loaders.datasets.folders import list_datasets

    datasets = {result["dataset"] for result in results if result["protocol"] == "choice"}
    missing = datasets - set(list_datasets(data)) if datasets else set()
    names = ", ".join(sorted(missing))
    return (
        [f"No text-only baselines of {names}: the data is not here. --data names its folder."]
        if missing
        else []
    )


def _describe_positions(results: Sequence[Result], is_long: bool) -> list[str]:
    """Return where results stand among the published models: per task, or of many results per benchmark."""
    from compeval.evaluators.results.scores import MEAN, describe_missing, has_published_scores

    if err.quiet or not any(has_published_scores(result["dataset"]) for result in results):
        return []
    from compeval.evaluators.results.ranks import describe_unranked, find_positions

    positions = find_positions(results)
    whole = {(position.model, position.task) for position in positions if position.metric == MEAN}
    has_models = len({position.model for position in positions}) > 1
    lines: list[str] = []
    unranked: list[Position] = []
    for position in positions:
        is_in_mean = (position.model, position.task.partition("/")[0]) in whole
        if is_long and is_in_mean and position.metric != MEAN:
            continue
        if is_long and not position.published:
            unranked.append(position)
        else:
            lines.append(f"{position.model}, {position}" if has_models else str(position))
    lines += describe_unranked(unranked)
    return [*lines, describe_missing()] if lines and describe_missing() else lines


def measure_shown_baselines(
    results: Sequence[Result], data: Path | None, output_format: FormatName
) -> Mapping[str, BestBaseline]:
    """Return the baselines that ``print_results`` shows: none in json, whose documents have none."""
    return {} if output_format == "json" else measure_baselines(results, data)


def measure_baselines(results: Iterable[Result], data: Path | None) -> Mapping[str, BestBaseline]:
    """Return task -> best text-only baseline, of the tasks with hard negatives whose dataset is here.

    Those that were not measured before are fitted, and stored in the cache folder.
    """
    results = list(results)
    if not any(result["protocol"] == "choice" for result in results):
        return {}
    with err.status("Text-only baselines"):
        from compeval.evaluators.validity.best_baselines import find_best_of_results

        return find_best_of_results(results, data)


def get_recall(baseline: BestBaseline | None, metric: str) -> float | None:
    """Return Recall@1 of a baseline; None for another metric."""
    return baseline.recall if baseline and metric == MAIN_METRIC else None


def format_baseline(baseline: BestBaseline | None, metric: str) -> str:
    """Return Recall@1 of a baseline and its name; empty for another metric."""
    if baseline is None or metric != MAIN_METRIC:
        return ""
    return f"{100 * baseline.recall:.1f} {baseline.name}"


def _make_row(result: Result, metric: str, baselines: Mapping[str, BestBaseline]) -> dict[str, str]:
    return {
        "task": result["task"],
        MODEL: _label(result),
        METRIC: metric,
        "rows": f"{result['data']['rows']:,}",
        "%": f"{100 * result['metrics'][metric]:.1f}",
        "95 % interval": format_interval(result["intervals"].get(metric)),
        "chance": f"{100 * result['chance'][metric]:.1f}",
        TEXT_ONLY: format_baseline(baselines.get(result["task"]), metric),
        TIES: _format_ties([result], metric),
    }


def _format_ties(results: Sequence[Result], metric: str) -> str:
    """Return the largest share of ties in percent; empty if it is not worth a line."""
    from compeval.evaluators.results.ties import SHOWN_FROM, get_tie_rate

    share = max(get_tie_rate(result["metrics"], metric) for result in results)
    return f"{100 * share:.1f}" if share > SHOWN_FROM else ""


def _label(result: Result) -> str:
    return result["model"]["name"] + (" †" if result["model"]["contaminated"] else "")


def _summarise(
    results: Sequence[Result], baselines: Mapping[str, BestBaseline]
) -> list[dict[str, str]]:
    """Return one line per group of tasks: a config with its splits, or its variants without their seeds."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        variant = re.sub(r"(^|-)s\d+$", "", result["variant"] or "") or (
            "*" if result["variant"] else ""
        )
        name = f"{result['dataset']}/{result['config']}" + (f"@{variant}" if variant else "")
        for metric in result["main"]:
            groups.setdefault((_label(result), name, metric), []).append(result)
    rows: list[dict[str, str]] = []
    for (model, name, metric), members in groups.items():
        shares = [100 * result["metrics"][metric] for result in members]
        found = [baselines.get(result["task"]) for result in members]
        best = max(filter(None, found), key=lambda baseline: baseline.recall, default=None)
        chances = sorted({f"{100 * result['chance'][metric]:.1f}" for result in members}, key=float)
        rows.append(
            {
                "tasks": name,
                MODEL: model,
                METRIC: metric,
                "number": str(len(members)),
                "mean %": f"{sum(shares) / len(shares):.1f}",
                "lowest to highest": f"{min(shares):.1f} to {max(shares):.1f}"
                if len(members) > 1
                else "",
                "chance": " to ".join(dict.fromkeys((chances[0], chances[-1]))),
                TEXT_ONLY: format_baseline(best, metric),
                TIES: _format_ties(members, metric),
            }
        )
    return rows


def _to_records(result: Result, baselines: Mapping[str, BestBaseline]) -> Iterator[dict[str, Any]]:
    """Yield one record per metric, with shares of 1."""
    best = baselines.get(result["task"])
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
            "text_only": get_recall(best, metric),
        }


def _collect_notes(results: Sequence[Result]) -> list[str]:
    from compeval.evaluators.results.task_warnings import summarise_warnings

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
        if result["skipped"]:
            notes[
                f"{result['task']}: {len(result['skipped'])} rows skipped because of unreadable images."
            ] = None
    warnings = (warning for result in results for warning in result["warnings"])
    return [*notes, *summarise_warnings(warnings)]


def _main_metrics(result: dict[str, Any], *, all_metrics: bool) -> list[str]:
    """Return the main metrics, each followed by its macro means.

    Those that are shown on request are returned with ``all_metrics`` only.
    """
    from compeval.evaluators.protocols.ranking import is_on_request, list_main_metrics

    macro = [name for name in result["metrics"] if "_macro_" in name]
    names = [
        name
        for main in list_main_metrics(result)
        for name in (main, *(mean for mean in macro if mean.startswith(f"{main}_")))
    ]
    return [name for name in names if all_metrics or not is_on_request(name)]
