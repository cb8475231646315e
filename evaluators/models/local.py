"""Load models that were trained with this project: ``local:checkpoints/clip-laion``.

The folder has open_clip's layout (``open_clip_config.json``, ``open_clip_model.safetensors``) and an optional
``training.json``: {"corpus": "laion", "source": "microworld", "contaminated": null, ...}. A folder with ``probe.json``
or ``autoencoder.json`` is loaded by ``evaluators.models.recovery_probe``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL.Image import Image
from torch import Tensor

from evaluators.models import Model
from evaluators.models.openclip import UNREADABLE, create, describe, describe_error, load_tokenizer

CONFIG, WEIGHTS, TRAINING = "open_clip_config.json", "open_clip_model.safetensors", "training.json"


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a folder. Raises FileNotFoundError, which names the file, if a file is missing."""
    from evaluators.models import recovery_probe

    spec = f"local:{name}"
    if recovery_probe.is_probe_folder(Path(name)):
        return recovery_probe.load(Path(name), spec, device, precision)
    folder = check_folder(name)
    model, preprocess = load_weights(folder, device, precision)
    tokenizer = load_tokenizer(f"local-dir:{folder}", spec)
    about = {"spec": spec, "name": folder.absolute().name, **read_training(folder)}
    return describe(model, preprocess, tokenizer, device=device, precision=precision, **about)


def load_weights(folder: Path, device: str, precision: str) -> tuple[Any, Callable[[Image], Tensor]]:
    """Return model and image transform. Raises ValueError if the weights do not fit the configuration."""
    try:
        return create(f"local-dir:{folder}", device, precision)
    except (*UNREADABLE, ValueError) as error:
        raise ValueError(f"{folder}: the model cannot be loaded ({describe_error(error)}).") from None


def check_folder(name: str) -> Path:
    """Return the folder of a model. Raises FileNotFoundError, which names the file, if a file is missing."""
    folder = Path(name)
    for needed in (CONFIG, WEIGHTS):
        if not (folder / needed).is_file():
            raise FileNotFoundError(
                f"{folder / needed}: not found. A local model is a folder with {CONFIG} and {WEIGHTS}; "
                "`dvc repro train` trains the models of the micro-world."
            )
    return folder


def read_training(folder: Path) -> dict[str, str | None]:
    """Return the fields of Model that ``training.json`` records; empty if there is no such file."""
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
