"""Table 6 of the ARO paper for models of several seeds: means, standard deviations and paired differences.

    python -m experiments.negclip.table6  # writes experiments/negclip/{table6.json,README.md}

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), Table 6. VG-Relation and VG-Attribution are macro accuracies; the
caption order tasks (PRC) are accuracies over all perturbation seeds; classification is top-1 accuracy, and retrieval is
recall@1. As in the paper, categories with few rows do not count in a macro accuracy
(evaluators/metrics/macro_views.py), unless all have few rows. Difference from the paper: zero-shot classification of
the small world's nouns replaces CIFAR and ImageNet.

Differences between models are paired by seed and row. Their 95 % confidence intervals resample images; an image is
drawn with all its rows and seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.storage import parquet
from compeval.evaluators.metrics.macro_views import select_frequent
from compeval.evaluators.metrics.statistics import (
    bootstrap_group_means,
    bootstrap_interval,
    compute_interval,
)
from compeval.evaluators.results.compose import get_clusters
from compeval.evaluators.results.paired import get_query_values
from compeval.loaders.cards.card import table

PARAMS = Path("experiments/params.yaml")
RUNS = Path("checkpoints/negclip")
OUTPUT = Path("experiments/negclip")
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
"""Row of the table -> task (with all variants), metric, and category over which accuracy is averaged."""
PAIRS = (("clip", "negclip"), ("clip-ft", "negclip"), ("clip", "clip-ft"))
"""Pairs of compared models; a difference is the second minus the first."""


DEVIATIONS = """\
Deviations from the paper: the images and captions are those of the small world, not COCO's; CLIP is trained
from scratch on the same captions (paper: OpenAI's ViT-B/32); batches of 32, 4 epochs and one learning rate
(1,024, 5 epochs, the best of three); the negatives are those of `rules: ours`; a tie counts as wrong; the small
world's nouns replace CIFAR and ImageNet. `experiments/negclip/real_table6.py` makes the table for models that
were trained and evaluated on real images."""


class Hits:
    """The correct answers to the Q queries of a table row, for every seed and model.

    ``hit_Q`` maps (seed, model) to bool (Q,). ``image_Q`` and ``category_Q`` are the image and category of each query.
    ``is_averaged_G`` is True for the categories, sorted by name, that count in the macro accuracy.
    """

    def __init__(self, regime: str, seeds: Sequence[int], row: str) -> None:
        self.task, metric, self.by = ROWS[row]
        direction = metric.split("_")[0] if "_" in metric else ""
        self.hit_Q = {
            (seed, model): self._read(regime, seed, model, direction)
            for seed in seeds
            for model in MODELS
        }

    def _read(self, regime: str, seed: int, model: str, direction: str) -> np.ndarray:
        folder = _find_results(regime, seed, model)
        hits = []
        images = []
        categories = []
        for path in sorted(
            [folder / f"{self.task}.parquet", *folder.glob(f"{self.task}@*.parquet")]
        ):
            if not path.is_file():
                continue
            examples = parquet.read_table(path)
            rank_Q, row_Q = get_query_values(examples, f"{direction}_rank" if direction else "rank")
            hits.append(rank_Q == 1)
            images.append(get_clusters(examples)[row_Q])
            if self.by:
                categories += [
                    next(item["name"] for item in row if item["by"] == self.by)
                    for row in examples["categories"].to_pylist()
                ]
        if not hits:
            raise FileNotFoundError(
                f"{folder / self.task}.json: not found. Run `dvc repro experiments/dvc.yaml`."
            )
        self.image_Q = np.concatenate(images)
        self.category_Q = np.array(categories)
        names, counts = np.unique(self.category_Q, return_counts=True)
        rows = dict(zip(names.tolist(), counts.tolist(), strict=True))
        frequent = select_frequent(self.by, rows) if self.by else []
        self.is_averaged_G = (
            np.isin(names, frequent) if frequent else np.ones(len(names), dtype=bool)
        )
        return np.concatenate(hits)

    def score(self, seed: int, model: str) -> float:
        """Return the accuracy, averaged over categories if the row has categories."""
        return self._mean(self.hit_Q[seed, model].astype(float))

    def difference(
        self, first: str, second: str, seeds: Sequence[int]
    ) -> tuple[float, tuple[float, float]]:
        """Return the mean over seeds of the second model's accuracy minus the first's, and its confidence interval."""
        differences = [
            self.hit_Q[seed, second].astype(float) - self.hit_Q[seed, first] for seed in seeds
        ]
        difference_Q = np.mean(differences, axis=0)
        if not self.by:
            return float(difference_Q.mean()), bootstrap_interval(difference_Q, self.image_Q)
        resampled_RG = bootstrap_group_means(difference_Q, self.category_Q, self.image_Q)
        return self._mean(difference_Q), compute_interval(
            resampled_RG[:, self.is_averaged_G].mean(axis=1)
        )

    def _mean(self, value_Q: np.ndarray) -> float:
        if not self.by:
            return float(value_Q.mean())
        names = np.unique(self.category_Q)[self.is_averaged_G]
        return float(np.mean([value_Q[self.category_Q == name].mean() for name in names]))


def _find_results(regime: str, seed: int, model: str) -> Path:
    """Return the folder of one model's results."""
    folders = list((RUNS / f"{regime}-s{seed}" / "results").glob(f"*/{model}"))
    if len(folders) != 1:
        raise FileNotFoundError(
            f"{RUNS / f'{regime}-s{seed}' / 'results'}: no results of {model}. Run `dvc repro experiments/dvc.yaml`."
        )
    return folders[0]


def measure(regime: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Return row -> scores (model -> one score per seed) and differences (mean, lower and upper bound per pair)."""
    rows: dict[str, Any] = {}
    for row in ROWS:
        hits = Hits(regime, seeds, row)
        scores = {model: [round(hits.score(seed, model), 4) for seed in seeds] for model in MODELS}
        differences = {}
        for first, second in PAIRS:
            mean, bounds = hits.difference(first, second, seeds)
            differences[f"{second} - {first}"] = [round(value, 4) for value in (mean, *bounds)]
        rows[row] = {"scores": scores, "differences": differences}
    return rows


def make_table_rows(rows: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the cells of each row of the Markdown table, in percent."""
    for row, entry in rows.items():
        scores = (
            f"{100 * np.mean(entry['scores'][model]):.1f} ± {100 * np.std(entry['scores'][model], ddof=1):.1f}"
            for model in MODELS
        )
        differences = (
            "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in difference))
            for difference in list(entry["differences"].values())[:2]
        )
        yield [row, *scores, *differences]


def make_page(
    rows_by_regime: dict[str, dict[str, Any]], corpora: dict[str, Any], seeds: Sequence[int]
) -> str:
    """Return the experiment's README.md with one table per regime."""
    header = ("percent", *MODELS.values(), "NegCLIP - CLIP", "NegCLIP - CLIP-FT")
    parts = [
        f"# CLIP, CLIP-FT and NegCLIP on a small micro-world, {len(seeds)} seeds",
        "The rows are those of Table 6 of Yuksekgonul et al. 2023. The columns are mean and standard deviation over "
        "seeds, and differences with 95 % confidence intervals, paired by seed and row; the intervals resample images. "
        "VG-Relation and VG-Attribution are macro means. The images are synthetic, with two objects each "
        "(experiments/negclip/small_world.py), so the numbers cannot be compared with published numbers. Written by "
        "`dvc repro experiments/dvc.yaml:negclip`.",
        DEVIATIONS,
    ]
    for regime, rows in rows_by_regime.items():
        rivals = ", ".join(
            f"{share:.1%} {name}" for name, share in corpora[regime].items() if name != "pairs"
        )
        parts.append(f"## Regime `{regime}`")
        parts.append(f"Of the captions with two objects: {rivals} (same nouns and attributes).")
        parts.append(table(header, list(make_table_rows(rows))).rstrip())
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write table6.json and README.md from the results of all regimes and seeds."""
    settings = read_params("negclip", PARAMS)
    corpora = json.loads(Path("sources/negclip/stats.json").read_text(encoding="utf-8"))
    rows_by_regime = {regime: measure(regime, settings["seeds"]) for regime in settings["regimes"]}
    write_json(OUTPUT / "table6.json", rows_by_regime)
    (OUTPUT / "README.md").write_text(
        make_page(rows_by_regime, corpora, settings["seeds"]), encoding="utf-8"
    )


if __name__ == "__main__":
    stage.run(main)
