"""``compeval examples``: example captions for the user's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.cli.console import echo_json, note, refuse
from compeval.cli.options import AsJson, Positive


def examples(
    classes: Path,
    count: Positive = 5,
    model: str | None = None,
    base_url: str | None = None,
    answers: Path = Path("sample/llm"),
    ask: bool = False,
    price_in: float | None = None,
    price_out: float | None = None,
    max_cost: Annotated[float, typer.Option(min=0)] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Write example captions for your own classes, to make prompts for zero-shot classification more detailed.

    Args:
        classes: Text file with one class name per line.
        count: Number of captions per class.
        model: Language model that writes the captions. Default: a grammar, which needs no API key.
        base_url: OpenAI-compatible endpoint of the model. Default: OpenAI.
        answers: Folder of cached answers, which are read first.
        ask: Request missing answers from the model, with the key in OPENAI_API_KEY.
        price_in: Price per million input tokens, for estimating the cost.
        price_out: Price per million output tokens.
        max_cost: Maximum estimated cost; above it, no request is sent.
    """
    if not ask:
        refuse("without --ask", price_in=price_in, price_out=price_out, max_cost=max_cost)
    if model is None:
        refuse("without --model", base_url=base_url)
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
        prompts = {name: {"prompts": example_captions.make_prompts(name, captions[name].captions)} for name in names}
        echo_json({name: captions[name]._asdict() | prompts[name] for name in names})
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
