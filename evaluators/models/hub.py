"""Load open_clip models from the Hugging Face Hub: ``hf-hub:org/name``."""

from __future__ import annotations

from pathlib import Path

import open_clip

from compeval.evaluators.models import Model
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.openclip import UNREADABLE, contaminated, create, describe


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository of open_clip's layout.

    Raises FileNotFoundError if the model is neither cached on this machine nor downloadable.
    """
    spec = f"hf-hub:{name}"
    try:
        model, preprocess = create(spec, device, precision)
        tokenizer = open_clip.get_tokenizer(spec)
    except UNREADABLE as error:
        raise unavailable(spec, name, error) from None
    mark = contaminated(name.partition("/")[2])
    return describe(
        model,
        preprocess,
        tokenizer,
        device=device,
        precision=precision,
        spec=spec,
        name=name,
        contaminated=mark,
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
