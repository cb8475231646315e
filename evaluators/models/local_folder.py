"""Files of a model that was trained with this project, without loading it (``compeval.evaluators.models.local``)."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

CONFIG = "open_clip_config.json"
WEIGHTS = "open_clip_model.safetensors"
TRAINING = "training.json"
PROBE = "probe.json"
AUTOENCODER = "autoencoder.json"


def is_probe_folder(folder: Path) -> bool:
    """Return True if the folder contains a probe or an autoencoder."""
    return (folder / PROBE).is_file() or (folder / AUTOENCODER).is_file()


def check_folder(name: str) -> Path:
    """Return the folder of a model. Raises FileNotFoundError, which names the file, if a file is missing."""
    folder = Path(name)
    for needed in (CONFIG, WEIGHTS):
        if not (folder / needed).is_file():
            close = difflib.get_close_matches(
                str(folder), sorted(str(path.parent) for path in folder.parent.glob(f"*/{needed}"))
            )
            hint = f" Did you mean local:{close[0]}?" if close and not folder.is_dir() else ""
            raise FileNotFoundError(
                f"{folder / needed}: not found.{hint} A local model is a folder with {CONFIG} and {WEIGHTS}; "
                "`dvc repro train` trains the models of the micro-world."
            )
    return folder


def read_training(folder: Path) -> dict[str, str | None]:
    """Return the fields of Model that ``training.json`` records; empty if there is no such file."""
    path = folder / TRAINING
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error}).") from None
    return {
        "corpus": record.get("corpus"),
        "corpus_source": record.get("source", "microworld"),
        "contaminated": record.get("contaminated"),
    }
