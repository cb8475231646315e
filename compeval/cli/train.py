"""``compeval train``: fine-tune with hard negatives, or train recovery probes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

import typer

from compeval.cli import probe
from compeval.cli.console import (
    check_writable,
    echo_json,
    err,
    out,
    print_table,
    progress,
    reject_unused_options,
)
from compeval.cli.options import AsJson, Device

if TYPE_CHECKING:
    from compeval.trainers.negclip.training import Method, Recipe

app = typer.Typer(
    no_args_is_help=True, help="Fine-tune a CLIP with hard negatives, or train a recovery probe."
)
app.command()(probe.probe)
app.command()(probe.autoencoder)

Pairs = Annotated[
    Path,
    typer.Option(
        "--data",
        help="File in the format of Karpathy's splits, folder of webdataset shards, or train_neg_clip.tsv of NegCLIP's "
        "authors, whose negatives are used.",
    ),
]
Images = Annotated[
    Path | None, typer.Option(help="Folder that the image paths of a file are relative to.")
]
Output = Annotated[Path, typer.Option()]
Workers = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of processes that read images and captions. Default: one per processor, up to 8.",
    ),
]
MAX_WORKERS = 8


def is_first_process() -> bool:
    """Return True in the process that prints, of all those that torchrun or accelerate have started."""
    return os.environ.get("RANK", "0") == "0"


def _choose_workers(workers: int | None) -> int:
    return min(MAX_WORKERS, os.cpu_count() or 1) if workers is None else workers


class RecipeOptions(NamedTuple):
    """The recipe of a fine-tuning."""

    preset: Literal["paper", "microworld"]
    epochs: int | None
    batch_size: int | None
    learning_rate: list[float] | None
    rules: Literal["ours", "paper"] | None
    augment: bool | None
    count_neighbours: bool

    def make_recipe(self) -> Recipe:
        from compeval.trainers.negclip.training import PRESETS

        rates = self.learning_rate and tuple(self.learning_rate)
        overrides = {"epochs": self.epochs, "batch_size": self.batch_size, "learning_rates": rates}
        overrides |= {
            "augment": self.augment,
            "rules": self.rules,
            "counts_neighbours": self.count_neighbours,
        }
        return replace(
            PRESETS[self.preset],
            **{name: value for name, value in overrides.items() if value is not None},
        )


class Execution(NamedTuple):
    """Seed, chunk size, processes, device and precision of a fine-tuning."""

    seed: int
    chunk: int
    workers: int | None
    device: str | None
    precision: Literal["auto", "fp32", "bf16"]

    def to_settings(self) -> dict[str, Any]:
        """Return the arguments of the training. Raises ValueError if the device cannot be used."""
        from compeval.evaluators.models import pick_device

        settings = {"seed": self.seed, "chunk_size": self.chunk, "precision": self.precision}
        return settings | {
            "workers": _choose_workers(self.workers),
            "device": pick_device(self.device),
        }


@app.command(
    "clip-ft",
    help="Fine-tune a CLIP on the same captions and for as many steps as NegCLIP, without hard negatives.\n\n"
    "Example: `compeval train clip-ft --model ViT-B-32/openai --data dataset_coco.json --output checkpoints/clip-ft`.",
)
@app.command(
    "negclip",
    help="Fine-tune a CLIP with hard negatives: captions with two exchanged parts, and similar images.\n\n"
    "Example: `compeval train negclip --model ViT-B-32/openai --data dataset_coco.json --output checkpoints/negclip`.",
)
def finetune(
    ctx: typer.Context,
    model: Annotated[
        str, typer.Option(help="Initial model: ARCHITECTURE/WEIGHTS of open_clip, or local:FOLDER.")
    ],
    data: Pairs,
    output: Annotated[
        Path,
        typer.Option(help="Folder of the checkpoint, for `compeval run --model local:FOLDER`."),
    ],
    images: Images = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Data for selecting the learning rate. Default: 5 % of the training data."
        ),
    ] = None,
    preset: Annotated[
        Literal["paper", "microworld"],
        typer.Option(
            help="paper: batches of 256 captions (1,024 texts), three learning rates. "
            "microworld: for tiny models."
        ),
    ] = "paper",
    epochs: Annotated[int | None, typer.Option(min=1, help="Overrides the preset.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=2, help="Overrides the preset.")] = None,
    learning_rate: Annotated[
        list[float] | None, typer.Option(help="Overrides the preset; repeatable.")
    ] = None,
    rules: Annotated[
        Literal["ours", "paper"] | None,
        typer.Option(
            help="paper: one negative of each kind, as in the paper's appendix C.1, and clip-ft "
            "keeps captions without one. Default: with the preset paper; otherwise ours. "
            "Without effect on the authors' files (*.tsv), which have their own negatives."
        ),
    ] = None,
    augment: Annotated[
        bool | None,
        typer.Option(
            help="Crop images at random, as open_clip does in training. Default: with the preset "
            "paper."
        ),
    ] = None,
    count_neighbours: Annotated[
        bool,
        typer.Option(
            "--count-neighbours",
            help="The similar images are a half of the batch size, not added to it.",
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Seed of the caption order and of the sampled negatives.")
    ] = 0,
    chunk: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of images encoded at once. A smaller value needs less memory and does "
            "not change the loss.",
        ),
    ] = 256,
    workers: Workers = None,
    device: Device = None,
    precision: Annotated[
        Literal["auto", "fp32", "bf16"],
        typer.Option(
            help="bf16: mixed precision, with weights and loss in fp32. auto: bf16 where the "
            "device computes it fast."
        ),
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Fine-tune a CLIP by the method that the command is named after."""
    options = RecipeOptions(
        preset=preset,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        rules=rules,
        augment=augment,
        count_neighbours=count_neighbours,
    )
    execution = Execution(
        seed=seed,
        chunk=chunk,
        workers=workers,
        device=device,
        precision=precision,
    )
    if data.is_dir() and (validation is None or validation.is_dir()):
        reject_unused_options("on webdataset shards", images=images)
    err.quiet = err.quiet or not is_first_process()
    from compeval.evaluators.models.checks import check_name

    check_writable(output)
    check_name(model)
    with err.status("Loading"):
        from compeval.trainers.negclip.training import TrainingData, train

        recipe = options.make_recipe()
        settings = execution.to_settings()
    method = cast("Method", ctx.info_name)
    training_data = TrainingData(data, images, validation)
    with progress() as report:
        metrics = train(
            method, model, training_data, output, recipe=recipe, report=report, **settings
        )
    if not is_first_process():
        return
    if as_json:
        echo_json(metrics)
    else:
        _print_metrics(metrics)
        out.print(f"{output}: checkpoint with learning rate {metrics['chosen']:g}.", markup=False)


