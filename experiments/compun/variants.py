"""Compun for tiny CLIPs that have, and have not, seen the compounds: Table 1's rows side by side.

    python -m experiments.compun.variants        # after the stages compun_models of experiments/dvc.yaml

Reads experiments/compun/results/, writes experiments/compun/{results.json,README.md}. The models differ in their corpus
(experiments/compun/corpora.py) and their seeds alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluators.report.read import Result, read_results
from evaluators.report.sections import compun
from evaluators.report.tables import to_markdown
from generators.storage import stage

FOLDER = Path("experiments/compun")
METRICS = ("recall@1", "all_recall@1", "margin_of_correct", "similarity_of_correct")


def numbers(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Model -> kind of prompt -> metrics, with chance and version of the data."""
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        data = result.data
        told = {name: round(data["metrics"][name], 4) for name in METRICS if name in data["metrics"]}
        chance = {name: round(data["chance"][name], 4) for name in METRICS if name in data["chance"]}
        told |= {"rows": data["data"]["rows"], "chance": chance, "data": data["data"]["fingerprint"]}
        found.setdefault(data["model"]["name"], {})[data["variant"] or compun.TEMPLATE] = told
    return found


def page(results: Sequence[Result]) -> str:
    """The Markdown page. ValueError where no result is of Compun."""
    section = compun.section(results)
    if section is None:
        raise ValueError(f"{FOLDER}/results: no result of Compun. Run `dvc repro experiments/dvc.yaml`.")
    tables = "\n".join(map(to_markdown, section.tables))
    return f"""# Compounds that a model has seen, and compounds that it has not

Micro-world (a synthetic stand-in: compare these numbers with each other alone). Two caption corpora have the same
scenes; in half of them the first thing is a drawn compound of Compun in the corpus `compounds`, and one of its
constituents in the corpus `constituents`. A tiny CLIP is trained on each and asked for the compound's
picture among those of its constituents. Made by `dvc repro experiments/dvc.yaml`.

{section.text}

{tables}"""


def main() -> None:
    results = read_results([FOLDER / "results"])
    stage.write_json(FOLDER / "results.json", numbers(results))
    (FOLDER / "README.md").write_text(page(results))


if __name__ == "__main__":
    stage.run(main)
