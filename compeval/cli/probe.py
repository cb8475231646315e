"""``compeval train probe``, ``compeval train autoencoder`` and ``compeval probe run``: recovery probes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from compeval.cli.console import (
    check_writable,
    echo_json,
    err,
    out,
    print_table,
    progress,
    reject_unused_options,
)
from compeval.cli.options import AsJson, Data, Device, Results

if TYPE_CHECKING:
    from compeval.evaluators.probes.evaluate import ProbeResult
    from compeval.trainers.probe.training import Recipe

app = typer.Typer(
    no_args_is_help=True,
    help="Recovery probes: measure how much of a text can be recovered from its embedding.",
)

NUM_CAPTIONS = 100_000

Text = Annotated[
    str | None,
    typer.Option(
        help="Training text: glob pattern of txt, tsv, csv, jsonl or parquet files. Default: "
        "generated captions."
    ),
]
Column = Annotated[
    str,
    typer.Option(
        help="Caption column of the text: its name, or its number (from 0) if there is no header."
    ),
]
Captions = Annotated[int, typer.Option(min=10, help="Number of generated captions.")]
Decoder = Annotated[
    str | None,
    typer.Option(
        help="t5-large, another T5, or a folder. Default: a small T5 trained from scratch."
    ),
]
Epochs = Annotated[int, typer.Option(min=1, help="Number of passes over the text.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Number of texts per step.")]
Accumulate = Annotated[
    int, typer.Option(min=1, help="Gradient accumulation: number of parts per batch.")
]
LearningRate = Annotated[
    float | None, typer.Option(help="Default: 0.003 from scratch, 0.001 with --decoder.")
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16", "fp16"],
    typer.Option(help="auto: bf16 if it is fast on the device, otherwise fp32."),
]
Seed = Annotated[
    int,
    typer.Option(help="Seed of the generated text, its split, the initial weights and the order."),
]


class Training(NamedTuple):
    """The training text and the recipe of a decoder."""

    text: str | None
    column: str
    captions: int
    decoder: str | None
    epochs: int
    batch_size: int
    accumulate: int
    learning_rate: float | None
    precision: Literal["auto", "fp32", "bf16", "fp16"]
    seed: int
    device: str | None
    data: Path | None


def probe(
    text_encoder: Annotated[
        str,
        typer.Option(
            help="Text encoder to probe: any model of `compeval run`, or "
            "sentence-transformers:NAME."
        ),
    ],
    output: Annotated[Path | None, typer.Option(help="Default: checkpoints/probe-ENCODER.")] = None,
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

    Example: `compeval train probe --text-encoder ViT-B-32/openai --text 'captions/*.txt'`.
    """
    training = Training(
        text=text,
        column=column,
        captions=captions,
        decoder=decoder,
        epochs=epochs,
        batch_size=batch_size,
        accumulate=accumulate,
        learning_rate=learning_rate,
        precision=precision,
        seed=seed,
        device=device,
        data=data,
    )
    _check_options(training)
    from compeval.evaluators.models import load_model, pick_device, slug
    from compeval.evaluators.models.checks import check_name

    folder = (
        output
        or Path("checkpoints") / f"probe-{slug(text_encoder.removeprefix('local:checkpoints/'))}"
    )
    check_writable(folder)
    check_name(text_encoder)
    from compeval.trainers.probe.training import train_probe

    with err.status("Loading"):
        chosen = pick_device(training.device)
        encoder = load_model(text_encoder, chosen, "fp32")
        texts, about = _load_texts(training)
    recipe = _make_recipe(chosen, training)
    with progress() as report:
        loss = train_probe(
            encoder, texts, recipe, folder, device=chosen, about=about, report=report
        )
    typer.echo(
        f"{folder}: validation loss {loss:.4f}. Evaluate it with `compeval probe run local:{folder}`."
    )


