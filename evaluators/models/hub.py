"""open_clip models from the Hugging Face Hub: ``hf-hub:org/name``."""

from __future__ import annotations

from pathlib import Path

import open_clip

from evaluators.models import Model
from evaluators.models.openclip import UNREADABLE, contaminated, create, describe


def load(name: str, device: str, precision: str) -> Model:
    """The model in a repository of open_clip's layout. FileNotFoundError if it is neither cached nor reachable."""
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
    """The error for a repository that cannot be downloaded, or a folder that lacks files."""
    reason = str(error).splitlines()[0]
    if Path(repository).is_dir():
        return FileNotFoundError(f"{spec}: the folder lacks files, or they are damaged ({reason}).")
    if Path(repository).is_absolute() or repository.startswith("."):
        return FileNotFoundError(f"{spec}: no such folder.")
    return FileNotFoundError(
        f"{spec}: its files are not on this machine and could not be fetched ({reason}).\n"
        f"With a network: `hf download {repository}` (into HF_HOME, then HF_HUB_OFFLINE=1 works without one)."
    )