@app.command()
def export(
    model: Annotated[str, typer.Option(help="CLIP whose image features determine similar images.")],
    data: Pairs,
    output: Annotated[Path, typer.Option(help="Output folder.")],
    images: Images = None,
    to: Annotated[
        Literal["parquet", "webdataset"],
        typer.Option(help="parquet: one row per image. webdataset: shards."),
    ] = "parquet",
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Write captioned images with NegCLIP's hard negatives, for use in other training code.

    Example: `compeval train export --model ViT-B-32/openai --data dataset_coco.json --output mined --to webdataset`.
    """
    if data.is_dir():
        reject_unused_options("on webdataset shards", images=images)
    from compeval.evaluators.models import pick_device
    from compeval.evaluators.models.checks import check_name

    check_writable(output)
    check_name(model)
    with err.status("Loading"):
        from compeval.trainers.negclip.training import TrainingData, export_mined

        options = {"device": pick_device(device), "workers": _choose_workers(workers)}
    with progress() as report:
        count = export_mined(
            model, TrainingData(data, images), output, to, **options, report=report
        )
    typer.echo(f"{output}: {count:,} images with hard negatives.")


def _print_metrics(metrics: dict[str, Any]) -> None:
    """Print one line per learning rate and epoch."""
    before = metrics["before"]
    rows = [("before", "", "", *(f"{value:.1%}" for value in before.values()))]
    rows += [
        (
            rate,
            f"{entry['epoch']}",
            f"{entry['loss']:.3f}",
            *(f"{entry[name]:.1%}" for name in before),
        )
        for rate, log in metrics["learning_rates"].items()
        for entry in log
    ]
    print_table(("learning rate", "epoch", "loss", *before), rows)
