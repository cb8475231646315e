"""Models of our own training: ``local:checkpoints/clip-laion``.

A recovery probe or its autoencoder is known by its JSON file (``evaluators.models.recovery_probe``). Else the folder
has
open_clip's layout (``open_clip_config.json``, ``open_clip_model.safetensors``) and, if it can say where the model comes
from, ``training.json``: {"corpus": "laion", "source": "microworld", "contaminated": null, ...}.
"""

from __future__ import annotations

import json
from pathlib import Path

from evaluators.models import Model
from evaluators.models.openclip import UNREADABLE, create, describe, first_line, tokenizer_of

CONFIG, WEIGHTS, TRAINING = "open_clip_config.json", "open_clip_model.safetensors", "training.json"


def load(name: str, device: str, precision: str) -> Model:
    """The model in a folder. FileNotFoundError naming what is missing."""
    from evaluators.models import recovery_probe

    if recovery_probe.is_probe_folder(Path(name)):
        return recovery_probe.load(Path(name), f"local:{name}", device, precision)
    folder = checked(name)
    try:
        model, preprocess = create(f"local-dir:{folder}", device, precision)
    except (*UNREADABLE, ValueError) as error:
        raise ValueError(f"{folder}: the model cannot be loaded ({first_line(error)}).") from None
    return describe(
        model,
        preprocess,
        tokenizer_of(f"local-dir:{folder}", f"local:{name}"),
        device=device,
        precision=precision,
        spec=f"local:{name}",
        name=folder.resolve().name,
        **training(folder),
    )


def checked(name: str) -> Path:
    """The folder of a model. FileNotFoundError naming what is missing."""
    folder = Path(name)
    for needed in (CONFIG, WEIGHTS):
        if not (folder / needed).is_file():
            raise FileNotFoundError(
                f"{folder / needed}: not found. A local model is a folder with {CONFIG} and {WEIGHTS}; "
                "`dvc repro train` makes those of the micro-world."
            )
    return folder


def training(folder: Path) -> dict[str, str | None]:
    """What ``training.json`` says of the training data, as fields of a model; nothing if there is none."""
    path = folder / TRAINING
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    return {
        "corpus": told.get("corpus"),
        "corpus_source": told.get("source", "microworld"),
        "contaminated": told.get("contaminated"),
    }
