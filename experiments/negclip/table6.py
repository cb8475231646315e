"""Table 6 of the ARO paper over models of several seeds: means, standard deviations and paired differences.

    python -m experiments.negclip.table6  # writes experiments/negclip/{table6.json,README.md}

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), Table 6: macro accuracy for VG-Relation and VG-Attribution, the
share of right captions for the order sets (mean over their seeds), top-1 for classification, recall@1 for retrieval.
Differs in the downstream rows: zero-shot classification of the small world's nouns replaces CIFAR and ImageNet.

Differences are paired by seed and row; their 95 % intervals resample images with all their rows and seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.metrics.statistics import bootstrap_group_means, bootstrap_interval, compute_interval
from evaluators.results.compare import get_query_values
from evaluators.results.compose import get_clusters
from generators.storage import parquet, stage
from generators.storage.atomic import write_json
from generators.storage.params import read_params
from loaders.cards.card import table

PARAMS = Path("experiments/params.yaml")
RUNS, OUTPUT = Path("checkpoints/negclip"), Path("experiments/negclip")
MODELS = {"clip": "CLIP", "clip-ft": "CLIP-FT", "negclip": "NegCLIP"}
ROWS: dict[str, tuple[str, str, str | None]] = {
    "VG-Relation": ("aro/vg_relation", "recall@1", "relation"),
    "VG-Attribution": ("aro/vg_attribution", "recall@1", "attribute pair"),
    "Flickr30k-PRC": ("aro/flickr30k_order", "recall@1", None),
    "COCO-PRC": ("aro/coco_order", "recall@1", None),
    "Nouns (zero-shot)": ("classification/microworld", "top1", None),
    "Flickr30k Image R@1": ("retrieval/flickr30k", "t2i_recall@1", None),
    "Flickr30k Text R@1": ("retrieval/flickr30k", "i2t_recall@1", None),
    "COCO Image R@1": ("retrieval/coco", "t2i_recall@1", None),
    "COCO Text R@1": ("retrieval/coco", "i2t_recall@1", None),
}
"""Row -> task (with all variants), metric, and the category of macro accuracy."""
PAIRS = (("clip", "negclip"), ("clip-ft", "negclip"), ("clip", "clip-ft"))
"""Compared models: the second minus the first."""


class Hits:
    """Hits, bool (Q,), of the Q queries of a table row by seed and model, with the image and category of each query."""

    def __init__(self, regime: str, seeds: Sequence[int], row: str) -> None:
        self.task, metric, self.by = ROWS[row]
        way = metric.split("_")[0] if "_" in metric else ""
        self.hit_Q = {(seed, model): self._read(regime, seed, model, way) for seed in seeds for model in MODELS}

    def _read(self, regime: str, seed: int, model: str, way: str) -> np.ndarray:
        folder = _results_of(regime, seed, model)
        hits, images, names = [], [], []
        for path in sorted([folder / f"{self.task}.parquet", *folder.glob(f"{self.task}@*.parquet")]):
            if not path.is_file():
                continue
            examples = parquet.read_table(path)
            rank_Q, row_Q = get_query_values(examples, f"{way}_rank" if way else "rank")
            hits.append(rank_Q == 1)
            images.append(get_clusters(examples)[row_Q])
            if self.by:
                names += [
                    next(item["name"] for item in row if item["by"] == self.by)
                    for row in examples["categories"].to_pylist()
                ]
        if not hits:
            raise FileNotFoundError(f"{folder / self.task}.json: not found. Run `dvc repro experiments/dvc.yaml`.")
        self.image_Q, self.category_Q = np.concatenate(images), np.array(names)
        return np.concatenate(hits)

    def score(self, seed: int, model: str) -> float:
        """Return accuracy, macro over the row's categories if it has any."""
        return self._mean(self.hit_Q[seed, model].astype(float))

    def difference(self, first: str, second: str, seeds: Sequence[int]) -> tuple[float, tuple[float, float]]:
        """Return second minus first, averaged over seeds, and its confidence interval."""
        paired = [self.hit_Q[seed, second].astype(float) - self.hit_Q[seed, first] for seed in seeds]
        difference_Q = np.mean(paired, axis=0)
        if not self.by:
            return float(difference_Q.mean()), bootstrap_interval(difference_Q, self.image_Q)
        resampled_RG = bootstrap_group_means(difference_Q, self.category_Q, self.image_Q)
        return self._mean(difference_Q), compute_interval(resampled_RG.mean(axis=1))

    def _mean(self, value_Q: np.ndarray) -> float:
        if not self.by:
            return float(value_Q.mean())
        return float(np.mean([value_Q[self.category_Q == name].mean() for name in np.unique(self.category_Q)]))


