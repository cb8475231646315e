"""Options that several commands share, with their help. The help of all other options is in a command's docstring."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_type_hints

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
Models = Annotated[list[str] | None, typer.Option("--model", "-m")]
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
Positive = Annotated[int, typer.Option(min=1)]
OptionalPositive = Annotated[int | None, typer.Option(min=1)]
OptionalPaths = Annotated[list[Path] | None, typer.Argument()]


class TableColumns(NamedTuple):
    """The columns of a user's own tables.

    Args:
        image_column: Column of the image files in your own table. Default: image.
        caption_column: Column of the caption or captions. Default: captions or caption.
        negative_columns: Columns of your hard negatives, separated by commas. Default: hard_negatives.
        kind_column: Column with the kind of your hard negatives, by which results are reported.
        drop_equal: Drop your hard negatives that equal a caption or another one of their row. Default: an error names
            it.
    """

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
    """A language model that writes texts.

    Args:
        base_url: OpenAI-compatible endpoint of the model. Default: OpenAI.
        answers: Folder of cached answers, which are read first.
        ask: Request missing answers from the model, with the key in OPENAI_API_KEY.
        price_in: Price per million input tokens, for estimating the cost; 0 for a free endpoint.
        price_out: Price per million output tokens.
        max_cost: Maximum estimated cost; above it, no request is sent.
    """

    model: str | None = None
    base_url: str | None = None
    answers: Path = Path("sample/llm")
    ask: bool = False
    price_in: float | None = None
    price_out: float | None = None
    max_cost: Annotated[float, typer.Option(min=0)] = 0.0

    def find_endpoint(self) -> Endpoint | None:
        """Return the endpoint, or None if no model is named."""
        from compeval.generators.llm.client import Endpoint

        if self.model is None:
            return None
        return Endpoint(self.model, self.base_url, price_in=self.price_in, price_out=self.price_out)


def split_names(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with one option per field of its parameters that are groups of options (NamedTuples).

    The help of the options is in the docstring of their group, unless that of the command has another one.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        group = parameter.annotation
        if hasattr(group, "_fields"):
            groups[parameter.name], types = group, get_type_hints(group, include_extras=True)
            defaults = group._field_defaults.items()
            parameters += [
                Parameter(name, parameter.kind, default=value, annotation=types[name])
                for name, value in defaults
            ]
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field: values.pop(field) for field in group._fields})
        command(**values)

    vars(run).update(__signature__=Signature(parameters), groups=tuple(groups.values()))
    return run
