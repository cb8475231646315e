"""Load the open_clip model that a fine-tuning starts from, and write the checkpoint folder that ``local:`` loads.

Supported specs: ``ViT-B-32/openai``, ``ViT-B-32-quickgelu/FILE``, ``local:FOLDER``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import open_clip
from PIL.Image import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from evaluators.models import local, openclip, parse
from trainers.clip.training import write_config


class StartingModel(NamedTuple):
    """A loaded model. ``config`` and ``preprocess_config`` are the two parts of open_clip_config.json."""

    spec: str
    model: Any
    preprocess: Callable[[Image], Tensor]
    tokenizer: Callable[[list[str]], Tensor]
    config: dict[str, Any]
    preprocess_config: dict[str, Any]
    training: dict[str, str | None]
    """Information about the model's training data: ``corpus``, ``contaminated`` ..."""


def load(spec: str, device: str) -> StartingModel:
    """Load a model in fp32. Raises ValueError if it cannot be loaded or is not a model of open_clip."""
    backend, name = parse(spec)
    if backend == "local":
        model, preprocess = local.load_weights(local.check_folder(name), device, "fp32")
        config = json.loads((Path(name) / local.CONFIG).read_text())
        tokenizer = open_clip.get_tokenizer(f"local-dir:{name}")
        return StartingModel(
            spec,
            model,
            preprocess,
            tokenizer,
            config["model_cfg"],
            config["preprocess_cfg"],
            local.read_training(Path(name)),
        )
    if backend != "open_clip":
        raise ValueError(
            f"Model {spec!r}: only open_clip models (ARCHITECTURE/WEIGHTS) and local:FOLDER can be trained."
        )
    architecture, weights, quick_gelu = openclip.parse_name(name)
    model, preprocess = openclip.create_named(name, device, "fp32")
    config = open_clip.get_model_config(architecture)
    assert config is not None, "openclip.parse_name knows the architecture"
    preprocess_config = {
        key: value
        for key, value in open_clip.get_model_preprocess_cfg(model).items()
        if key in ("size", "mean", "std", "interpolation", "resize_mode", "fill_color")
    }
    return StartingModel(
        spec,
        model,
        preprocess,
        open_clip.get_tokenizer(architecture),
        {**config, "quick_gelu": True} if quick_gelu else config,
        preprocess_config,
        {"corpus": openclip.CORPUS_OF_TAG.get(weights), "contaminated": openclip.contaminated(weights)},
    )


def save(folder: Path, start: StartingModel, model: nn.Module, record: dict[str, Any]) -> None:
    """Write the files of a checkpoint. ``record`` is written to training.json."""
    write_config(folder, start.config, start.preprocess_config)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / local.WEIGHTS)
    (folder / local.TRAINING).write_text(json.dumps(record, indent=1) + "\n")
