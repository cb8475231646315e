"""``compeval annotate``: human verification of captions and hard negatives."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from compeval.cli.console import check_writable, print_message, print_records
from compeval.cli.options import ANNOTATIONS, Data, Format

app = typer.Typer(
    no_args_is_help=True,
    help="Human verification of captions and hard negatives: sample, annotate, measure agreement.",
)

Dataset = Annotated[str, typer.Argument(help="Name of the dataset.")]
Annotations = Annotated[
    Path, typer.Option(help="Folder of the annotations, with one subfolder per dataset.")
]


@app.command()
def sample(
    dataset: Dataset,
    captions: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the captions of each split.")
    ] = 0.02,
    queries: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the rows with hard negatives.")
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    data: Data = None,
    annotations: Annotations = ANNOTATIONS,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a sample that people have answered.")
    ] = False,
) -> None:
    """Sample texts for annotation. By default, 2 % of the captions and 1 % of the queries of every split.

    A sample that people have answered is replaced only with --force. Their answers are kept in any case.

    Example: `compeval annotate sample crepe --captions 0.05`.
    """
    from compeval.evaluators.annotations import answers, items
    from compeval.loaders.datasets.folders import dataset_folder

    sampled = items.sample(dataset_folder(dataset, data), captions, queries, seed)
    if not force:
        answers.check_replaceable(annotations / dataset, sampled)
    items.write_items(annotations / dataset, sampled)
    typer.echo(f"{annotations / dataset}: {len(sampled):,} texts to annotate.")


@app.command()
def export(
    dataset: Dataset,
    output: Annotated[Path, typer.Option(help="Folder of the forms.")],
    form: Annotated[
        Literal["label-studio", "csv"],
        typer.Option("--format", help="Label Studio tasks, or a table."),
    ] = "label-studio",
    data: Data = None,
    annotations: Annotations = ANNOTATIONS,
) -> None:
    """Write the sample as annotation forms: Label Studio tasks and labelling config, or a table with images.

    Example: `compeval annotate export crepe --output forms --format csv`.
    """
    check_writable(output)
    from compeval.evaluators.annotations import forms, items
    from compeval.loaders.datasets.folders import dataset_folder

    sampled = items.read_items(annotations / dataset)
    images = dict(items.read_crops(dataset_folder(dataset, data), sampled))
    write = forms.write_label_studio if form == "label-studio" else forms.write_csv
    write(output, sampled, images)
    typer.echo(f"{output}: {len(sampled):,} texts, {len(images):,} images.")


@app.command("import")
def import_(
    dataset: Dataset,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="JSON exports of Label Studio, or csv tables named after their annotator."
        ),
    ],
    annotations: Annotations = ANNOTATIONS,
) -> None:
    """Import answers and list the rejected hard negatives, which the next build excludes.

    Example: `compeval annotate import crepe forms/alice.csv`.
    """
    from compeval.evaluators.annotations import answers, items

    folder = annotations / dataset
    sampled = items.read_items(folder)
    by_id = {item.id: item for item in sampled}
    for form in [answers.read_form(path, by_id) for path in files]:
        answers.add_answers(folder, form)
    by_annotator = answers.read_answers(folder)
    for annotator, answered in by_annotator.items():
        typer.echo(f"{annotator}: {len(answered):,} of {len(sampled):,} answered")
    rejected = answers.write_rejected(folder, sampled, by_annotator)
    typer.echo(f"{rejected:,} hard negatives rejected by the majority of their annotators")


@app.command()
def report(
    dataset: Dataset,
    annotations: Annotations = ANNOTATIONS,
    output_format: Format = "table",
) -> None:
    """Print accuracy and agreement per type and complexity, next to the values of the paper.

    Example: `compeval annotate report crepe --format md`.
    """
    from compeval.evaluators.annotations import agreement, answers, items
    from compeval.evaluators.report.tables import format_rows

    folder = annotations / dataset
    lines = agreement.make_report(items.read_items(folder), answers.read_answers(folder))
    records = [asdict(line) for line in lines]
    for_table = [
        record
        | {"atoms": "all" if line.complexity is None else str(line.complexity)}
        | {
            "paper": _format_published(
                *agreement.PUBLISHED.get((line.type, line.complexity), (None, None, None))
            )
        }
        for line, record in zip(lines, records, strict=True)
    ]
    print_records(output_format, format_rows("annotated", for_table), records)
    print_message("Accuracy: share of captions judged true and of hard negatives judged false.")


def _format_published(
    accuracy: float | None, deviation: float | None, agreement: float | None
) -> str:
    text = (
        "-"
        if accuracy is None
        else f"{accuracy}" + (f" ± {deviation}" if deviation is not None else "")
    )
    return text + (f", {agreement}" if agreement is not None else "")
