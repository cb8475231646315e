"""Table 6 of the ARO paper for CLIP, CLIP-FT and NegCLIP on real images, next to the published numbers.

    python -m experiments.negclip.real_table6 --clip ViT-B-32-quickgelu/openai --clip-ft clip-ft --negclip negclip

The names are those of the results in ``--results``. `compeval train clip-ft` and `compeval train negclip`, each with
`--preset paper` on COCO's training split, write the models. `compeval run` evaluates all three on ARO (published, or
built from GQA), on retrieval/coco and retrieval/flickr30k and, for the last rows, on
classification/{cifar10,cifar100,imagenet}, which are built from your copies (params.yaml, classification.own_copies).

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), Table 6. Order sets: mean over the seeds. Differences from the
paper: a tie counts as wrong; its numbers on CIFAR and ImageNet, which look like linear probes, are not shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from compeval.base.pipeline import stage
from compeval.evaluators.models import slug
from compeval.evaluators.results.scores import read_csv
from compeval.loaders.cards.card import table
from experiments.negclip.table6 import MODELS

TABLE = "ARO, Table 6"
CLASSIFICATION = [
    (f"classification/{name}", "top1") for name in ("cifar10", "cifar100", "imagenet")
]
Scores = dict[tuple[str, str], list[float]]
"""Task and metric -> the published percentages, in the order of MODELS."""


def read_published() -> Scores:
    """Return the published scores of Table 6, and no scores for the tasks of CLASSIFICATION."""
    scores: Scores = {}
    for row in read_csv("papers"):
        if row["source"] == TABLE:
            scores.setdefault((row["task"], row["metric"]), []).append(row["percent"])
    return scores | {key: [] for key in CLASSIFICATION}


def read_score(results: Path, model: str, task: str, metric: str) -> float | None:
    """Return the mean score over the seeds of a task, in percent, or None if there is no result.

    The set that was built is read if there is no result on the published one.
    """
    for name in dict.fromkeys((task, task.replace("aro_published/", "aro/"))):
        paths = {
            *results.glob(f"*/{slug(model)}/{name}.json"),
            *results.glob(f"*/{slug(model)}/{name}@s*.json"),
        }
        if paths:
            return mean(
                100 * json.loads(path.read_text(encoding="utf-8"))["metrics"][metric]
                for path in sorted(paths)
            )
    return None


def make_rows(results: Path, names: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the cells of the rows that a model has a result of. Published numbers are in brackets."""
    for (task, metric), published in read_published().items():
        scores = [read_score(results, names[model], task, metric) for model in MODELS]
        if any(score is not None for score in scores):
            suffixes = [f" ({percent:.0f})" for percent in published] or [""] * len(MODELS)
            cells = ("-" if score is None else f"{score:.1f}" for score in scores)
            yield [
                task,
                metric,
                *(cell + number for cell, number in zip(cells, suffixes, strict=True)),
            ]


Name = Annotated[str, typer.Option(help="Name of an evaluated model.")]


def main(
    clip: Name,
    clip_ft: Name,
    negclip: Name,
    results: Path = Path("results"),
    output: Path = Path("table6.md"),
) -> None:
    """Write the table of three evaluated models to OUTPUT. Raises ValueError if no model has a result."""
    rows = list(make_rows(results, {"clip": clip, "clip-ft": clip_ft, "negclip": negclip}))
    if not rows:
        raise ValueError(
            f"{results}: no result of {clip}, {clip_ft} or {negclip} on a task of Table 6."
        )
    head = ["task", "metric", *(f"{title} (paper)" for title in MODELS.values())]
    output.write_text(
        f"# Table 6 of the ARO paper, in percent\n\n{table(head, rows)}", encoding="utf-8"
    )


if __name__ == "__main__":
    stage.run(main)
