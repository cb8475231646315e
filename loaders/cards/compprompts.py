"""Compare the number of CompPrompts rows with the declared prompt types, and write the card.

    python -m loaders.cards.compprompts        # after generators.compprompts

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 2.1, Tables 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from generators.pipeline import stage
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure
from loaders.papers.prompt_types import PROMPT_TYPES, TOTAL_PROMPTS

METADATA = {
    "pretty_name": "CompPrompts",
    "license": "cc0-1.0",
    "language": ["en"],
    "task_categories": ["feature-extraction"],
    "tags": ["compositionality", "vision-language", "probing"],
    "size_categories": ["10K<n<100K"],
}


def list_wrong_counts(rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a message for each config whose number of rows differs from the declared number."""
    for config, declared in PROMPT_TYPES.items():
        actual = sum(rows.get(config, {}).values())
        if actual != declared.num_prompts:
            yield f"{config}: {actual:,} rows, {declared.num_prompts:,} expected"


def main(folder: Path = Path("compprompts")) -> None:
    """Check FOLDER and write its card. Raises ValueError if a config does not have the declared number of rows."""
    stats: Stats = measure(folder) | {"source": "compprompts"}
    if wrong := list(list_wrong_counts(stats["rows"])):
        raise ValueError(
            f"{folder}: {'; '.join(wrong)} (loaders/papers/prompt_types.csv). Run `dvc repro compprompts`."
        )
    added = {config: splits["test"] for config, splits in stats["rows"].items() if config not in PROMPT_TYPES}
    text = render("compprompts", stats=stats, total=TOTAL_PROMPTS, prompt_types=PROMPT_TYPES, added=added)
    write_card(folder, METADATA, text, stats)


if __name__ == "__main__":
    stage.run(main)
