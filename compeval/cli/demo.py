"""``compeval demo``: evaluate the model of the wheel on the sample of the wheel."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import check_writable, err, progress


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder of the model, the sample, the results and the report.")
    ] = Path("compeval-demo"),
) -> None:
    """Evaluate a tiny CLIP on a sample of CREPE. Both are part of the package: nothing is downloaded or built.

    Example: `compeval demo --output demo`.
    """
    check_writable(output)
    with err.status("Loading the model"):
        from compeval.cli.demo_summary import print_summary
        from compeval.demo import FOLDER, MODEL, SAMPLE, write_model
        from compeval.evaluators import models
        from compeval.evaluators.engine import tasks
        from compeval.evaluators.report import build
        from compeval.evaluators.run import EvaluationOptions, run

        write_model(output / MODEL)
        shutil.copytree(FOLDER / SAMPLE, output / SAMPLE, dirs_exist_ok=True)
        model = models.load_model(f"local:{output / MODEL}", "cpu", "fp32")
    with progress() as report:
        results = run(
            model,
            tasks.discover(output),
            EvaluationOptions(data_dir=output, output=output / "results"),
            report=report,
        )
    with err.status("Writing the report"):
        build([output / "results"], output / "report", output)
    print_summary(results, output)
    _print_rank()
    typer.echo(f"Report: {output}/report/index.html")


def _print_rank() -> None:
    """Print what a rank among the published models looks like: drawn scenes have none."""
    from compeval.evaluators.results.ranks import describe_published
    from compeval.evaluators.results.scores import describe_missing

    model = "ViT-B-32-quickgelu/openai"
    rank = describe_published(model, "sugarcrepe/swap_obj", "recall@1")
    typer.echo(
        f"On a published set, a run ends with the rank among the published models, as of {model}:\n{rank}"
    )
    if missing := describe_missing():
        typer.echo(missing)