def _results_of(regime: str, seed: int, model: str) -> Path:
    """Return the folder of one model's results."""
    folders = list((RUNS / f"{regime}-s{seed}" / "results").glob(f"*/*-{regime}-s{seed}-{model}"))
    if len(folders) != 1:
        raise FileNotFoundError(
            f"{RUNS / f'{regime}-s{seed}' / 'results'}: no results of {model}. Run `dvc repro experiments/dvc.yaml`."
        )
    return folders[0]


def measure(regime: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Return for each row the scores of each model by seed, and the differences of PAIRS with intervals."""
    measured: dict[str, Any] = {}
    for row in ROWS:
        hits = Hits(regime, seeds, row)
        scores = {model: [round(hits.score(seed, model), 4) for seed in seeds] for model in MODELS}
        differences = {}
        for first, second in PAIRS:
            mean, bounds = hits.difference(first, second, seeds)
            differences[f"{second} - {first}"] = [round(value, 4) for value in (mean, *bounds)]
        measured[row] = {"scores": scores, "differences": differences}
    return measured


def make_table_rows(measured: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of the Markdown table, in percent."""
    for row, entry in measured.items():
        scores = (
            f"{100 * np.mean(entry['scores'][model]):.1f} ± {100 * np.std(entry['scores'][model], ddof=1):.1f}"
            for model in MODELS
        )
        differences = (
            "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in difference))
            for difference in list(entry["differences"].values())[:2]
        )
        yield [row, *scores, *differences]


def make_page(measured: dict[str, dict[str, Any]], corpora: dict[str, Any], seeds: Sequence[int]) -> str:
    """Return the experiment's README.md with one table per regime."""
    header = ("percent", *MODELS.values(), "NegCLIP - CLIP", "NegCLIP - CLIP-FT")
    parts = [
        f"# CLIP, CLIP-FT and NegCLIP on a small micro-world, {len(seeds)} seeds",
        "In the shape of Table 6 of Yuksekgonul et al. 2023: mean and standard deviation over seeds; differences with "
        "95 % intervals, paired by seed and row, resampling images. VG-Relation and VG-Attribution are macro means. "
        "The world has two large objects per image (experiments/negclip/small_world.py); its sets are mined as the "
        "whole world's are. Synthetic stand-in: not to be compared with published numbers. Made by `dvc repro "
        "experiments/dvc.yaml:negclip`.",
    ]
    for regime, rows in measured.items():
        rivals = ", ".join(f"{share:.1%} {what}" for what, share in corpora[regime].items() if what != "pairs")
        parts.append(f"## Regime `{regime}`")
        parts.append(f"Of the captions with two objects: {rivals} (same nouns and attributes).")
        parts.append(table(header, list(make_table_rows(rows))).rstrip())
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Read the results of all regimes and seeds, and write the tables."""
    settings = read_params("negclip", PARAMS)
    corpora = json.loads(Path("sources/negclip/stats.json").read_text())
    measured = {regime: measure(regime, settings["seeds"]) for regime in settings["regimes"]}
    write_json(OUTPUT / "table6.json", measured)
    (OUTPUT / "README.md").write_text(make_page(measured, corpora, settings["seeds"]))


if __name__ == "__main__":
    stage.run(main)
