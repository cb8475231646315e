"""Options that several commands share, with their help. The help of all other options is in a command's docstring."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ANNOTATIONS = Path("sample/annotations")
FormatName = Literal["table", "csv", "md", "latex", "json"]


def _store_json(ctx: typer.Context, value: bool) -> bool:
    ctx.meta["json"] = value
    return value


def prefer_json(ctx: typer.Context, value: str | None) -> str | None:
    """Return the format; with --json, which is parsed first, it is json."""
    return "json" if ctx.meta.get("json") else value


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder that contains the dataset folders. Default: the current folder, the folder of downloads "
        "(COMPEVAL_DATA or ~/.cache/compeval/datasets) and the checkout are searched.",
    ),
]
DatasetsOutput = Annotated[
    Path, typer.Option("--output", help="Folder to write the dataset folder to; pass it to other commands as `--data`.")
]
Results = Annotated[Path, typer.Option("--output", help="Folder of the results.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1. Default: the fastest available device.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Evaluate only the first N rows of each task.")]
Models = Annotated[list[str] | None, typer.Option("--model", "-m")]
Format = Annotated[
    FormatName,
    typer.Option(
        "--format", callback=prefer_json, help="csv: one line per value. md, latex: the table in Markdown or LaTeX."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", is_eager=True, callback=_store_json, help="Print JSON in place of the table.")
]
Positive = Annotated[int, typer.Option(min=1)]
OptionalPositive = Annotated[int | None, typer.Option(min=1)]
OptionalPaths = Annotated[list[Path] | None, typer.Argument()]
ImageColumn = Annotated[str, typer.Option(help="Column of the image files in your own table. Default: image.")]
CaptionColumn = Annotated[str, typer.Option(help="Column of the caption or captions. Default: captions or caption.")]
NegativeColumns = Annotated[
    str, typer.Option(help="Columns of your hard negatives, separated by commas. Default: hard_negatives.")
]
KindColumn = Annotated[
    str, typer.Option(help="Column with the kind of your hard negatives, by which results are reported.")
]
DropEqual = Annotated[
    bool,
    typer.Option(
        "--drop-equal",
        help="Drop your hard negatives that equal a caption or another one of their row. Default: an error names it.",
    ),
]
