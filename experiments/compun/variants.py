"""Compun for tiny CLIPs with and without the compounds in their training data: Table 1's rows.

    python -m experiments.compun.variants        # after the stages compun_models of experiments/dvc.yaml

Reads experiments/compun/results/, writes experiments/compun/{results.json,README.md}. The models differ only
in their corpus (corpora.py) and seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluators.report.results import Results, read_results
from evaluators.report.sections import compun
from evaluators.report.tables import to_markdown
from generators.storage import stage
from generators.storage.atomic import write_json

FOLDER = Path("experiments/compun")
METRICS = ("recall@1", "all_recall@1", "margin_of_correct", "similarity_of_correct")


def collect_numbers(results: Results) -> dict[str, dict[str, Any]]:
    """Return model -> kind of prompt -> metrics, with chance and data version."""
    by_model: dict[str, dict[str, Any]] = {}
    for result in results:
        data = result.data
        metrics = {name: round(data["metrics"][name], 4) for name in METRICS if name in data["metrics"]}
        chance = {name: round(data["chance"][name], 4) for name in METRICS if name in data["chance"]}
        metrics |= {"rows": data["data"]["rows"], "chance": chance, "data": data["data"]["fingerprint"]}
        by_model.setdefault(data["model"]["name"], {})[data["variant"] or compun.TEMPLATE] = metrics
    return by_model


def make_page(results: Results) -> str:
    """Return the Markdown page. Raises ValueError without a result on Compun."""
    section = compun.make_section(results)
    if section is None:
        raise ValueError(f"{FOLDER}/results: no result on Compun. Run `dvc repro experiments/dvc.yaml`.")
    tables = "\n".join(map(to_markdown, section.tables))
    return f"""# Compounds that a model has seen, and compounds that it has not

Micro-world (a synthetic stand-in: compare these numbers only with each other). Two caption corpora have the same
scenes; in half of them the first object is a drawn compound of Compun in the corpus `compounds`, and one of its
constituents in the corpus `constituents`. A tiny CLIP is trained on each and has to choose the
compound's image among those of its constituents. Made by `dvc repro experiments/dvc.yaml`.

{section.text}

{tables}"""


def main() -> None:
    results = read_results([FOLDER / "results"])
    write_json(FOLDER / "results.json", collect_numbers(results))
    (FOLDER / "README.md").write_text(make_page(results))


if __name__ == "__main__":
    stage.run(main)
