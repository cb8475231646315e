"""``compeval train probe``, ``compeval train autoencoder`` and ``compeval probe run``: how much of a text a vector
keeps."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli.console import AsJson, Data, Device, err, out, progress, table

if TYPE_CHECKING:
    from trainers.probe.training import Recipe

app = typer.Typer(no_args_is_help=True, help="Recovery probes: how much of a text a vector keeps.")


class MixedName(StrEnum):
    auto = "auto"
    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"


TextEncoder = Annotated[
    str,
    typer.Option(help="Whose vectors are probed: any model of `compeval run`, or sentence-transformers:NAME."),
]
Text = Annotated[
    str | None, typer.Option(help="Training text: a glob of txt, tsv, csv, jsonl, parquet files. Default: generated.")
]
Column = Annotated[str, typer.Option(help="Its caption column, by name or, without a header, by position.")]
Captions = Annotated[int, typer.Option(min=10, help="How many captions are generated.")]
Decoder = Annotated[
    str | None, typer.Option(help="t5-large or another T5, or its folder. Default: a small one from scratch.")
]
Epochs = Annotated[int, typer.Option(min=1)]
BatchSize = Annotated[int, typer.Option(min=1, help="Texts a step.")]
Accumulate = Annotated[int, typer.Option(min=1, help="Parts that a step is worked through in, to take less memory.")]
LearningRate = Annotated[float | None, typer.Option(help="Default: 0.003 from scratch, 0.001 for a --decoder.")]
Precision = Annotated[MixedName, typer.Option(help="auto: bf16 on CUDA and on processors that are fast at it.")]
Seed = Annotated[int, typer.Option(help="Decides the generated text, its split, the first weights, the order.")]


def probe(
    text_encoder: TextEncoder,
    output: Annotated[Path | None, typer.Option(help="Default: checkpoints/probe-ENCODER.")] = None,
    text: Text = None,
    column: Column = "caption",
    captions: Captions = 100_000,
    decoder: Decoder = None,
    epochs: Epochs = 4,
    batch_size: BatchSize = 512,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    precision: Precision = MixedName.auto,
    seed: Seed = 0,
    device: Device = None,
    data: Data = None,
) -> None:
    """Train a decoder to give texts back from a frozen text encoder's vector. A stopped training goes on."""
    from evaluators.models import pick_device, resolve, slug
    from trainers.probe.training import train_probe

    with err.status("Loading"):
        chosen = pick_device(device)
        encoder = resolve(text_encoder, chosen)
        texts, about = _texts(text, column, captions, seed, data)
    recipe = _recipe(decoder, epochs, batch_size, accumulate, learning_rate, precision, seed, chosen)
    folder = output or Path("checkpoints") / f"probe-{slug(text_encoder.removeprefix('local:checkpoints/'))}"
    with progress() as report:
        loss = train_probe(encoder, texts, recipe, folder, device=chosen, about=about, report=report)
    typer.echo(f"{folder}: validation loss {loss:.4f}. `compeval probe run local:{folder}` measures it.")


def autoencoder(
    output: Annotated[Path, typer.Option(help="Folder of the encoder.")] = Path("checkpoints/autoencoder"),
    text: Text = None,
    column: Column = "caption",
    captions: Captions = 100_000,
    decoder: Decoder = None,
    epochs: Epochs = 4,
    batch_size: BatchSize = 512,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    precision: Precision = MixedName.auto,
    seed: Seed = 0,
    device: Device = None,
    data: Data = None,
) -> None:
    """Train the proof-of-concept text encoder: a T5 that must give texts back from the mean of its tokens."""
    from evaluators.models import pick_device
    from trainers.probe.training import train_autoencoder

    with err.status("Loading"):
        chosen = pick_device(device)
        texts, about = _texts(text, column, captions, seed, data)
    recipe = _recipe(decoder, epochs, batch_size, accumulate, learning_rate, precision, seed, chosen)
    loss = train_autoencoder(texts, recipe, output, device=chosen, about=about)
    typer.echo(f"{output}: validation loss {loss:.4f}. `compeval train probe --text-encoder local:{output}` probes it.")


@app.command("run")
def run_(
    probes: Annotated[list[str], typer.Argument(help="local:FOLDER of each probe.")],
    data: Data = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first rows of each config.")] = None,
    device: Device = None,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    summary: Annotated[Path | None, typer.Option(help="Folder for the tables, as Markdown, and their numbers.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure probes on CompPrompts, and their models on ControlledImCaps, in the tables of the paper."""
    with err.status("Loading"):
        from evaluators.models import pick_device, resolve
        from evaluators.probes.evaluate import evaluate_probe
        from evaluators.report import probe_report

        chosen = pick_device(device)
    found = []
    for spec in probes:
        model = resolve(spec, chosen)
        with progress() as report:
            found.append(evaluate_probe(model, data_dir=data, limit=limit, output=output, device=chosen, report=report))
    if summary:
        probe_report.write(summary, found)
    if as_json:
        typer.echo(json.dumps(probe_report.figures(found), indent=1))
        return
    for one in probe_report.tables(found):
        shown = table(*one.cells.columns)
        for row in one.cells.itertuples(index=False):
            shown.add_row(*row)
        out.print(one.caption, highlight=False)
        out.print(shown)


def _texts(
    pattern: str | None, column: str, count: int, seed: int, data: Path | None
) -> tuple[list[str], dict[str, Any]]:
    """The training text, and what is kept about it; says what it has in common with CompPrompts."""
    import loaders
    from trainers.probe import data as recovery_data
    from trainers.probe import overlap as probe_overlap

    prompts = probe_overlap.read(loaders.dataset_folder("compprompts", data))
    texts = recovery_data.read(pattern, column) if pattern else recovery_data.generated(count, seed, prompts)
    overlap = prompts.overlap(texts)
    typer.echo(f"Training text: {overlap}.")
    return texts, {"text": pattern or "generated", "overlap": overlap._asdict()}


def _recipe(
    decoder: str | None,
    epochs: int,
    batch_size: int,
    accumulate: int,
    learning_rate: float | None,
    precision: str,
    seed: int,
    device: str,
) -> Recipe:
    from trainers.probe.training import Recipe, mixed_precision

    rate = {"learning_rate": learning_rate} if learning_rate else {"learning_rate": 1e-3} if decoder else {}
    chosen = mixed_precision(device) if precision == "auto" else str(precision)
    return Recipe(decoder, epochs, batch_size, accumulate, precision=chosen, seed=seed, **rate)
