"""``compeval validate``: do our numbers agree with published ones?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import AsJson, err, out, table


def validate(
    model: Annotated[str, typer.Argument(help="A model, as in `compeval run --model`.")],
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Compare a model's results with published scores of the same model and set; exit code 1 where they disagree."""
    from evaluators.results import documents, published

    paths = documents.documents(results)
    named = [one for one in map(documents.read, paths) if model in (one["model"]["spec"], one["model"]["effective"])]
    found = published.matches(named)
    names = {model, *(one["model"]["effective"] for one in named)}
    known = [score for score in published.read_scores() if score.model in names]
    if not known:
        raise ValueError(f"{model}: no published score is known; there are some of {', '.join(sorted(_models()))}.")
    if not found:
        tasks = ", ".join(sorted({score.task.split("/")[0] for score in known}))
        raise ValueError(
            f"{results}: no result of {model} on a published set. {len(known)} scores are known, on {tasks}: `compeval "
            f"import` the files, then `compeval run --model {model} --task 'crepe_published/*'` and the like."
        )
    if as_json:
        told = [p.score._asdict() | {"ours": p.ours, "rows": p.rows, "agrees": p.agrees} for p in found]
        typer.echo(json.dumps(told, indent=1))
    else:
        shown = table("task", "metric", "rows", "ours", "published", "difference", "tolerance", "agrees", "source")
        for pair in found:
            numbers = (pair.ours, pair.score.percent)
            shown.add_row(
                pair.score.task,
                pair.score.metric,
                f"{pair.rows:,}",
                *(f"{number:.2f}" for number in numbers),
                f"{pair.difference:+.2f}",
                f"{pair.tolerance:.2f}",
                "yes" if pair.agrees else "no",
                pair.score.source,
            )
        out.print(shown)
    disagreeing = sum(not pair.agrees for pair in found)
    err.print(f"{len(found) - disagreeing} of {len(found)} agree; {len(known) - len(found)} more are published.")
    if disagreeing:
        raise typer.Exit(1)


def _models() -> set[str]:
    from evaluators.results.published import read_scores

    return {score.model for score in read_scores()}
