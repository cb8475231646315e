"""Load models that were trained with this project: ``local:checkpoints/clip-laion``.

The folder has open_clip's layout (``open_clip_config.json``, ``open_clip_model.safetensors``) and an optional
``training.json``: {"corpus": "laion", "source": "microworld", "contaminated": null, ...}. A folder with ``probe.json``
or ``autoencoder.json`` is loaded by ``compeval.evaluators.models.recovery_probe``.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image
from safetensors.torch import load_file, save_file
from torch import Tensor

from compeval.base.pretrained import check_no_adapter
from compeval.evaluators.models import Model, peft_adapters, weights_file
from compeval.evaluators.models.local_folder import (
    CONFIG,
    TRAINING,
    WEIGHTS,
    check_folder,
    is_probe_folder,
    read_training,
)
from compeval.evaluators.models.openclip import (
    UNREADABLE,
    create_empty,
    describe,
    describe_error,
    load_tokenizer,
    make_transform,
)

EMBEDDING = "token_embedding.weight"
TOKEN_IDS = "token_ids"


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a folder. Raises FileNotFoundError, which names the file, if a file is missing."""
    spec = f"local:{name}"
    name, adapter = peft_adapters.split(name, spec)
    if is_probe_folder(Path(name)):
        from compeval.evaluators.models import recovery_probe

        return recovery_probe.load(Path(name), spec, device, precision)
    folder = check_folder(name)
    model, preprocess = load_weights(folder, device, precision)
    model, merged = peft_adapters.merge_if_named(model, adapter, name, spec)
    tokenizer = load_tokenizer(f"local-dir:{folder}", spec)
    about = {"spec": spec, "name": folder.absolute().name, **read_training(folder)}
    loaded = describe(model, preprocess, tokenizer, device=device, precision=precision, **about)
    return peft_adapters.describe(loaded, merged)


def load_weights(
    folder: Path, device: str, precision: str
) -> tuple[Any, Callable[[Image], Tensor]]:
    """Return model and image transform. Raises ValueError if the weights do not fit the configuration."""
    try:
        with tempfile.TemporaryDirectory() as scratch:
            files = folder
            if has_few_embeddings(folder):
                files = restore_embeddings(folder, Path(scratch) / folder.name)
            check_no_adapter(folder)
            check_preprocessing(folder)
            model = create_empty(f"local-dir:{files}", device, precision)
            state = weights_file.read_state(files / WEIGHTS)
            if difference := weights_file.describe_difference(model, state):
                raise ValueError(f"{WEIGHTS} is for {difference} as {CONFIG} says")
            weights_file.load_state(model, state)
            return model, make_transform(model)
    except (*UNREADABLE, ValueError) as error:
        raise ValueError(
            f"{folder}: the model cannot be loaded ({describe_error(error)})."
        ) from None


def check_preprocessing(folder: Path) -> None:
    """Raise ValueError if the configuration does not say how images are prepared.

    open_clip would prepare them with OpenAI's mean, standard deviation and crop without a word.
    """
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    if not isinstance(config.get("preprocess_cfg"), dict):
        raise ValueError(
            f"{CONFIG} has no preprocess_cfg, which says how images are prepared (mean, std, interpolation, "
            'resize_mode). Add the values of the training, or "preprocess_cfg": {} for those of OpenAI\'s models'
        )


def has_few_embeddings(folder: Path) -> bool:
    """Return True for a model that is stored with the embeddings of some tokens, as the packaged one is."""
    from safetensors import safe_open

    with safe_open(folder / WEIGHTS, "pt") as weights:
        return TOKEN_IDS in set(weights.keys())


def restore_embeddings(small: Path, folder: Path) -> Path:
    """Write a model that is stored with the embeddings of some tokens as open_clip reads it, and return ``folder``.

    The embeddings of other tokens are zero. Weights become fp32.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, TRAINING):
        shutil.copyfile(small / name, folder / name)
    weights = load_file(small / WEIGHTS)
    ids = weights.pop(TOKEN_IDS).long()
    text_config = json.loads((small / CONFIG).read_text(encoding="utf-8"))["model_cfg"]["text_cfg"]
    embedding = torch.zeros(text_config["vocab_size"], text_config["width"])
    embedding[ids] = weights[EMBEDDING].float()
    full = {
        name: weight.float() if weight.is_floating_point() else weight
        for name, weight in weights.items()
    }
    save_file(full | {EMBEDDING: embedding}, folder / WEIGHTS)
    return folder
