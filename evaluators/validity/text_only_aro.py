"""Measure how often text-only baselines select the true caption of ARO's four sets (stage ``text_only_aro``).

    python -m compeval.evaluators.validity.text_only_aro  # writes text_only_aro.json and text_only_aro.md
    # caches a chat model's answers in sample/llm/
    python -m compeval.evaluators.validity.text_only_aro --ask --max-cost 1
    # the released files, without images: writes text_only_aro_published.json and .md
    python -m compeval.evaluators.validity.text_only_aro visual_genome_relation.json coco_karpathy_test.json

Baselines and metrics are described in evaluators/validity/text_only.py. ARO's negatives are known to be recognisable
without the image: swapped captions are often implausible and shuffled captions ungrammatical (Lin et al. 2023,
arXiv:2306.01879). The order sets are measured on the shuffles of the first seed, and each set on a random sample of its
rows. If params.yaml names an endpoint, a chat model is measured as well, on all rows
(evaluators/validity/chat_reader.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from compeval.base.files.atomic import write_json
from compeval.base.files.hashes import hash_file
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.text_only.baselines import RetrievalSets
from compeval.evaluators.validity import chat_reader
from compeval.evaluators.validity.text_only import measure_all, read, render_page, sample
from compeval.generators.llm.client import Cache, ask_all, check_key, make_client
from compeval.loaders.datasets.stats import read_stats, split_name
from compeval.loaders.papers.figures import figures
from compeval.loaders.published import Row

SPLITS = ("test", "test.s0")
DECLARATIONS = "compeval.loaders.benchmarks"
"""Imported only for released files, so that the stage does not depend on the readers of all benchmarks."""


def read_config(folder: Path, config: str) -> RetrievalSets:
    """Return the distinct rows of a config. Of an order set, only the split of the first seed is read."""
    return read(
        path for path in sorted((folder / config).glob("*.parquet")) if split_name(path) in SPLITS
    )


def read_released(files: Sequence[Path]) -> dict[str, RetrievalSets]:
    """Return config -> distinct rows of released files, which are recognised by their names.

    The order sets are drawn with the first seed, as ``compeval get aro_published`` does. Raises ValueError for an
    unknown file.
    """
    benchmark = import_module(DECLARATIONS).load("aro_published")
    rows: dict[str, dict[tuple[str, ...], str]] = {}
    for file in files:
        name = benchmark.find_pattern(PurePosixPath(file.name))
        if name is None or name.endswith(".tsv"):
            raise ValueError(
                f"{file}: expected visual_genome_relation.json, visual_genome_attribution.json, "
                "coco_karpathy_test.json or flickr30k_test.json."
            )
        for row in benchmark.read(file, file.name):
            if isinstance(row, Row) and row.split == "test":
                key = (*row.captions, *row.hard_negatives, *row.images)
                rows.setdefault(row.config, {})[key] = row.images[0]
    return {
        config: RetrievalSets([key[:-1] for key in of_config], list(of_config.values()))
        for config, of_config in rows.items()
    }


def main(
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    ask_model: Annotated[bool, typer.Option("--ask")] = False,
    max_cost: float = 0.0,
) -> None:
    """Measure the sets that are built, or the released FILES. With --ask, only send requests to the chat model and
    cache its answers."""
    settings = read_params("text_only_aro")
    if ask_model and not settings["chat"]:
        raise ValueError(
            "params.yaml, text_only_aro.chat: no endpoint. Set an endpoint to ask a chat model."
        )
    if ask_model:
        check_key()  # before the sets are read
    endpoint = chat_reader.read_endpoint(settings["chat"]) if settings["chat"] else None
    if files:
        sets_by_config = read_released(files)
        name = "text_only_aro_published"
        version = {"files": {file.name: hash_file(file) for file in files}}
    else:
        configs = {config: read_config(Path("aro"), config) for config in figures("aro")["options"]}
        sets_by_config = {config: sets for config, sets in configs.items() if len(sets)}
        name = "text_only_aro"
        version = {"version": read_stats(Path("aro"))["version"]}
    if ask_model:
        assert endpoint is not None
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
    cache = Cache([Path("data/llm")])
    output = Path(f"{name}.json")
    samples = {config: sample(sets, settings["rows"]) for config, sets in sets_by_config.items()}
    results = {
        config: version | measured | {"chat": None}
        for config, measured in measure_all(samples, read_params("text_only")["model"]).items()
    }
    if endpoint is not None:
        for config, result in results.items():
            chat = chat_reader.measure(config, sets_by_config[config], endpoint, cache)
            if chat is not None:
                chat["published"] = figures("aro")["text_only"]["ChatGPT"][config] / 100
            result["chat"] = chat
    write_json(output, results)
    title = "ARO as published" if files else "ARO"
    output.with_suffix(".md").write_text(render_page(title, output, results), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
