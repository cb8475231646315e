"""Options that several commands share, with their help, and the values of those that belong together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from compeval.generators.llm.client import Endpoint
    from compeval.loaders.own_data.columns import UserColumns

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
    Path,
    typer.Option(
        "--output",
        help="Folder to write the dataset folder to; pass it to other commands as `--data`.",
    ),
]
Results = Annotated[Path, typer.Option("--output", help="Folder of the results.")]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda or cuda:1. Default: the fastest available device.")
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=1, help="Evaluate only the first N rows of each task."),
]
Format = Annotated[
    FormatName,
    typer.Option(
        "--format",
        callback=prefer_json,
        help="csv: one line per value. md, latex: the table in Markdown or LaTeX.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", is_eager=True, callback=_store_json, help="Print JSON in place of the table."
    ),
]
Repair = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="Remove differences of case, spacing and final stops between captions, and "
        "ambiguous rows.",
    ),
]
DropMalformed = Annotated[
    bool,
    typer.Option(
        "--drop-malformed", help="Drop rows with a malformed text, as `compeval audit` counts them."
    ),
]
SkipMissing = Annotated[
    bool, typer.Option("--skip-missing", help="Drop rows whose image is missing.")
]
ImageColumn = Annotated[
    str, typer.Option(help="Column of the image files in your own table. Default: image.")
]
CaptionColumn = Annotated[
    str, typer.Option(help="Column of the caption or captions. Default: captions or caption.")
]
NegativeColumns = Annotated[
    str,
    typer.Option(
        help="Columns of your hard negatives, separated by commas. Default: hard_negatives."
    ),
]
KindColumn = Annotated[
    str,
    typer.Option(
        help="Column with the kind of your hard negatives, by which results are reported."
    ),
]
DropEqual = Annotated[
    bool,
    typer.Option(
        "--drop-equal",
        help="Drop your hard negatives that equal a caption or another one of their row. "
        "Default: an error names it.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option(help="OpenAI-compatible endpoint of the model. Default: OpenAI.")
]
Answers = Annotated[Path, typer.Option(help="Folder of cached answers, which are read first.")]
Ask = Annotated[
    bool,
    typer.Option(
        "--ask", help="Request missing answers from the model, with the key in OPENAI_API_KEY."
    ),
]
PriceIn = Annotated[
    float | None,
    typer.Option(
        help="Price per million input tokens, for estimating the cost; 0 for a free endpoint."
    ),
]
PriceOut = Annotated[float | None, typer.Option(help="Price per million output tokens.")]
MaxCost = Annotated[
    float, typer.Option(min=0, help="Maximum estimated cost; above it, no request is sent.")
]


class TableColumns(NamedTuple):
    """The columns of a user's own tables."""

    image_column: str = ""
    caption_column: str = ""
    negative_columns: str = ""
    kind_column: str = ""
    drop_equal: bool = False

    def to_user_columns(self) -> UserColumns:
        from compeval.loaders.own_data.columns import UserColumns

        negatives = tuple(split_names(self.negative_columns))
        return UserColumns(self.image_column, self.caption_column, negatives, self.kind_column)


class LanguageModel(NamedTuple):
    """A language model that writes texts."""

    model: str | None = None
    base_url: str | None = None
    answers: Path = Path("sample/llm")
    ask: bool = False
    price_in: float | None = None
    price_out: float | None = None
    max_cost: float = 0.0

    def find_endpoint(self) -> Endpoint | None:
        """Return the endpoint, or None if no model is named."""
        from compeval.generators.llm.client import Endpoint

        if self.model is None:
            return None
        return Endpoint(self.model, self.base_url, price_in=self.price_in, price_out=self.price_out)


def split_names(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
