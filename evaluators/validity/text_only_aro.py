"""The blind baseline on ARO's four sets: how often do text-only scorers pick the true caption?

    python -m evaluators.validity.text_only_aro  # the `blind_aro` stage: writes blind_aro.json and blind_aro.md
    python -m evaluators.validity.text_only_aro --ask --max-cost 1    # fills a chat model's cache in sample/llm/

The scorers of evaluators/validity/text_only.py, and by its measures. ARO's captions are known for this cue: a swapped
caption is
often implausible, a shuffled one ungrammatical (Lin et al. 2023, arXiv:2306.01879). Of the order sets the shuffles of
the first seed are measured. Where params.yaml names an endpoint, a chat model reads them as well
(evaluators/validity/chat_reader.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluators.validity import chat_reader as blind_chat
from evaluators.validity.text_only import farthest, measure, read_files
from generators.hard_negatives.blind_scorers import Sets
from generators.llm.client import Cache, Endpoint, ask_all, make_client
from generators.storage import stage
from generators.storage.params import block
from loaders.cards.aro import OPTIONS
from loaders.cards.card import split_name, table

SPLITS = ("test", "test.s0")


def read(folder: Path, config: str) -> Sets:
    """The distinct rows of a config, of an order set those of the first seed."""
    return read_files(path for path in sorted((folder / config).glob("*.parquet")) if split_name(path) in SPLITS)


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The findings as Markdown."""
    rows = []
    for name, found in results.items():
        scorer, value = farthest(found["chance"], found["held_out"])
        low, high = found["held_out"][scorer]["interval"]
        rows.append(
            (name, found["rows"], f"{found['chance']:.0%}", f"{value:.1%} ({scorer})", f"{low:.1%} to {high:.1%}")
        )
    header = ("set", "rows", "chance", "farthest from chance", "95 % interval")
    chats = {name: found for name, found in results.items() if found["chat"]}
    return f"""# ARO without the pictures

Recall@1 of the text-only scorer that is farthest from chance, on either side; `blind_aro.json` has all of them.

{table(header, rows)}{_chat_part(chats) if chats else ""}"""


def _chat_part(results: Mapping[str, Mapping[str, Any]]) -> str:
    """What a chat model made of the sets."""
    rows = []
    for name, found in results.items():
        chat = found["chat"]
        low, high = chat["interval"]
        share = f"{chat['recall@1']:.1%} ({low:.1%} to {high:.1%})"
        rows.append((name, chat["asked"], f"{found['chance']:.0%}", chat["model"], share, chat["unreadable"]))
    header = ("set", "rows asked", "chance", "model", "right (95 % interval)", "no readable choice")
    return f"""
A chat model with two worked examples and no picture. An answer that is not one choice counts as wrong.

{table(header, rows)}"""


def ask(endpoint: Endpoint, sets: Mapping[str, Sets], max_cost: float) -> Counter[str]:
    """Ask the chat model what the cache lacks; gives what came of it, by reason."""
    prompts = [prompt for config, found in sets.items() for prompt in blind_chat.prompts(config, found)]
    return ask_all(make_client(endpoint, Path("sample/llm")), prompts, blind_chat.TOKENS_OUT, max_cost)


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Measure the sets that are built; with --ask, fill the chat model's cache in sample/llm/ instead."""
    settings, chat = block("blind"), block("blind_aro")["chat"]
    endpoint = blind_chat.endpoint(chat) if chat else None
    sets = {config: found for config in OPTIONS if len(found := read(Path("aro"), config))}
    if ask_model:
        if endpoint is None:
            raise ValueError("params.yaml, blind_aro.chat: no endpoint is named, so there is nobody to ask.")
        for reason, count in sorted(ask(endpoint, sets, max_cost).items()):
            print(f"{count:,} {reason}")
        return
    cache = Cache([Path("data/llm")])
    results = {
        config: measure(config, found, settings["seed"], settings["model"])
        | {"chat": blind_chat.measure(config, found, endpoint, cache) if endpoint else None}
        for config, found in sets.items()
    }
    stage.write_json(Path("blind_aro.json"), results)
    Path("blind_aro.md").write_text(page(results))


if __name__ == "__main__":
    stage.run(main)
