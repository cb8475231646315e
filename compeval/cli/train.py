"""``compeval train``: fine-tuning and probes."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compeval.cli import probe as cli_probe
from compeval.cli.console import AsJson, Device, err, progress, table
from compeval.cli.console import out as stdout

if TYPE_CHECKING:
    from trainers.negclip.training import Method

app = typer.Typer(no_args_is_help=True, help="Train: fine-tune a CLIP with hard negatives, or a probe.")
app.command()(cli_probe.probe)
app.command()(cli_probe.autoencoder)


class PresetName(StrEnum):
    paper = "paper"
    microworld = "microworld"


Model = Annotated[str, typer.Option(help="What to start from: ARCHITECTURE/WEIGHTS of open_clip, or local:FOLDER.")]
Pairs = Annotated[
    Path, typer.Option("--data", help="A file in the format of Karpathy's splits, or a folder of webdataset shards.")
]
Images = Annotated[Path | None, typer.Option(help="The folder that the image paths of a Karpathy file start from.")]
Validation = Annotated[
    Path | None, typer.Option(help="The same for choosing the learning rate. Default: a twentieth of the data.")
]
Checkpoint = Annotated[Path, typer.Option("--output", help="Folder of the checkpoint; --model local:FOLDER runs it.")]
Preset = Annotated[PresetName, typer.Option(help="paper: batches of 1,024, three learning rates to choose from.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Instead of the preset's.")]
BatchSize = Annotated[int | None, typer.Option(min=2, help="Instead of the preset's.")]
LearningRate = Annotated[list[float] | None, typer.Option(help="Instead of the preset's; may be repeated.")]
Seed = Annotated[int, typer.Option(help="Decides the order of the captions and which negatives they get.")]
Chunk = Annotated[
    int, typer.Option(min=1, help="Images encoded at once; less takes less memory, the loss is the same.")
]
Workers = Annotated[int, typer.Option(min=0, help="Processes that read images.")]


METHODS: dict[Method, str] = {
    "negclip": "Fine-tune a CLIP with hard negatives: captions with two parts exchanged, and images that look alike.",
    "clip-ft": "Fine-tune a CLIP on the same captions for as many steps as NegCLIP, without hard negatives.",
}


def _add(method: Method, purpose: str) -> None:
    """Add the command that fine-tunes by a method."""

    @app.command(method, help=purpose)
    def finetune(
        model: Model,
        data: Pairs,
        output: Checkpoint,
        images: Images = None,
        validation: Validation = None,
        preset: Preset = PresetName.paper,
        epochs: Epochs = None,
        batch_size: BatchSize = None,
        learning_rate: LearningRate = None,
        seed: Seed = 0,
        chunk: Chunk = 256,
        workers: Workers = 0,
        device: Device = None,
        as_json: AsJson = False,
    ) -> None:
        with err.status("Loading"):
            from evaluators.models import pick_device
            from trainers.negclip.training import PRESETS, TrainingData, train

            rates = learning_rate and tuple(learning_rate)
            changes = {"epochs": epochs, "batch_size": batch_size, "learning_rates": rates}
            recipe = replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
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
                chunk=chunk,
                workers=workers,
                report=report,
            )
        if as_json:
            typer.echo(json.dumps(metrics, indent=1))
        else:
            _print_metrics(metrics)
            stdout.print(f"Learning rate {metrics['chosen']:g} is kept: {output}")


for _method, _purpose in METHODS.items():
    _add(_method, _purpose)


class FormatName(StrEnum):
    parquet = "parquet"
    webdataset = "webdataset"


@app.command()
def export(
    model: Annotated[str, typer.Option(help="The CLIP that finds images that look alike, as for the trainings.")],
    data: Pairs,
    output: Annotated[Path, typer.Option(help="Folder of the set.")],
    images: Images = None,
    to: Annotated[FormatName, typer.Option(help="parquet: a row an image. webdataset: shards.")] = FormatName.parquet,
    workers: Workers = 0,
    device: Device = None,
) -> None:
    """Write captioned images with NegCLIP's hard negatives, for other trainers."""
    with err.status("Loading"):
        from evaluators.models import pick_device
        from trainers.negclip.training import TrainingData, export_mined

        chosen_device = pick_device(device)
    with progress() as report:
        count = export_mined(
            model, TrainingData(data, images), output, to.value, device=chosen_device, workers=workers, report=report
        )
    typer.echo(f"{output}: {count:,} images whose captions have negatives.")


def _print_metrics(metrics: dict[str, Any]) -> None:
    """A row a learning rate and epoch."""
    shown = table("learning rate", "epoch", "loss", *metrics["before"])
    shown.add_row("before", "", "", *(f"{value:.1%}" for value in metrics["before"].values()))
    for rate, log in metrics["learning_rates"].items():
        for entry in log:
            recalls = (f"{entry[name]:.1%}" for name in metrics["before"])
            shown.add_row(rate, f"{entry['epoch']}", f"{entry['loss']:.3f}", *recalls)
    stdout.print(shown)
