"""Train the models of the experiment ``probe``, all on the same generated captions.

    python -m experiments.probe.train                            # the autoencoder: checkpoints/probe/autoencoder/
    python -m experiments.probe.train --encoder clip-laion-s0    # a probe: checkpoints/probe/of-clip-laion-s0/

The block ``probe`` of ``experiments/params.yaml`` contains the hyperparameters and the text encoders.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from compeval.base.pipeline import stage
from compeval.evaluators.models import load_model, pick_device
from compeval.trainers.probe import overlap as probe_overlap
from compeval.trainers.probe.data import generate_captions
from compeval.trainers.probe.training import (
    Recipe,
    choose_precision,
    train_autoencoder,
    train_probe,
)

FOLDER = Path("checkpoints/probe")
PARAMS = Path("experiments/params.yaml")


def main(encoder: str | None = None) -> None:
    """Train a probe of the text encoder ENCODER. Without ENCODER, train the autoencoder."""
    settings = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["probe"]
    prompts = probe_overlap.read_prompts(Path("compprompts"))
    texts = generate_captions(settings["captions"], settings["seed"], prompts)
    print(f"Training text: {prompts.count_overlap(texts)}.")
    device = pick_device()
    hyperparameters = settings["probes" if encoder else "autoencoder"]
    recipe = Recipe(**hyperparameters, seed=settings["seed"], precision=choose_precision(device))
    if encoder:
        model = load_model(settings["text_encoders"][encoder], device, "fp32")
        loss = train_probe(model, texts, recipe, FOLDER / f"of-{encoder}", device=device)
    else:
        loss = train_autoencoder(texts, recipe, FOLDER / "autoencoder", device=device)
    print(f"validation loss {loss:.4f}")


if __name__ == "__main__":
    stage.run(main)
