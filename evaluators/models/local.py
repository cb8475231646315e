"""Models of our own training: ``local:checkpoints/clip-laion``.

A folder in open_clip's layout (``open_clip_config.json``, ``open_clip_model.safetensors``), with an optional
``training.json``: {"corpus": "laion", "source": "microworld", "contaminated": null, ...}. A recovery probe or its
autoencoder is recognised by its JSON file (``evaluators.models.recovery_probe``).
"""

from __future__ import annotations

import json
from pathlib import Path

from evaluators.models import Model
from evaluators.models.openclip import UNREADABLE, create, describe, first_line, tokenizer_of

CONFIG, WEIGHTS, TRAINING = "open_clip_config.json", "open_clip_model.safetensors", "training.json"


def load(name: str, device: str, precision: str) -> Model:
    """The model in a folder. FileNotFoundError naming a missing file."""
    from evaluators.models import recovery_probe

    spec = f"local:{name}"
    if recovery_probe.is_probe_folder(Path(name)):
        return recovery_probe.load(Path(name), spec, device, precision)
    folder = checked(name)
    try:
        model, preprocess = create(f"local-dir:{folder}", device, precision)
    except (*UNREADABLE, ValueError) as error:
        raise ValueError(f"{folder}: the model cannot be loaded ({first_line(error)}).") from None
    tokenizer = tokenizer_of(f"local-dir:{folder}", spec)
    about = {"spec": spec, "name": folder.resolve().name, **training(folder)}
    return describe(model, preprocess, tokenizer, device=device, precision=precision, **about)


def checked(name: str) -> Path:
    """The folder of a model. FileNotFoundError naming a missing file."""
    folder = Path(name)
    for needed in (CONFIG, WEIGHTS):
        if not (folder / needed).is_file():
            raise FileNotFoundError(
                f"{folder / needed}: not found. A local model is a folder with {CONFIG} and {WEIGHTS}; "
                "`dvc repro train` makes those of the micro-world."
            )
    return folder


def training(folder: Path) -> dict[str, str | None]:
    """The training data recorded in ``training.json``, as fields of Model; empty without that file."""
    path = folder / TRAINING
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    return {
        "corpus": record.get("corpus"),
        "corpus_source": record.get("source", "microworld"),
        "contaminated": record.get("contaminated"),
    }
