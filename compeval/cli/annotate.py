"""``compeval annotate``: verification by people."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, out, table

if TYPE_CHECKING:
    from evaluators.annotations.agreement import Line

app = typer.Typer(no_args_is_help=True, help="Verification by people: a sample, forms to fill in, agreement.")

Dataset = Annotated[str, typer.Argument(help="Name of the dataset.")]
Annotations = Annotated[Path, typer.Option(help="Folder of the annotations, below it one a dataset.")]
ANNOTATIONS = Path("sample/annotations")
Share = Annotated[float, typer.Option(min=0, max=1)]


class FormName(StrEnum):
    label_studio = "label-studio"
    csv = "csv"


@app.command()
def sample(
    dataset: Dataset,
    captions: Share = 0.02,
    queries: Share = 0.01,
    seed: int = 0,
    data: Data = None,
    annotations: Annotations = ANNOTATIONS,
) -> None:
    """Draw what people shall judge: 2 % of the captions and 1 % of the queries, of every split."""
    import loaders
    from evaluators.annotations.items import sample as draw
    from evaluators.annotations.items import write_items

    items = draw(loaders.dataset_folder(dataset, data), captions, queries, seed)
    write_items(annotations / dataset, items)
    typer.echo(f"{annotations / dataset}: {len(items):,} texts to judge.")


@app.command()
def export(
    dataset: Dataset,
    output: Annotated[Path, typer.Option(help="Folder of the forms.")],
    form: Annotated[FormName, typer.Option("--format")] = FormName.label_studio,
    data: Data = None,
    annotations: Annotations = ANNOTATIONS,
) -> None:
    """Write the sample as forms to fill in: Label Studio's tasks and labelling config, or a table with pictures."""
    import loaders
    from evaluators.annotations import forms, items

    sampled = items.read_items(annotations / dataset)
    pictures = dict(items.crops(loaders.dataset_folder(dataset, data), sampled))
    write = forms.write_label_studio if form is FormName.label_studio else forms.write_csv
    write(output, sampled, pictures)
    typer.echo(f"{output}: {len(sampled):,} texts, {len(pictures):,} pictures.")


@app.command("import")
def import_(
    dataset: Dataset,
    files: Annotated[list[Path], typer.Argument(help="Label Studio's JSON exports; tables called as their annotator.")],
    annotations: Annotations = ANNOTATIONS,
) -> None:
    """Take answers, and note which hard negatives the next build shall leave out."""
    from evaluators.annotations import answers, items

    folder = annotations / dataset
    sampled = items.read_items(folder)
    known = {item.id: item for item in sampled}
    for form in [answers.read_form(path, known) for path in files]:
        answers.add(folder, form)
    given = answers.read(folder)
    for annotator, found in given.items():
        typer.echo(f"{annotator}: {len(found):,} of {len(sampled):,} answered")
    typer.echo(f"{answers.write_rejected(folder, sampled, given):,} hard negatives rejected by most who answered")


@app.command()
def report(dataset: Dataset, annotations: Annotations = ANNOTATIONS, as_json: AsJson = False) -> None:
    """Accuracy and agreement by type and complexity, beside the paper's."""
    from evaluators.annotations import agreement, answers, items

    folder = annotations / dataset
    lines = agreement.report(items.read_items(folder), answers.read(folder))
    if as_json:
        typer.echo(json.dumps([asdict(line) for line in lines], indent=1))
        return
    shown = table(
        "texts",
        "atoms",
        "items",
        "annotators",
        "accuracy ± std",
        "95 % interval",
        "agreement",
        "alpha",
        "paper: accuracy, agreement",
    )
    for line in lines:
        shown.add_row(*_cells(line))
    out.print(shown)
    out.print("Accuracy: captions that are true of their picture, hard negatives that are not.")


def _cells(line: Line) -> list[str]:
    from evaluators.annotations.agreement import PUBLISHED

    accuracy, deviation, agreement = PUBLISHED.get((line.type, line.complexity), (None, None, None))
    published = "-" if accuracy is None else f"{accuracy}" + (f" ± {deviation}" if deviation is not None else "")
    return [
        line.type,
        "all" if line.complexity is None else str(line.complexity),
        f"{line.items:,}",
        str(line.annotators),
        f"{100 * line.accuracy:.1f} ± {100 * line.deviation:.1f}",
        "{:.1f} to {:.1f}".format(*(100 * bound for bound in line.interval)),
        "-" if line.agreement is None else f"{100 * line.agreement:.1f}",
        "-" if line.alpha is None else f"{line.alpha:.2f}",
        published + (f", {agreement}" if agreement is not None else ""),
    ]
