"""The trainings of the experiment with probes, on one generated text.

    python -m experiments.probe.train                            # the autoencoder: checkpoints/probe/autoencoder/
    python -m experiments.probe.train --encoder clip-laion-s0    # a probe: checkpoints/probe/of-clip-laion-s0/

``experiments/params.yaml``, block ``probe``, has the recipes and says where each text encoder is.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from evaluators.models import pick_device, resolve
from generators.storage import stage
from trainers.probe import overlap as probe_overlap
from trainers.probe.data import generated
from trainers.probe.training import Recipe, mixed_precision, train_autoencoder, train_probe

FOLDER = Path("checkpoints/probe")
PARAMS = Path("experiments/params.yaml")


def main(encoder: str | None = None) -> None:
    """Train a probe of the text encoder that the block calls ENCODER; the autoencoder where none is named."""
    told = yaml.safe_load(PARAMS.read_text())["probe"]
    prompts = probe_overlap.read(Path("compprompts"))
    texts = generated(told["captions"], told["seed"], prompts)
    print(f"Training text: {prompts.overlap(texts)}.")
    device = pick_device()
    how = told["probes" if encoder else "autoencoder"]
    recipe = Recipe(**how, seed=told["seed"], precision=mixed_precision(device))
    if encoder:
        model = resolve(told["text_encoders"][encoder], device)
        loss = train_probe(model, texts, recipe, FOLDER / f"of-{encoder}", device=device)
    else:
        loss = train_autoencoder(texts, recipe, FOLDER / "autoencoder", device=device)
    print(f"validation loss {loss:.4f}")


if __name__ == "__main__":
    stage.run(main)
