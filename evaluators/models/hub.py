"""Load open_clip models from the Hugging Face Hub: ``hf-hub:org/name``."""

from __future__ import annotations

import json
from pathlib import Path

import open_clip
from huggingface_hub import hf_hub_download
from open_clip.pretrained import download_pretrained_from_hf

from compeval.evaluators.models import Model, peft_adapters, weights_file
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.local_folder import CONFIG
from compeval.evaluators.models.openclip import (
    UNREADABLE,
    contaminated,
    create_empty,
    describe,
    make_transform,
)

DEFAULT_PREPROCESSING = (
    "The configuration has no preprocess_cfg: images were prepared as for OpenAI's models, which may not be how the "
    "model was trained."
)


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository of open_clip's layout.

    Raises FileNotFoundError if the model is neither cached on this machine nor downloadable.
    """
    spec = f"hf-hub:{name}"
    name, adapter = peft_adapters.split(name, spec)
    base = f"hf-hub:{name}"
    try:
        model = create_empty(base, device, precision)
        state = weights_file.read_state(download_pretrained_from_hf(name))
        tokenizer = open_clip.get_tokenizer(base)
    except UNREADABLE as error:
        raise unavailable(spec, name, error) from None
    difference = weights_file.describe_difference(model, state)
    try:
        weights_file.load_state(model, state, resize=bool(difference))
    except ValueError as error:
        raise ValueError(f"{spec}: the weights do not fit its configuration ({error}).") from None
    model, merged = peft_adapters.merge_if_named(model, adapter, name, spec)
    mark = contaminated(name.partition("/")[2])
    notes = [] if has_preprocessing(name) else [DEFAULT_PREPROCESSING]
    resized = f"The weights are for {difference} as their configuration says: open_clip interpolated the positions."
    if difference:
        notes.append(resized)
    loaded = describe(
        model,
        make_transform(model),
        tokenizer,
        device=device,
        precision=precision,
        spec=spec,
        name=name,
        contaminated=mark,
        warnings_of_files=notes,
    )
    return peft_adapters.describe(loaded, merged)


def has_preprocessing(name: str) -> bool:
    """Return True if the configuration in a repository, which is in the cache, says how images are prepared."""
    path = hf_hub_download(name, CONFIG)
    return isinstance(
        json.loads(Path(path).read_text(encoding="utf-8")).get("preprocess_cfg"), dict
    )


def read_family(name: str, spec: str) -> str:
    """Return the type of a model of transformers. Raises FileNotFoundError if its files are not available."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(name, trust_remote_code=False).model_type
    except OSError as error:
        raise unavailable(spec, name, error) from None


def get_title(name: str) -> str:
    """Return the name of the model in a repository (ORG/NAME) or folder, without the path of the folder."""
    return Path(name).absolute().name if Path(name).is_dir() else name
