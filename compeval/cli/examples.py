"""``compeval examples``: example captions for the user's own classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import check_asked, echo_json, print_message, reject_unused_options
from compeval.cli.options import Answers, AsJson, Ask, BaseUrl, LanguageModel, MaxCost, PriceOut

if TYPE_CHECKING:
    from compeval.generators.llm.client import Endpoint


def examples(
    classes: Annotated[Path, typer.Argument(help="Text file with one class name per line.")],
    count: Annotated[int, typer.Option(min=1, help="Number of captions per class.")] = 5,
    model: Annotated[
        str | None,
        typer.Option(
            help="Language model that writes the captions. Default: a grammar, which needs no "
            "API key."
        ),
    ] = None,
    base_url: BaseUrl = None,
    answers: Answers = Path("sample/llm"),
    ask: Ask = False,
    price_in: Annotated[
        float | None, typer.Option(help="Price per million input tokens, for estimating the cost.")
    ] = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = 0.0,
    as_json: AsJson = False,
) -> None:
    """Write example captions for your own classes, to make prompts for zero-shot classification more detailed.

    Example: `compeval examples classes.txt --count 3`.
    """
    llm = LanguageModel(
        model=model,
        base_url=base_url,
        answers=answers,
        ask=ask,
        price_in=price_in,
        price_out=price_out,
        max_cost=max_cost,
    )
    check_asked(llm)
    if llm.model is None:
        reject_unused_options("without --model", base_url=llm.base_url)
    from compeval.generators.captioner import example_captions

    names = _read_names(classes)
    endpoint = llm.find_endpoint()
    if llm.ask:
        if endpoint is None:
            raise ValueError(
                "--ask: set --model (and --base-url for an endpoint other than OpenAI)."
            )
        _request(names, count, endpoint, llm)
    captions = example_captions.example_captions(names, count, endpoint, llm.answers)
    if as_json:
        prompts = {
            name: {"prompts": example_captions.make_prompts(name, captions[name].captions)}
            for name in names
        }
        echo_json({name: captions[name]._asdict() | prompts[name] for name in names})
    else:
        for name, of_class in captions.items():
            for caption in of_class.captions:
                typer.echo(f"{name}\t{caption}")
    by_grammar = sum(
        of_class.captioner == example_captions.GRAMMAR for of_class in captions.values()
    )
    if by_grammar:
        print_message(
            f"{by_grammar:,} of {len(captions):,} classes have random captions from the grammar."
        )
        for name, of_class in captions.items():
            if of_class.fault:
                print_message(f"{name}: {of_class.fault}.")


def _request(names: Sequence[str], count: int, endpoint: Endpoint, llm: LanguageModel) -> None:
    """Request the captions that are not cached, and print the numbers of answers."""
    from compeval.generators.captioner.example_captions import CAPTIONS
    from compeval.generators.llm.client import Cache, Client
    from compeval.generators.llm.questions import ask

    client = Client(endpoint, Cache([llm.answers], llm.answers / "examples.jsonl"))
    for outcome, number in sorted(ask([(CAPTIONS, count)], names, client, llm.max_cost).items()):
        print_message(f"{number:,} {outcome}")


def _read_names(file: Path) -> list[str]:
    """Return the distinct lines of a file. Raises FileNotFoundError or ValueError if there are none."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file. Write one class name per line.")
    names = list(
        dict.fromkeys(
            line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()
        )
    )
    if not names:
        raise ValueError(f"{file}: no class in the file. Write one class name per line.")
    return names
