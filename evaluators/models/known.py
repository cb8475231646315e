"""Recognise a model that was loaded before, so that finished results are read without its import and its weights.

Loading a model of open_clip stores what a result says about it (``Model``), with the state of its files. The record
holds while their sizes and times, our code and the versions of the packages stay the same; a new commit on the Hub is
noticed when the model is loaded next. Other models are loaded
each time: what a name on the Hub or a user's class stands for can change without a change of a file here.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compeval.base.files.atomic import atomic_file
from compeval.base.files.cache_folder import cache_folder
from compeval.evaluators.models import (
    Model,
    fingerprint,
    open_clip_names,
    parse,
    peft_adapters,
)
from compeval.evaluators.models.local_folder import CONFIG, TRAINING, WEIGHTS, is_probe_folder


def _refuse(*_: Any) -> Any:
    raise AssertionError("the model is not loaded")


def save_model_info(model: Model) -> None:
    """Store the record of a model that was just loaded."""
    if states := _read_states(model.spec):
        about = {
            field.name: getattr(model, field.name)
            for field in fields(model)
            if field.name != "encoder"
        }
        path = _get_path(model.spec, model.precision)
        # A folder that is not writable is reported when features are stored.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as partial:
                partial.write_text(json.dumps({"files": states, "model": about}), encoding="utf-8")


def load_model_info(spec: str, precision: str) -> Model | None:
    """Return a model that was loaded before, without what computes; None if it is not known or has changed."""
    spec = spec.removeprefix("open_clip:")
    try:
        record = json.loads(_get_path(spec, precision).read_text(encoding="utf-8"))
        if record["files"] != _read_states(spec):
            return None
    except (OSError, ValueError):
        return None
    about = record["model"] | {"warnings": tuple(record["model"]["warnings"])}
    encoder: Any = SimpleNamespace(preprocess=_refuse, encode_images=_refuse, encode_texts=_refuse)
    return Model(**about, encoder=encoder)


def _get_path(spec: str, precision: str) -> Path:
    # timm builds some of open_clip's towers.
    key = fingerprint.of_json([spec, precision, version("timm")])
    return cache_folder() / "models" / f"{fingerprint.of_features(key)}.json"


def _read_states(spec: str) -> list[list[str | int]]:
    """Return path, size and times of change of each file that a model is loaded from; [] if they are not known."""
    states = ((file, file.stat()) for file in _find_files(*parse(spec)) if file.is_file())
    return [
        [str(file.absolute()), state.st_size, state.st_mtime_ns, state.st_ctime_ns]
        for file, state in states
    ]


def _find_files(backend: str, name: str) -> list[Path]:
    """Return the files of a model of open_clip whose tokeniser is open_clip's own; [] for other models, and for those
    with an adapter, which PEFT merges."""
    if peft_adapters.find_setting(name):
        return []
    if backend == "local" and not is_probe_folder(Path(name)):
        config = json.loads((Path(name) / CONFIG).read_text(encoding="utf-8")).get("model_cfg", {})
        files = [Path(name) / file for file in (CONFIG, WEIGHTS, TRAINING)]
    elif backend == "open_clip":
        architecture, weights = open_clip_names.split(name)
        config = open_clip_names.read_config(architecture.removesuffix("-gelu"))
        tag = open_clip_names.get_pretrained_cfg(architecture, weights)
        files = _list_snapshot(str(tag.get("hf_hub", "")).rstrip("/")) if tag else [Path(weights)]
    else:
        return []
    return [] if "hf_tokenizer_name" in config.get("text_cfg", {}) else files


def _list_snapshot(repository: str) -> list[Path]:
    """Return the files of the present snapshot of a repository in the Hub's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = Path(HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    revision = folder / "refs/main"
    return (
        sorted((folder / "snapshots" / revision.read_text(encoding="utf-8").strip()).glob("*"))
        if revision.is_file()
        else []
    )
