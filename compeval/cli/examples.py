"""``compeval examples``: example captions for classes of one's own, and the prompts that they make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, err, plain

if TYPE_CHECKING:
    from generators.llm.client import Endpoint


def examples(
    classes: Annotated[Path, typer.Argument(help="A text file with the name of a class on each line.")],
    count: Annotated[int, typer.Option(min=1, help="Captions of each class.")] = 5,
    model: Annotated[
        str | None, typer.Option(help="Language model that writes the captions. Default: a grammar, without any key.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Its OpenAI-compatible endpoint. Default: OpenAI's own.")] = None,
    answers: Annotated[Path, typer.Option(help="Folder of cached answers, read first.")] = Path("sample/llm"),
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask the model what the cache lacks. The key is in OPENAI_API_KEY.")
    ] = False,
    price_in: Annotated[float | None, typer.Option(help="Per million tokens in, for the estimate.")] = None,
    price_out: Annotated[float | None, typer.Option(help="Per million tokens out.")] = None,
    max_cost: Annotated[float, typer.Option(min=0, help="Ask nothing where the estimate is above this.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Example captions for your own classes, for zero-shot classification with prompts that say more than a name."""
    from generators.captioner import example_captions
    from generators.llm import client as llm

    names = _names(classes)
    if ask and model is None:
        raise ValueError("--ask: name the language model with --model (and --base-url where it is not OpenAI's).")
    endpoint = None if model is None else llm.Endpoint(model, base_url, price_in=price_in, price_out=price_out)
    if ask and endpoint is not None:
        _ask(names, count, endpoint, answers, max_cost)
    found = example_captions.example_captions(names, count, endpoint, answers)
    if as_json:
        told = {
            name: one._asdict() | {"prompts": example_captions.prompts(name, one.captions)}
            for name, one in found.items()
        }
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for name, one in found.items():
            for caption in one.captions:
                typer.echo(f"{name}\t{caption}")
    by_grammar = sum(one.captioner == example_captions.GRAMMAR for one in found.values())
    if by_grammar:
        err.print(
            f"{by_grammar:,} of {len(found):,} classes have captions of the grammar, which knows nothing of them."
        )
        for name, one in found.items():
            if one.fault:
                err.print(plain(f"{name}: {one.fault}."), highlight=False)


def _names(file: Path) -> list[str]:
    """The lines of a file, each once. ValueError or FileNotFoundError where there are none."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file. Write the name of one class on each line.")
    names = list(dict.fromkeys(line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()))
    if not names:
        raise ValueError(f"{file}: no class in it. Write the name of one class on each line.")
    return names


def _ask(names: list[str], count: int, endpoint: Endpoint, answers: Path, max_cost: float) -> None:
    from generators.captioner.example_captions import CAPTIONS
    from generators.llm.client import Cache, Client
    from generators.llm.questions import ask

    client = Client(endpoint, Cache([answers], answers / "examples.jsonl"))
    for reason, number in sorted(ask([(CAPTIONS, count)], names, client, max_cost).items()):
        err.print(f"{number:,} {reason}")
