"""Print the results of a demo as a table of a few lines.

    python -m compeval.cli.demo_summary build/demo/results

Used by ``compeval demo`` and ``make demo``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from compeval.base.pipeline import stage
from compeval.cli.console import out, print_table
from compeval.evaluators.report.headlines import relate

NEGATIVES = {
    "laion_sc_hnatom": "word replaced, seen compounds",
    "laion_uc_hnatom": "word replaced, unseen compounds",
    "prod_hnatom/n4": "word replaced, 4 atoms",
    "prod_hnatom/n6": "word replaced, 6 atoms",
    "prod_hnatom/n12": "word replaced, 12 atoms",
    "prod_hnswap/n6": "words swapped, 6 atoms",
    "prod_hnswap/n12": "words swapped, 12 atoms",
    "prod_hnneg/n4": "part negated, 4 atoms",
    "prod_hnneg/n6": "part negated, 6 atoms",
    "prod_hnneg/n12": "part negated, 12 atoms",
}
"""The hard negatives of a task."""
METRIC = "recall@1"


def compare_with_chance(result: dict[str, Any]) -> str:
    """Return ``above`` or ``below`` if the 95 % interval excludes chance, otherwise ``n.s.`` (not significant)."""
    return relate(result["intervals"][METRIC], result["chance"][METRIC], "n.s.")


def print_summary(results: Iterable[dict[str, Any]]) -> None:
    """Print a line of at most 80 characters for each result on a task of NEGATIVES."""
    by_task = {result["task"].removeprefix("crepe/"): result for result in results}
    rows: list[tuple[str, ...]] = []
    for task, description in NEGATIVES.items():
        if result := by_task.get(task):
            rows.append(
                (
                    description,
                    f"{result['data']['rows']:,}",
                    f"{result['metrics'][METRIC]:.1%}",
                    "{:.1%} to {:.1%}".format(*result["intervals"][METRIC]),
                    f"{compare_with_chance(result)} {result['chance'][METRIC]:.1%}",
                )
            )
    out.print("How often the model chooses the true caption:", highlight=False)
    header = ("hard negatives", "rows", "correct", "95 % interval", "vs chance")
    print_table(header, rows, box=None, padding=(0, 2, 0, 0))
    out.print(
        "Drawn scenes: do not compare these numbers with numbers on photographs.", highlight=False
    )


def main(folder: Path) -> None:
    from compeval.evaluators.results import documents

    print_summary(map(documents.read, documents.list_documents(folder)))


if __name__ == "__main__":
    stage.run(main)
