"""Print the results of a demo as a table of a few lines.

    python -m compeval.demo.summary build/demo/results

Used by ``compeval demo`` and ``make demo``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from compeval.cli.console import out, table
from generators.storage import stage

QUESTIONS = {
    "laion_sc_hnatom": "one word replaced; compounds of the training captions",
    "laion_uc_hnatom": "one word replaced; compounds that training never had",
    "prod_hnatom/n4": "one word replaced; captions of 4 atoms",
    "prod_hnatom/n6": "one word replaced; captions of 6 atoms",
    "prod_hnatom/n12": "one word replaced; captions of 12 atoms",
    "prod_hnswap/n6": "two words exchanged; captions of 6 atoms",
    "prod_hnswap/n12": "two words exchanged; captions of 12 atoms",
    "prod_hnneg/n4": "one part negated; captions of 4 atoms",
    "prod_hnneg/n6": "one part negated; captions of 6 atoms",
    "prod_hnneg/n12": "one part negated; captions of 12 atoms",
}
"""What the hard negatives of a task differ in."""
METRIC = "recall@1"


def compare_with_chance(result: dict[str, Any]) -> str:
    """Return ``above``, ``below`` or ``same``: whether the 95 % interval excludes chance, and on which side."""
    low, high = result["intervals"][METRIC]
    chance = result["chance"][METRIC]
    return "above" if low > chance else "below" if high < chance else "same"


def print_summary(results: Iterable[dict[str, Any]]) -> None:
    """Print a line for each result on a task of QUESTIONS, and how many of them are above chance."""
    by_task = {result["task"].removeprefix("crepe/"): result for result in results}
    shown = table("Which caption is true? The others have", "rows", "correct", "95 % interval", "chance", "vs. chance")
    listed = [(question, by_task[task]) for task, question in QUESTIONS.items() if task in by_task]
    for question, result in listed:
        low, high = result["intervals"][METRIC]
        shown.add_row(
            question,
            f"{result['data']['rows']:,}",
            f"{result['metrics'][METRIC]:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{result['chance'][METRIC]:.1%}",
            compare_with_chance(result),
        )
    out.print(shown)
    verdicts = [compare_with_chance(result) for _, result in listed]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("above", "same", "below"))
    out.print(f"Against chance: {counts}. Drawn scenes: not comparable with numbers on photographs.", highlight=False)


def main(folder: Path) -> None:
    from evaluators.results import documents

    print_summary(map(documents.read, documents.list_documents(folder)))


if __name__ == "__main__":
    stage.run(main)
