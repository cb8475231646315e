"""CLIP, CLIP-FT and NegCLIP on the micro-world: training and evaluation of the experiment ``negclip``.

    python -m experiments.negclip.train bag_of_words --seed 0        # writes checkpoints/negclip/bag_of_words-s0/

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and Table 6. For each corpus (regimes.py) and seed, one
CLIP model is trained from scratch. It is then fine-tuned on the same captions with and without hard negatives, for the
same number of steps (NegCLIP and CLIP-FT). All three models are evaluated on the tasks of Table 6 with test sets of the
small world. No training caption has the template of VG-Relation's captions.
"""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.evaluators import models
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.run import EvaluationOptions, run
from compeval.trainers.clip import training as clip
from compeval.trainers.negclip import training as negclip
from compeval.trainers.negclip.finetune import Recipe

PARAMS = Path("experiments/params.yaml")
CORPORA = Path("sources/negclip")
SETS = Path("sources/negclip_sets")
FOLDER = Path("checkpoints/negclip")
MODELS = ("clip", "clip-ft", "negclip")
METHODS: tuple[negclip.Method, ...] = ("clip-ft", "negclip")
ORDER_SEEDS = range(5)
TASKS = (
    "aro/vg_relation",
    "aro/vg_attribution",
    *(f"aro/{name}_order@s{seed}" for name in ("flickr30k", "coco") for seed in ORDER_SEEDS),
    "classification/microworld",
    "retrieval/flickr30k",
    "retrieval/coco",
)
"""The tasks of Table 6."""


def train(regime: str, seed: int, folder: Path) -> None:
    """Write the checkpoints of the three models to subfolders of ``folder``."""
    settings = read_params("negclip", PARAMS)
    clip.train_checkpoint(
        regime, seed, read_params("train") | settings["train"], CORPORA, folder / "clip"
    )
    recipe = Recipe(**settings["recipe"])
    for method in METHODS:
        with tqdm(desc=method, unit="step") as bar:

            def show_progress(title: str, done: int, total: int, bar: tqdm = bar) -> None:
                bar.set_postfix_str(f"{title} {done}/{total}", refresh=False)
                bar.update()

            data = negclip.TrainingData(CORPORA / regime)
            negclip.train(
                method,
                f"local:{folder / 'clip'}",
                data,
                folder / method,
                recipe=recipe,
                seed=seed,
                report=show_progress,
            )


def evaluate(folder: Path) -> None:
    """Write the results of the three models to ``folder/results``."""
    tasks = [task for task in discover(SETS) if task.name in TASKS]
    for name in MODELS:
        run(
            models.load_model(f"local:{folder / name}"),
            tasks,
            EvaluationOptions(data_dir=SETS, output=folder / "results"),
        )


def main(regime: str, seed: int = 0) -> None:
    """Train and evaluate the three models of REGIME: default or bag_of_words."""
    folder = FOLDER / f"{regime}-s{seed}"
    train(regime, seed, folder)
    evaluate(folder)


if __name__ == "__main__":
    stage.run(main)
