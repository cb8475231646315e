"""``compeval show``, ``compare``, ``score`` and ``validate``: print, compare and check results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from compeval.cli.console import AsJson, Data, Results, echo_json, err, note, out, table


def show(
    result: Annotated[Path, typer.Argument(help="A result file, or a folder of results.")], as_json: AsJson = False
) -> None:
    """Print a result, or all results in a folder."""
    from evaluators.results import documents

    paths = documents.list_documents(result) if result.is_dir() else [result]
    if not paths:
        raise ValueError(f"{result}: no result files. `compeval run` writes them to results/.")
    print_results([documents.read(path) for path in paths], as_json)


def compare(
    a: Annotated[Path, typer.Argument(help="Result folder of model A.")],
    b: Annotated[Path, typer.Argument(help="Result folder of model B.")],
    as_json: AsJson = False,
) -> None:
    """Compare the results of two models row by row (B minus A), with paired tests."""
    from evaluators.results.compare import compare as compare_results

    lines = compare_results(a, b)
    if as_json:
        echo_json([line.to_json() for line in lines])
        return
    shown = table("task", "metric", "rows", "A", "B", "B - A", "95 % interval", "McNemar p", "Wilcoxon p")
    for line in lines:
        shown.add_row(
            line.task,
            line.metric,
            f"{line.rows:,}",
            f"{line.a:.1%}",
            f"{line.b:.1%}",
            f"{100 * line.difference:+.1f}",
            "{:+.1f} to {:+.1f}".format(*(100 * bound for bound in line.interval)),
            f"{line.mcnemar_holm:.2g}",
            f"{line.wilcoxon_holm:.2g}",
        )
    out.print(shown)
    out.print("p-values are Holm-corrected over the lines of this table.")


def score(
    file: Annotated[Path, typer.Argument(help="Parquet file with the columns `row` and `scores`.")],
    task: Annotated[str, typer.Option(help="Task that was scored.")],
    name: Annotated[str, typer.Option(help="Name of the model.")],
    data: Data = None,
    output: Results = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Write a result from scores that another program computed. The correct caption's score is first in each row."""
    from evaluators.results.external import score_file

    print_results([score_file(file, task, name, data_dir=data, output=output)], as_json)


def validate(
    model: Annotated[str, typer.Argument(help="Name of the model, as in `compeval run --model`.")],
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Compare a model's results with its published scores. The exit code is 1 if a score disagrees."""
    from evaluators.results import documents, published

    model_results = [
        result
        for result in map(documents.read, documents.list_documents(results))
        if model in (result["model"]["spec"], result["model"]["effective"])
    ]
    pairs = published.match_scores(model_results)
    names = {model, *(result["model"]["effective"] for result in model_results)}
    scores = [score for score in published.read_scores() if score.model in names]
    if not scores:
        known = ", ".join(sorted({score.model for score in published.read_scores()}))
        raise ValueError(f"{model}: no published scores. Models with published scores: {known}.")
    if not pairs:
        datasets = ", ".join(sorted({score.task.split("/")[0] for score in scores}))
        raise ValueError(
            f"{results}: no result of {model} on a published dataset. {len(scores)} scores on {datasets} are known. "
            f"Import the files with `compeval import`, then run, for example, `compeval run --model {model} --task "
            "'crepe_published/*'`."
        )
    if as_json:
        echo_json(
            [pair.score._asdict() | {"ours": pair.ours, "rows": pair.rows, "agrees": pair.agrees} for pair in pairs]
        )
    else:
        shown = table("task", "metric", "rows", "ours", "published", "difference", "tolerance", "agrees", "source")
        for pair in pairs:
            shown.add_row(
                pair.score.task,
                pair.score.metric,
                f"{pair.rows:,}",
                f"{pair.ours:.2f}",
                f"{pair.score.percent:.2f}",
                f"{pair.difference:+.2f}",
                f"{pair.tolerance:.2f}",
                "yes" if pair.agrees else "no",
                pair.score.source,
            )
        out.print(shown)
    agreeing = sum(pair.agrees for pair in pairs)
    err.print(f"{agreeing} of {len(pairs)} agree; {len(scores) - len(pairs)} more published scores were not compared.")
    if agreeing < len(pairs):
        raise typer.Exit(1)


def print_results(results: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Print result documents as a table with notes, or as JSON."""
    if as_json:
        echo_json(results)
        return
    shown = table("model", "task", "metric", "rows", "%", "95 % interval", "chance")
    notes: dict[str, None] = {}
    for result in results:
        model = result["model"]
        if model["contaminated"]:
            notes[f"† {model['name']}: {model['contaminated']}."] = None
        if result["synthetic"]:
            notes["Synthetic data: do not compare these micro-world numbers with published numbers."] = None
        notes |= dict.fromkeys(result["warnings"])
        for metric in _main_metrics(result):
            shown.add_row(
                model["effective"] + (" †" if model["contaminated"] else ""),
                result["task"],
                metric,
                f"{result['data']['rows']:,}",
                f"{result['metrics'][metric]:.1%}",
                "{:.1%} to {:.1%}".format(*result["intervals"][metric]),
                f"{result['chance'][metric]:.1%}",
            )
        if result["skipped"]:
            notes[f"{result['task']}: {len(result['skipped'])} rows skipped because of unreadable images."] = None
    out.print(shown)
    for text in notes:
        note(text)


def _main_metrics(result: dict[str, Any]) -> list[str]:
    """Return the main metrics, each followed by its macro means."""
    macro = [name for name in result["metrics"] if "_macro_" in name]
    return [
        name for main in result["main"] for name in (main, *(mean for mean in macro if mean.startswith(f"{main}_")))
    ]
