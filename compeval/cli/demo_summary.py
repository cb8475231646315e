"""Print the results of a demo as a table of a few lines.

    python -m compeval.cli.demo_summary build/demo/results demo

Used by ``compeval demo`` and ``make demo``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compeval.base.pipeline import stage
from compeval.cli.console import format_interval, out, print_table
from compeval.cli.results import get_recall, measure_baselines
from compeval.evaluators.report.headlines import find_standing
from compeval.evaluators.results.documents import Result

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


def print_summary(results: Sequence[Result], data: Path) -> None:
    """Print a line of at most 80 characters for each result on a task of NEGATIVES, and how they stand to chance.

    The columns are those of ``compeval run``. ``data``: folder of the dataset.
    """
    by_task = {result["task"].removeprefix("crepe/"): result for result in results}
    baselines = measure_baselines(results, data)
    rows: list[tuple[str, ...]] = []
    standings: list[str] = []
    for task, description in NEGATIVES.items():
        if result := by_task.get(task):
            interval = result["intervals"][METRIC]
            chance = result["chance"][METRIC]
            baseline = get_recall(baselines.get(result["task"]), METRIC)
            rows.append(
                (
                    description,
                    f"{result['data']['rows']:,}",
                    f"{100 * result['metrics'][METRIC]:.1f}",
                    format_interval(interval),
                    f"{100 * chance:.1f}",
                    "-" if baseline is None else f"{100 * baseline:.1f}",
                )
            )
            standings.append(find_standing(interval, chance, baseline, result["data"]["rows"]))
    header = ("hard negatives", "rows", "%", "95 % interval", "chance", "text-only")
    out.print("How often the model chooses the true caption:", highlight=False)
    print_table(header, rows, left=1, box=None, padding=(0, 2, 0, 0))
    out.print(describe_standings(standings), highlight=False)
    out.print(
        "Drawn scenes: do not compare these numbers with numbers on photographs.", highlight=False
    )


def describe_standings(standings: Sequence[str]) -> str:
    """Return a line of at most 80 characters on how many tasks are above chance and above text-only baselines."""
    above = [standing for standing in standings if standing in ("above", "solved", "unmeasured")]
    return (
        f"{len(above)} of {len(standings)} above chance, {above.count('above')} above the best text-only "
        "baseline, which sees no image."
    )


def main(folder: Path, data: Path) -> None:
    from compeval.evaluators.results import documents

    print_summary([documents.read(path) for path in documents.list_documents(folder)], data)


if __name__ == "__main__":
    stage.run(main)
