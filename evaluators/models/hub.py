"""Load open_clip models from the Hugging Face Hub: ``hf-hub:org/name``."""

from __future__ import annotations

from pathlib import Path

import open_clip

from evaluators.models import Model
from evaluators.models.openclip import UNREADABLE, contaminated, create, describe


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
        model, preprocess, tokenizer, device=device, precision=precision, spec=spec, name=name, contaminated=mark
    )


def unavailable(spec: str, repository: str, error: Exception) -> FileNotFoundError:
    """Return the error for a repository that cannot be downloaded, or for a folder with missing or damaged files."""
    reason = str(error).splitlines()[0]
    if Path(repository).is_dir():
        return FileNotFoundError(f"{spec}: files of the folder are missing or damaged ({reason}).")
    if Path(repository).is_absolute() or repository.startswith("."):
        return FileNotFoundError(f"{spec}: no such folder.")
    return FileNotFoundError(
        f"{spec}: its files are not on this machine and could not be downloaded ({reason}).\n"
        f"With a network: `hf download {repository}` (into HF_HOME, then HF_HUB_OFFLINE=1 works without one)."
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
