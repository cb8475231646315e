"""The blind baseline on ARO's four sets: how often do text-only scorers pick the true caption?

    python -m evaluators.blind_aro        # the `blind_aro` stage: writes blind_aro.json and blind_aro.md

The scorers of evaluators/blind.py, and by its measures. ARO's captions are known for this cue: a swapped caption is
often implausible, a shuffled one ungrammatical (Lin et al. 2023, arXiv:2306.01879). Of the order sets the shuffles of
the first seed are measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluators.blind import farthest, measure, read_files
from generators import stage
from generators.blind_scorers import Sets
from generators.params import block
from loaders.aro import OPTIONS
from loaders.cards import split_name, table

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
    return f"""# ARO without the pictures

Recall@1 of the text-only scorer that is farthest from chance, on either side; `blind_aro.json` has all of them.

{table(header, rows)}"""


def main() -> None:
    """Measure the sets that are built."""
    settings = block("blind")
    sets = {config: read(Path("aro"), config) for config in OPTIONS}
    results = {
        config: measure(config, found, settings["seed"], settings["model"])
        for config, found in sets.items()
        if len(found)
    }
    stage.write_json(Path("blind_aro.json"), results)
    Path("blind_aro.md").write_text(page(results))


if __name__ == "__main__":
    stage.run(main)
