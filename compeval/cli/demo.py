"""``compeval demo``: evaluate the model of the wheel on the sample of the wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import err, out, progress, table

QUESTIONS = {
    "crepe/laion_sc_hnatom": "one word replaced, compounds of the training captions",
    "crepe/laion_uc_hnatom": "one word replaced, compounds that training never had",
    "crepe/prod_hnatom/n6": "one word replaced, captions of 6 atoms",
    "crepe/prod_hnswap/n6": "words exchanged, captions of 6 atoms",
    "crepe/prod_hnneg/n6": "a part negated, captions of 6 atoms",
}


def demo(
    output: Annotated[Path, typer.Option(help="Folder of the model, the results and the report.")] = Path(
        "compeval-demo"
    ),
) -> None:
    """Evaluate a tiny CLIP on a sample of CREPE. Both are installed: nothing is downloaded or built."""
    with err.status("Loading the model"):
        from compeval.demo import FOLDER, MODEL, write_model
        from evaluators import models
        from evaluators.engine import tasks
        from evaluators.report import build
        from evaluators.run import run

        write_model(output / MODEL)
        model = models.resolve(f"local:{output / MODEL}", "cpu", "fp32")
    with progress() as report:
        results = run(model, tasks.discover(FOLDER), data_dir=FOLDER, output=output / "results", report=report)
    with err.status("Writing the report"):
        build([output / "results"], output / "report", FOLDER)
    shown = table("Which caption is true? The others have ...", "rows", "correct", "95 % interval", "chance")
    for result in results:
        shown.add_row(
            QUESTIONS[result["task"]],
            f"{result['data']['rows']}",
            f"{result['metrics']['r@1']:.1%}",
            "{:.1%} to {:.1%}".format(*result["intervals"]["r@1"]),
            f"{result['chance']['r@1']:.1%}",
        )
    out.print(shown)
    typer.echo(
        f"Drawn scenes, a model of 1 MB: not comparable with published numbers.\nReport: {output}/report/index.html"
    )
