"""``compeval train probe``, ``compeval train autoencoder`` and ``compeval probe run``: recovery probes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from compeval.cli.console import check_writable, echo_json, err, out, print_table, progress, refuse
from compeval.cli.options import AsJson, Data, Device, OptionalPositive, Results

if TYPE_CHECKING:
    from trainers.probe.training import Recipe

app = typer.Typer(
    no_args_is_help=True, help="Recovery probes: measure how much of a text can be recovered from its embedding."
)

Text = Annotated[
    str | None,
    typer.Option(
        help="Training text: glob pattern of txt, tsv, csv, jsonl or parquet files. Default: generated captions."
    ),
]
Column = Annotated[
    str, typer.Option(help="Caption column of the text: its name, or its number (from 0) if there is no header.")
]
Captions = Annotated[int, typer.Option(min=10, help="Number of generated captions.")]
NUM_CAPTIONS = 100_000
Decoder = Annotated[
    str | None, typer.Option(help="t5-large, another T5, or a folder. Default: a small T5 trained from scratch.")
]
Epochs = Annotated[int, typer.Option(min=1, help="Number of passes over the text.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Number of texts per step.")]
Accumulate = Annotated[int, typer.Option(min=1, help="Gradient accumulation: number of parts per batch.")]
LearningRate = Annotated[float | None, typer.Option(help="Default: 0.003 from scratch, 0.001 with --decoder.")]
Precision = Annotated[
    Literal["auto", "fp32", "bf16", "fp16"],
    typer.Option(help="auto: bf16 if it is fast on the device, otherwise fp32."),
]
Seed = Annotated[int, typer.Option(help="Seed of the generated text, its split, the initial weights and the order.")]


def probe(
    text_encoder: Annotated[str, typer.Option()],
    output: Path | None = None,
    text: Text = None,
    column: Column = "caption",
    captions: Captions = NUM_CAPTIONS,
    decoder: Decoder = None,
    epochs: Epochs = 4,
    batch_size: BatchSize = 512,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    precision: Precision = "auto",
    seed: Seed = 0,
    device: Device = None,
    data: Data = None,
) -> None:
    """Train a decoder that recovers texts from the embeddings of a frozen text encoder.

    Interrupted training resumes.

    Args:
        text_encoder: Text encoder to probe: any model of `compeval run`, or sentence-transformers:NAME.
        output: Default: checkpoints/probe-ENCODER.
    """
    _check_options(text, column, captions)
    from evaluators.models import check_name, pick_device, resolve, slug

    folder = output or Path("checkpoints") / f"probe-{slug(text_encoder.removeprefix('local:checkpoints/'))}"
    check_writable(folder)
    check_name(text_encoder)
    from trainers.probe.training import train_probe

    with err.status("Loading"):
        chosen = pick_device(device)
        encoder = resolve(text_encoder, chosen, "fp32")
        texts, about = _load_texts(text, column, captions, seed, data)
    sizes = {"epochs": epochs, "batch_size": batch_size, "accumulate": accumulate}
    recipe = _make_recipe(chosen, decoder=decoder, learning_rate=learning_rate, precision=precision, seed=seed, **sizes)
    with progress() as report:
        loss = train_probe(encoder, texts, recipe, folder, device=chosen, about=about, report=report)
    typer.echo(f"{folder}: validation loss {loss:.4f}. Evaluate it with `compeval probe run local:{folder}`.")


def autoencoder(
    output: Path = Path("checkpoints/autoencoder"),
    text: Text = None,
    column: Column = "caption",
    captions: Captions = NUM_CAPTIONS,
    decoder: Decoder = None,
    epochs: Epochs = 4,
    batch_size: BatchSize = 512,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    precision: Precision = "auto",
    seed: Seed = 0,
    device: Device = None,
    data: Data = None,
) -> None:
    """Train the proof-of-concept text encoder: a T5 that reconstructs texts from its mean token embedding.

    Args:
        output: Folder of the encoder.
    """
    _check_options(text, column, captions)
    check_writable(output)
    from evaluators.models import pick_device
    from trainers.probe.training import train_autoencoder

    with err.status("Loading"):
        chosen = pick_device(device)
        texts, about = _load_texts(text, column, captions, seed, data)
    sizes = {"epochs": epochs, "batch_size": batch_size, "accumulate": accumulate}
    recipe = _make_recipe(chosen, decoder=decoder, learning_rate=learning_rate, precision=precision, seed=seed, **sizes)
    loss = train_autoencoder(texts, recipe, output, device=chosen, about=about)
    typer.echo(
        f"{output}: validation loss {loss:.4f}. Probe it with `compeval train probe --text-encoder local:{output}`."
    )


@app.command()
def run(
    probes: list[str],
    data: Data = None,
    limit: OptionalPositive = None,
    device: Device = None,
    output: Results = Path("results"),
    summary: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate probes on CompPrompts, and the probed models on ControlledImCaps, as in the paper's tables.

    Args:
        probes: local:FOLDER of each probe.
        limit: Evaluate only the first N rows of each config.
        summary: Folder to write the tables to, as Markdown and JSON.
    """
    from evaluators.models import check_name, pick_device, resolve

    check_writable(output)
    if summary:
        check_writable(summary, "--summary")
    for spec in probes:
        check_name(spec)
    with err.status("Loading"):
        from evaluators.probes.evaluate import evaluate_probe
        from evaluators.report import probe_report

        chosen = pick_device(device)
    evaluated = []
    for spec in probes:
        model = resolve(spec, chosen)
        with progress() as report:
            evaluated.append(
                evaluate_probe(model, data_dir=data, limit=limit, output=output, device=chosen, report=report)
            )
    if summary:
        probe_report.write(summary, evaluated)
    if as_json:
        echo_json(probe_report.collect_numbers(evaluated))
        return
    for result in probe_report.make_tables(evaluated):
        out.print(result.caption, highlight=False, markup=False)
        print_table(result.cells.columns, result.cells.itertuples(index=False))


def _check_options(text: str | None, column: str, captions: int) -> None:
    """Raise ValueError if an option has no effect on the training text."""
    if text:
        refuse("with --text", captions=captions != NUM_CAPTIONS)
    else:
        refuse("without --text", column=column != "caption")


def _load_texts(
    pattern: str | None, column: str, count: int, seed: int, data: Path | None
) -> tuple[list[str], dict[str, Any]]:
    """Return the training texts and their description. Prints their overlap with CompPrompts."""
    from loaders.datasets.folders import dataset_folder
    from trainers.probe import data as recovery_data
    from trainers.probe import overlap as prompt_overlap

    prompts = prompt_overlap.read_prompts(dataset_folder("compprompts", data))
    texts = (
        recovery_data.read_captions(pattern, column)
        if pattern
        else recovery_data.generate_captions(count, seed, prompts)
    )
    overlap = prompts.count_overlap(texts)
    typer.echo(f"Training text: {overlap}.")
    return texts, {"text": pattern or "generated", "overlap": overlap._asdict()}


def _make_recipe(device: str, **settings: Any) -> Recipe:
    """Return the recipe. By default, the precision depends on the device and the learning rate on the decoder."""
    from trainers.probe.training import Recipe, choose_precision

    precision = choose_precision(device) if settings["precision"] == "auto" else settings["precision"]
    rate = settings["learning_rate"] or (1e-3 if settings["decoder"] else Recipe.learning_rate)
    return Recipe(**settings | {"precision": precision, "learning_rate": rate})
