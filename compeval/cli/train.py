"""``compeval train``: fine-tune with hard negatives, or train recovery probes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from compeval.cli import probe
from compeval.cli.console import AsJson, Device, echo_json, err, out, progress, table

if TYPE_CHECKING:
    from trainers.negclip.training import Method

app = typer.Typer(no_args_is_help=True, help="Fine-tune a CLIP with hard negatives, or train a recovery probe.")
app.command()(probe.probe)
app.command()(probe.autoencoder)

Model = Annotated[str, typer.Option(help="Initial model: ARCHITECTURE/WEIGHTS of open_clip, or local:FOLDER.")]
Pairs = Annotated[
    Path,
    typer.Option(
        "--data",
        help="File in the format of Karpathy's splits, folder of webdataset shards, or train_neg_clip.tsv of NegCLIP's "
        "authors, whose negatives are used.",
    ),
]
Images = Annotated[Path | None, typer.Option(help="Folder that the image paths of a file are relative to.")]
Validation = Annotated[
    Path | None, typer.Option(help="Data for selecting the learning rate. Default: 5 % of the training data.")
]
Checkpoint = Annotated[
    Path, typer.Option("--output", help="Folder of the checkpoint, for `compeval run --model local:FOLDER`.")
]
Preset = Annotated[
    Literal["paper", "microworld"],
    typer.Option(help="paper: batches of 1,024, three learning rates. microworld: for tiny models."),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Overrides the preset.")]
BatchSize = Annotated[int | None, typer.Option(min=2, help="Overrides the preset.")]
LearningRate = Annotated[list[float] | None, typer.Option(help="Overrides the preset; repeatable.")]
Seed = Annotated[int, typer.Option(help="Seed of the caption order and of the sampled negatives.")]
Chunk = Annotated[
    int,
    typer.Option(
        min=1, help="Number of images encoded at once. A smaller value needs less memory and does not change the loss."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Number of processes that read images and captions. Default: one per processor, up to 8."),
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"],
    typer.Option(
        help="bf16: mixed precision, with weights and loss in fp32. auto: bf16 where the device computes it fast."
    ),
]
MAX_WORKERS = 8

METHODS: dict[Method, str] = {
    "negclip": "Fine-tune a CLIP with hard negatives: captions with two exchanged parts, and similar images.",
    "clip-ft": "Fine-tune a CLIP on the same captions and for as many steps as NegCLIP, without hard negatives.",
}


def is_first_process() -> bool:
    """Return True in the process that prints, of all those that torchrun or accelerate have started."""
    return os.environ.get("RANK", "0") == "0"


def _choose_workers(workers: int | None) -> int:
    return min(MAX_WORKERS, os.cpu_count() or 1) if workers is None else workers


def _add_command(method: Method, description: str) -> None:
    @app.command(method, help=description)
    def finetune(
        model: Model,
        data: Pairs,
        output: Checkpoint,
        images: Images = None,
        validation: Validation = None,
        preset: Preset = "paper",
        epochs: Epochs = None,
        batch_size: BatchSize = None,
        learning_rate: LearningRate = None,
        seed: Seed = 0,
        chunk: Chunk = 256,
        workers: Workers = None,
        device: Device = None,
        precision: Precision = "auto",
        as_json: AsJson = False,
    ) -> None:
        err.quiet = err.quiet or not is_first_process()
        with err.status("Loading"):
            from evaluators.models import pick_device
            from trainers.negclip.training import PRESETS, TrainingData, train

            rates = learning_rate and tuple(learning_rate)
            overrides = {"epochs": epochs, "batch_size": batch_size, "learning_rates": rates}
            recipe = replace(PRESETS[preset], **{name: value for name, value in overrides.items() if value is not None})
            chosen_device = pick_device(device)
        with progress() as report:
            metrics = train(
                method,
                model,
                TrainingData(data, images, validation),
                output,
                recipe=recipe,
                seed=seed,
                device=chosen_device,
                chunk_size=chunk,
                workers=_choose_workers(workers),
                precision=precision,
                report=report,
            )
        if not is_first_process():
            return
        if as_json:
            echo_json(metrics)
        else:
            _print_metrics(metrics)
            out.print(f"{output}: checkpoint with learning rate {metrics['chosen']:g}.", markup=False)


for _method, _description in METHODS.items():
    _add_command(_method, _description)


@app.command()
def export(
    model: Annotated[str, typer.Option(help="CLIP whose image features determine similar images.")],
    data: Pairs,
    output: Annotated[Path, typer.Option(help="Output folder.")],
    images: Images = None,
    to: Annotated[
        Literal["parquet", "webdataset"], typer.Option(help="parquet: one row per image. webdataset: shards.")
    ] = "parquet",
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Write captioned images with NegCLIP's hard negatives, for use in other training code."""
    with err.status("Loading"):
        from evaluators.models import pick_device
        from trainers.negclip.training import TrainingData, export_mined

        chosen_device = pick_device(device)
    with progress() as report:
        count = export_mined(
            model,
            TrainingData(data, images),
            output,
            to,
            device=chosen_device,
            workers=_choose_workers(workers),
            report=report,
        )
    typer.echo(f"{output}: {count:,} images with hard negatives.")


def _print_metrics(metrics: dict[str, Any]) -> None:
    """Print one line per learning rate and epoch."""
    shown = table("learning rate", "epoch", "loss", *metrics["before"])
    shown.add_row("before", "", "", *(f"{value:.1%}" for value in metrics["before"].values()))
    for rate, log in metrics["learning_rates"].items():
        for entry in log:
            recalls = (f"{entry[name]:.1%}" for name in metrics["before"])
            shown.add_row(rate, f"{entry['epoch']}", f"{entry['loss']:.3f}", *recalls)
    out.print(shown)
