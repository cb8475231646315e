"""``compeval validate``: compare a model's results with its published scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli.console import (
    check_writable,
    err,
    print_message,
    print_records,
    progress,
    reject_unused_options,
    report_failure,
)
from compeval.cli.options import Data, Format, FormatName

if TYPE_CHECKING:
    from compeval.evaluators.engine.tasks import Task
    from compeval.evaluators.results.matches import Match
    from compeval.evaluators.results.scores import PublishedScore


def validate(
    name: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Name of the model, as in `compeval run`.")
    ] = None,
    model_option: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="The model, in place of the argument.")
    ] = None,
    data: Data = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda or mps. Default: the fastest available device.")
    ] = None,
    run: Annotated[
        bool,
        typer.Option(
            help="Evaluate the model on the tasks here that have a published score and no result "
            "yet."
        ),
    ] = True,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    output_format: Format = "table",
) -> None:
    """Compare a model with its published scores. The exit code is 1 if a score disagrees.

    Tasks that are here and have a published score are evaluated first, in fp32. Each disagreement is printed with the
    known causes that apply: activation, macro or micro mean, ties, shuffles, precision, crop. A score on other rows
    than the released file neither agrees nor disagrees, nor does that of a source that differs from the nearest one.

    Example: `compeval validate ViT-B-32/openai --data datasets`.
    """
    if not run:
        reject_unused_options("with --no-run", data=data, device=device)
    from compeval.evaluators.models.checks import check_device

    if run:
        check_writable(results, "--results")
        if device is not None:
            check_device(device)
    model = _choose_model([*([name] if name else []), *(model_option or [])])
    scores = _find_scores(model)
    model_results = _read_results(model, results)
    if run and (tasks := _find_tasks({score.task for score in scores}, data, model_results)):
        _run(model, tasks, data, device, results)
        model_results = _read_results(model, results)
    _print(_match(model, scores, model_results, results), len(scores), output_format)


def _match(
    model: str, scores: Sequence[PublishedScore], results: Sequence[dict[str, Any]], folder: Path
) -> list[Match]:
    """Return the results of a model with their published scores. Raises ValueError if there are none."""
    from compeval.evaluators.results.published import match_scores

    matches = match_scores(results)
    if not matches:
        datasets = ", ".join(sorted({score.task.split("/")[0] for score in scores}))
        raise ValueError(
            f"{folder}: no result of {model} on a published dataset. {len(scores)} scores on {datasets} are known. "
            "Import the files with `compeval import`, or download them with `compeval get`, and run this command again."
        )
    return matches


def _choose_model(names: Sequence[str]) -> str:
    """Return the only name. Raises ValueError if there is none, or more than one."""
    if len(names) != 1:
        given = f"got {len(names)}: {', '.join(names)}" if names else "got none"
        raise ValueError(
            f"Name one model, for example ViT-B-32/openai; {given}. `compeval list models` lists models."
        )
    return names[0]


def _find_scores(model: str) -> Sequence[PublishedScore]:
    """Return the published scores of a model. Raises ValueError, with similar names, if it has none."""
    from compeval.evaluators.results.published import find_scores
    from compeval.evaluators.results.scores import read_scores

    scores = find_scores(model)
    if not scores:
        known = sorted({score.model for score in read_scores()})
        similar = ", ".join(get_close_matches(model, known, 5) or known[-5:])
        raise ValueError(
            f"{model}: no published scores. Models with published scores: {similar}; {len(known)} in all."
        )
    return scores


def _read_results(model: str, folder: Path) -> list[dict[str, Any]]:
    """Return the results of a model in a folder, under any of its names."""
    from compeval.evaluators.results import documents
    from compeval.evaluators.results.published import get_canonical_name, get_names

    return [
        result
        for result in map(documents.read, documents.list_documents(folder))
        if get_canonical_name(model) in map(get_canonical_name, get_names(result))
    ]


def _find_tasks(
    patterns: Collection[str], data: Path | None, results: Sequence[dict[str, Any]]
) -> list[Task]:
    """Return the tasks that are here, have a published score and no result."""
    from compeval.evaluators.engine.tasks import discover
    from compeval.loaders.datasets.folders import list_datasets

    finished = {result["task"] for result in results if result["data"]["limit"] is None}
    return [
        task
        for task in (discover(data) if list_datasets(data) else ())
        if task.name not in finished
        and any(fnmatchcase(task.name, pattern) for pattern in patterns)
    ]


def _run(
    model: str, tasks: Sequence[Task], data: Path | None, device: str | None, output: Path
) -> None:
    """Evaluate the model on the tasks. Tasks that cannot be evaluated are reported and left out."""
    from compeval.evaluators import models
    from compeval.evaluators.models.checks import check_available, check_name
    from compeval.evaluators.run import EvaluationOptions, RefusedTask, evaluate_tasks

    try:
        check_name(model)
    except ValueError as error:
        # It is a published name, which results may have that `compeval run --name` wrote.
        report_failure(f"Not evaluated: {error}")
        return
    check_available(model)
    chosen = models.pick_device(device)
    with err.status("Loading the model"):
        loaded = models.load_model(model, chosen, "fp32")
    with progress() as report:
        outcomes = list(
            evaluate_tasks(
                loaded,
                tasks,
                EvaluationOptions(data_dir=data, output=output, device=chosen, on_error="skip"),
                report=report,
            )
        )
    for outcome in outcomes:
        if isinstance(outcome, RefusedTask):
            report_failure(f"Not evaluated: {outcome}")


def _print(matches: Sequence[Match], known: int, output_format: FormatName) -> None:
    """Print the comparison. The exit code is 1 if a comparable score disagrees."""
    from compeval.evaluators.report.tables import format_rows
    from compeval.evaluators.results.matches import VERDICTS

    rows = [
        match.describe()
        | {"published": "unknown" if match.score.rows is None else match.score.rows}
        for match in matches
    ]
    print_records(
        output_format, format_rows("validated", rows), [match.to_json() for match in matches]
    )
    comparable = [match for match in matches if match.is_comparable]
    agreeing = sum(match.agrees for match in comparable)
    counts = Counter(match.verdict for match in matches if not match.is_comparable)
    others = "".join(
        f"; {counts[verdict]} {text}" for verdict, text in VERDICTS.items() if counts[verdict]
    )
    rest = f"{known - len(matches)} more published scores were not compared."
    summary = f"{agreeing} of {len(comparable)} agree{others}; {rest}"
    if agreeing < len(comparable):
        report_failure(summary)
        raise typer.Exit(1)
    print_message(summary)
