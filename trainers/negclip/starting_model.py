"""Load the open_clip model that a fine-tuning starts from.

Supported specs: ``ViT-B-32/openai``, ``ViT-B-32-quickgelu/FILE``, ``local:FOLDER``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import open_clip
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL.Image import Image
from torch import Tensor
from torchvision.transforms import Compose

from compeval.evaluators.models import fingerprint, local, openclip, parse
from compeval.evaluators.models.weights_file import get_image_size


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

    def make_training_transform(self) -> Callable[[Image], Tensor]:
        """Return open_clip's transform for training with this model's preprocessing: a random crop of 90 to 100 %."""
        transform = image_transform_v2(PreprocessCfg(**self.preprocess_config), is_train=True)
        assert isinstance(transform, Compose)
        return transform

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the weights."""
        return fingerprint.of_weights(self.model.state_dict())


def load(spec: str, device: str) -> StartingModel:
    """Load a model in fp32. Raises ValueError if it cannot be loaded or is not a model of open_clip."""
    backend, name = parse(spec)
    if backend == "local":
        folder = local.check_folder(name)
        config = json.loads((folder / local.CONFIG).read_text(encoding="utf-8"))
        configs = config["model_cfg"], config["preprocess_cfg"]
        tokenizer = open_clip.get_tokenizer(f"local-dir:{name}")
        training = local.read_training(folder)
        return StartingModel(
            spec, *local.load_weights(folder, device, "fp32"), tokenizer, *configs, training
        )
    if backend != "open_clip":
        raise ValueError(
            f"Model {spec!r}: only open_clip models (ARCHITECTURE/WEIGHTS) and local:FOLDER can be trained."
        )
    architecture, weights, quick_gelu = openclip.parse_name(name)
    model, preprocess = openclip.create_named(name, device, "fp32")
    config = open_clip.get_model_config(architecture)
    assert config is not None, "openclip.parse_name knows the architecture"
    context_length = openclip.get_context_length(model)
    # A file of weights can have other inputs than its architecture.
    config["vision_cfg"]["image_size"] = get_image_size(model)
    if context_length and "hf_model_name" not in config["text_cfg"]:
        config["text_cfg"]["context_length"] = context_length
    preprocess_config = open_clip.get_model_preprocess_cfg(model)
    stored_keys = ("size", "mean", "std", "interpolation", "resize_mode", "fill_color")
    return StartingModel(
        spec,
        model,
        preprocess,
        open_clip.get_tokenizer(architecture, context_length=context_length),
        {**config, "quick_gelu": True} if quick_gelu else config,
        {key: value for key, value in preprocess_config.items() if key in stored_keys},
        {
            "corpus": openclip.CORPUS_OF_TAG.get(weights),
            "contaminated": openclip.contaminated(weights),
        },
    )
