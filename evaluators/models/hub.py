"""open_clip models from the Hugging Face Hub: ``hf-hub:org/name``."""

from __future__ import annotations

import open_clip

from evaluators.models import Model
from evaluators.models.openclip import create, describe


def load(name: str, device: str, precision: str) -> Model:
    """The model in a repository of open_clip's layout. FileNotFoundError where it is neither cached nor reachable."""
    spec = f"hf-hub:{name}"
    try:
        model, preprocess = create(spec, device, precision)
        tokenizer = open_clip.get_tokenizer(spec)
    except (RuntimeError, OSError) as error:
        raise unavailable(spec, name, error) from None
    return describe(model, preprocess, tokenizer, device=device, precision=precision, spec=spec, name=name)


def unavailable(spec: str, repository: str, error: Exception) -> FileNotFoundError:
    """The error for a repository whose files cannot be had."""
    return FileNotFoundError(
        f"{spec}: its files are not on this machine and could not be fetched ({str(error).splitlines()[0]}).\n"
        f"With a network: `hf download {repository}` (into HF_HOME, then HF_HUB_OFFLINE=1 works without one)."
    )