def autoencoder(
    output: Annotated[Path, typer.Option(help="Folder of the encoder.")] = Path(
        "checkpoints/autoencoder"
    ),
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

    Example: `compeval train autoencoder --captions 10000`.
    """
    training = Training(
        text=text,
        column=column,
        captions=captions,
        decoder=decoder,
        epochs=epochs,
        batch_size=batch_size,
        accumulate=accumulate,
        learning_rate=learning_rate,
        precision=precision,
        seed=seed,
        device=device,
        data=data,
    )
    _check_options(training)
    check_writable(output)
    from compeval.evaluators.models import pick_device
    from compeval.trainers.probe.training import train_autoencoder

    with err.status("Loading"):
        chosen = pick_device(training.device)
        texts, about = _load_texts(training)
    recipe = _make_recipe(chosen, training)
    loss = train_autoencoder(texts, recipe, output, device=chosen, about=about)
    typer.echo(
        f"{output}: validation loss {loss:.4f}. Probe it with `compeval train probe --text-encoder local:{output}`."
    )


@app.command()
def run(
    probes: Annotated[list[str], typer.Argument(help="local:FOLDER of each probe.")],
    data: Data = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Evaluate only the first N rows of each config.")
    ] = None,
    device: Device = None,
    output: Results = Path("results"),
    summary: Annotated[
        Path | None, typer.Option(help="Folder to write the tables to, as Markdown and JSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate probes on CompPrompts, and the probed models on ControlledImCaps, as in the paper's tables.

    Example: `compeval probe run local:checkpoints/probe-clip --summary tables`.
    """
    from compeval.evaluators.models import load_model, pick_device
    from compeval.evaluators.models.checks import check_name

    check_writable(output)
    if summary:
        check_writable(summary, "--summary")
    for spec in probes:
        check_name(spec)
    with err.status("Loading"):
        from compeval.evaluators.probes.evaluate import evaluate_probe
        from compeval.evaluators.report import probe_report

        chosen = pick_device(device)
    evaluated = []
    for spec in probes:
        model = load_model(spec, chosen)
        with progress() as report:
            evaluated.append(
                evaluate_probe(
                    model, data_dir=data, limit=limit, output=output, device=chosen, report=report
                )
            )
    if summary:
        probe_report.write(summary, evaluated)
    _print(evaluated, as_json)


def _print(evaluated: Sequence[ProbeResult], as_json: bool) -> None:
    from compeval.evaluators.report.probe_report import collect_numbers, make_tables

    if as_json:
        echo_json(collect_numbers(evaluated))
        return
    for result in make_tables(evaluated):
        out.print(result.caption, highlight=False, markup=False)
        print_table(result.cells.columns, result.cells.itertuples(index=False))


def _check_options(training: Training) -> None:
    """Raise ValueError if an option has no effect on the training text."""
    if training.text:
        reject_unused_options("with --text", captions=training.captions != NUM_CAPTIONS)
    else:
        reject_unused_options("without --text", column=training.column != "caption")


def _load_texts(training: Training) -> tuple[list[str], dict[str, Any]]:
    """Return the training texts and their description. Prints their overlap with CompPrompts."""
    from compeval.loaders.datasets.folders import dataset_folder
    from compeval.trainers.probe import data, overlap

    prompts = overlap.read_prompts(dataset_folder("compprompts", training.data))
    if training.text:
        texts = data.read_captions(training.text, training.column)
    else:
        texts = data.generate_captions(training.captions, training.seed, prompts)
    counts = prompts.count_overlap(texts)
    typer.echo(f"Training text: {counts}.")
    return texts, {"text": training.text or "generated", "overlap": counts._asdict()}


def _make_recipe(device: str, training: Training) -> Recipe:
    """Return the recipe. By default, the precision depends on the device and the learning rate on the decoder."""
    from compeval.trainers.probe.training import Recipe, choose_precision

    settings = {
        name: getattr(training, name)
        for name in ("decoder", "epochs", "batch_size", "accumulate", "seed")
    }
    precision = choose_precision(device) if training.precision == "auto" else training.precision
    rate = training.learning_rate or (1e-3 if training.decoder else Recipe.learning_rate)
    return Recipe(**settings, precision=precision, learning_rate=rate)
