"""Measure how often text-only baselines select the true caption of ARO's four sets (stage ``text_only_aro``).

    python -m compeval.evaluators.validity.text_only_aro  # writes text_only_aro.json and text_only_aro.md
    # caches a chat model's answers in sample/llm/
    python -m compeval.evaluators.validity.text_only_aro --ask --max-cost 1

Baselines and metrics are described in evaluators/validity/text_only.py. ARO's negatives are known to be recognisable
without the image: swapped captions are often implausible and shuffled captions ungrammatical (Lin et al. 2023,
arXiv:2306.01879). The order sets are measured on the shuffles of the first seed, and each set on a random sample of its
rows. If params.yaml names an endpoint, a chat model is measured as well, on all rows
(evaluators/validity/chat_reader.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.text_only.baselines import RetrievalSets
from compeval.evaluators.validity import chat_reader
from compeval.evaluators.validity.text_only import measure_all, read, render_page, sample
from compeval.generators.llm.client import Cache, ask_all, make_client
from compeval.loaders.datasets.stats import read_stats, split_name
from compeval.loaders.papers.figures import figures

SPLITS = ("test", "test.s0")


def read_config(folder: Path, config: str) -> RetrievalSets:
    """Return the distinct rows of a config. Of an order set, only the split of the first seed is read."""
    return read(
        path for path in sorted((folder / config).glob("*.parquet")) if split_name(path) in SPLITS
    )


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Measure the sets that are built. With --ask, only send requests to the chat model and cache its answers."""
    settings = read_params("text_only_aro")
    endpoint = chat_reader.read_endpoint(settings["chat"]) if settings["chat"] else None
    sets_by_config = {
        config: sets
        for config in figures("aro")["options"]
        if len(sets := read_config(Path("aro"), config))
    }
    if ask_model:
        if endpoint is None:
            raise ValueError(
                "params.yaml, text_only_aro.chat: no endpoint. Set an endpoint to ask a chat model."
            )
        requests = [
            item
            for config, sets in sets_by_config.items()
            for item in chat_reader.build_requests(config, sets)
        ]
        client = make_client(endpoint, Path("sample/llm"))
        outcomes = ask_all(client, requests, chat_reader.MAX_ANSWER_TOKENS, max_cost)
        for outcome, count in sorted(outcomes.items()):
            print(f"{count:,} {outcome}")
        return
    cache, output = Cache([Path("data/llm")]), Path("text_only_aro.json")
    version = {"version": read_stats(Path("aro"))["version"]}
    samples = {config: sample(sets, settings["rows"]) for config, sets in sets_by_config.items()}
    results = {
        config: version
        | measured
        | {
            "chat": chat_reader.measure(config, sets_by_config[config], endpoint, cache)
            if endpoint
            else None
        }
        for config, measured in measure_all(samples, read_params("text_only")["model"]).items()
    }
    write_json(output, results)
    output.with_suffix(".md").write_text(render_page("ARO", output, results), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
