"""``compeval examples``: example captions for the user's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import AsJson, echo_json, note


def examples(
    classes: Annotated[Path, typer.Argument(help="Text file with one class name per line.")],
    count: Annotated[int, typer.Option(min=1, help="Number of captions per class.")] = 5,
    model: Annotated[
        str | None,
        typer.Option(help="Language model that writes the captions. Default: a grammar, which needs no API key."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint of the model. Default: OpenAI.")
    ] = None,
    answers: Annotated[Path, typer.Option(help="Folder of cached answers, which are read first.")] = Path("sample/llm"),
    ask: Annotated[
        bool, typer.Option("--ask", help="Request missing answers from the model, with the key in OPENAI_API_KEY.")
    ] = False,
    price_in: Annotated[
        float | None, typer.Option(help="Price per million input tokens, for estimating the cost.")
    ] = None,
    price_out: Annotated[float | None, typer.Option(help="Price per million output tokens.")] = None,
    max_cost: Annotated[float, typer.Option(min=0, help="Maximum estimated cost; above it, no request is sent.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Write example captions for your own classes, to make prompts for zero-shot classification more detailed."""
    from generators.captioner import example_captions
    from generators.llm.client import Endpoint

    names = _read_names(classes)
    endpoint = None if model is None else Endpoint(model, base_url, price_in=price_in, price_out=price_out)
    if ask:
        if endpoint is None:
            raise ValueError("--ask: set --model (and --base-url for an endpoint other than OpenAI).")
        from generators.llm.client import Cache, Client
        from generators.llm.questions import ask as request

        client = Client(endpoint, Cache([answers], answers / "examples.jsonl"))
        for outcome, number in sorted(request([(example_captions.CAPTIONS, count)], names, client, max_cost).items()):
            note(f"{number:,} {outcome}")
    captions = example_captions.example_captions(names, count, endpoint, answers)
    if as_json:
        echo_json(
            {
                name: of_class._asdict() | {"prompts": example_captions.make_prompts(name, of_class.captions)}
                for name, of_class in captions.items()
            }
        )
    else:
        for name, of_class in captions.items():
            for caption in of_class.captions:
                typer.echo(f"{name}\t{caption}")
    by_grammar = sum(of_class.captioner == example_captions.GRAMMAR for of_class in captions.values())
    if by_grammar:
        note(f"{by_grammar:,} of {len(captions):,} classes have random captions from the grammar.")
        for name, of_class in captions.items():
            if of_class.fault:
                note(f"{name}: {of_class.fault}.")


def _read_names(file: Path) -> list[str]:
    """Return the distinct lines of a file. Raises FileNotFoundError or ValueError if there are none."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file. Write one class name per line.")
    names = list(dict.fromkeys(line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()))
    if not names:
        raise ValueError(f"{file}: no class in the file. Write one class name per line.")
    return names
