"""Compare tiny CLIP models on Compun, trained with and without the compounds (Table 1 of the paper).

    python -m experiments.compun.variants        # after the stages compun_models of experiments/dvc.yaml

Reads experiments/compun/results/ and writes experiments/compun/{results.json,README.md}. The models differ only in
their training corpus (corpora.py) and seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.evaluators.report.results import Results, read_results
from compeval.evaluators.report.sections import compun
from compeval.evaluators.report.tables import to_markdown

FOLDER = Path("experiments/compun")
METRICS = ("recall@1", "all_recall@1", "margin_of_correct", "similarity_of_correct")


def collect_numbers(results: Results) -> dict[str, dict[str, Any]]:
    """Return model -> kind of prompt -> metrics, chance, number of rows and version of the data."""
    by_model: dict[str, dict[str, Any]] = {}
    for result in results:
        record = result.data
        numbers = {
            name: round(record["metrics"][name], 4) for name in METRICS if name in record["metrics"]
        }
        chance = {
            name: round(record["chance"][name], 4) for name in METRICS if name in record["chance"]
        }
        numbers |= {
            "rows": record["data"]["rows"],
            "chance": chance,
            "data": record["data"]["fingerprint"],
        }
        by_model.setdefault(record["model"]["name"], {})[record["variant"] or compun.TEMPLATE] = (
            numbers
        )
    return by_model


def make_page(results: Results) -> str:
    """Return the Markdown page. Raises ValueError if there are no results on Compun."""
    section = compun.make_section(results)
    if section is None:
        raise ValueError(
            f"{FOLDER}/results: no results on Compun. Run `dvc repro experiments/dvc.yaml`."
        )
    tables = "\n".join(map(to_markdown, section.tables))
    return f"""# Compounds that a model has seen, and compounds that it has not

The images are from the synthetic micro-world; compare these numbers only with each other. Two caption corpora have the
same scenes. In half of the scenes, the first object is a drawn compound of Compun in the corpus `compounds`, and one of
its constituents in the corpus `constituents`. A tiny CLIP model is trained on each corpus and chooses the compound's
image among the images of the compound and its constituents. Written by `dvc repro experiments/dvc.yaml`.

Deviations from the paper: drawn images of a part of the 400 compounds, and a tiny CLIP model of our own instead of
published ones; the captions are written by a grammar and the descriptors are our own (`rules: ours`);
accuracies instead of error counts; a tie counts as wrong; no MTurk study. With `compun.images` and
`compun.captioner` in `params.yaml`, `dvc repro compun` builds the sets from the authors' pictures, and
`compeval run --task 'compun/*'` evaluates published models (Tables 1 and 2); Table 3 without descriptors
is `classification/imagenet` with `classification.own_copies` and `classification.captioner`, after `compeval examples
--ask`.

{section.text}

{tables}"""


def main() -> None:
    """Write results.json and README.md."""
    results = read_results([FOLDER / "results"])
    write_json(FOLDER / "results.json", collect_numbers(results))
    (FOLDER / "README.md").write_text(make_page(results), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
