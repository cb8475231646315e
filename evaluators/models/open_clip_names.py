"""Names of open_clip's architectures and weights, without the import of torch, which takes seconds.

open_clip chooses the activation (GELU or QuickGELU) by the architecture's name; here the weights decide
(``compeval.evaluators.models.openclip``).
"""

from __future__ import annotations

import difflib
import importlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from compeval.evaluators.models import BACKENDS

CORPUS_OF_TAG = {
    "cc12m": "cc12m",
    "yfcc15m": "yfcc",
    "laion400m_e31": "laion",
    "laion400m_e32": "laion",
}
"""Corpus of CREPE's systematicity splits that the weights of a tag were trained on."""
PREPROCESSING = ("mean", "std", "interpolation", "resize_mode")
"""Fields about the preparation of images, in open_clip's record of a tag."""
LIKE = "?like="
"""Before a tag, behind a weights file: the file was trained from the weights of the tag, or as they were."""
LIGHT = "_open_clip_without_torch"
"""Name under which modules of open_clip are imported without its ``__init__``, which imports torch."""


@cache
def _find_folder() -> Path:
    spec = find_spec("open_clip")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _import_pretrained() -> Any:
    """Return open_clip's module with the table of weights."""
    if "open_clip.pretrained" in sys.modules:
        return sys.modules["open_clip.pretrained"]
    if LIGHT not in sys.modules:
        package = ModuleType(LIGHT)
        package.__path__ = [str(_find_folder())]
        sys.modules[LIGHT] = package
    needs_torch = "safetensors.torch"  # optional for open_clip, and not needed to look up names
    modules: dict[str, ModuleType | None] = sys.modules  # pyright: ignore[reportAssignmentType]
    is_blocked = modules.setdefault(needs_torch, None) is None
    try:
        return importlib.import_module(f"{LIGHT}.pretrained")
    finally:
        if is_blocked:
            modules.pop(needs_torch)


@cache
def _list_config_names() -> list[str]:
    return sorted(path.stem for path in (_find_folder() / "model_configs").glob("*.json"))


def list_models() -> list[str]:
    """Return the names of the architectures. Those that a program adds to open_clip are known once it is imported."""
    if "open_clip" in sys.modules:
        return sys.modules["open_clip"].list_models()
    return _list_config_names()


def list_pretrained() -> list[tuple[str, str]]:
    """Return architecture and tag of all pretrained weights."""
    return _import_pretrained().list_pretrained()


def read_config(architecture: str) -> dict[str, Any]:
    """Return the configuration of an architecture, {} if open_clip has none."""
    if "open_clip" in sys.modules:
        return sys.modules["open_clip"].get_model_config(architecture) or {}
    path = _find_folder() / "model_configs" / f"{architecture}.json"
    return json.loads(path.read_text(encoding="utf-8")) if architecture in list_models() else {}


def get_pretrained_cfg(architecture: str, weights: str) -> dict[str, Any]:
    """Return open_clip's record of a tag, {} if the weights are a file."""
    return _import_pretrained().get_pretrained_cfg(architecture, weights)


def parse_name(name: str) -> tuple[str, str, bool]:
    """Return the architecture for open_clip, the tag or file, and True if QuickGELU must be forced.

    Raises ValueError if the name is unknown, or if it does not state the activation of a weights file.
    """
    architecture, weights = split(name)
    built = architecture.removesuffix("-gelu")
    tag = get_pretrained_cfg(architecture, weights) or find_like(name)
    has_both = f"{architecture}-quickgelu" in list_models()
    if not tag and built == architecture and has_both:
        # a file of weights does not state its activation
        raise ValueError(
            f"{weights}: nothing states the activation that these weights were trained with. Ask for "
            f"{architecture}-quickgelu/... (OpenAI, NegCLIP, LAION-400M ViT-B-32) or {architecture}-gelu/..., or name "
            f"the tag that they were trained from, {architecture}/...{LIKE}openai; the wrong one moves scores by "
            "several points."
        )
    config = read_config(built)
    is_stated = built != architecture or bool(config.get("quick_gelu"))
    return built, weights, bool(tag.get("quick_gelu")) and not is_stated


def find_like(name: str) -> dict[str, Any]:
    """Return open_clip's record of the tag that a weights file is like; {} if the name states none.

    Raises ValueError if the architecture has no such tag.
    """
    _, separator, like = name.rpartition(LIKE)
    if not separator:
        return {}
    architecture, _ = split(name)
    if tag := get_pretrained_cfg(architecture.removesuffix("-gelu"), like):
        return tag
    raise _unknown(f"tag of {architecture}", like, _list_tags(architecture.removesuffix("-gelu")))


def find_preprocessing(name: str) -> dict[str, Any]:
    """Return how images are prepared for a weights file: as for the pretrained weights of its architecture.

    {} if there are none: open_clip trains new architectures with its own default. Raises ValueError if the pretrained
    weights differ, and the name does not state which of them the file is like.
    """
    architecture, _ = split(name)
    built = architecture.removesuffix("-gelu")
    like = find_like(name)
    tags = (
        {"": like} if like else {tag: get_pretrained_cfg(built, tag) for tag in _list_tags(built)}
    )
    tag_by_record: dict[str, tuple[str, dict[str, Any]]] = {}
    for tag, record in tags.items():
        if built == architecture or not record.get("quick_gelu"):
            prepared = {key: record[key] for key in PREPROCESSING if record.get(key) is not None}
            tag_by_record.setdefault(json.dumps(prepared, sort_keys=True), (tag, prepared))
    if len(tag_by_record) > 1:
        choices = " or ".join(f"{name}{LIKE}{tag}" for tag, _ in tag_by_record.values())
        raise ValueError(
            f"{name}: nothing states how images were prepared in the training of these weights, and the pretrained "
            f"weights of {built} differ in it. Name a tag whose preprocessing is theirs: {choices}."
        )
    return next((prepared for _, prepared in tag_by_record.values()), {})


def _list_tags(architecture: str) -> list[str]:
    return [tag for name, tag in list_pretrained() if name == architecture]


def split(name: str) -> tuple[str, str]:
    """Split a name into architecture and tag or file, at the last slash before a known tag or an existing file.

    Raises ValueError, with similar known names, if there is no such slash.
    """
    architectures = list_models()
    name, _, _ = name.partition(LIKE)
    cuts = [index for index, letter in enumerate(name) if letter == "/"]
    for cut in reversed(cuts):
        architecture = name[:cut]
        weights = name[cut + 1 :]
        is_known = architecture.removesuffix("-gelu") in architectures
        if is_known and (get_pretrained_cfg(architecture, weights) or Path(weights).is_file()):
            return architecture, weights
    architecture, _, weights = name.partition("/")
    if architecture.removesuffix("-gelu") not in architectures:
        *others, last = sorted(f"{backend}:" for backend in BACKENDS if backend != "open_clip")
        raise _unknown(
            "architecture",
            architecture,
            architectures,
            f" Other models begin with {', '.join(others)} or {last}.",
        )
    tags = _list_tags(architecture)
    if not weights:
        raise ValueError(
            f"Model {name!r} has no weights. Tags of {architecture}: {', '.join(tags) or 'none'}."
        )
    raise _unknown(f"weights of {architecture}: neither a tag nor a file,", weights, tags)


def _unknown(what: str, name: str, names: Sequence[str], advice: str = "") -> ValueError:
    near = difflib.get_close_matches(name, names, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return ValueError(
        f"Unknown open_clip {what} {name!r}.{hint} `compeval list models` lists them all.{advice}"
    )


def missing_weights(name: str, reason: str) -> FileNotFoundError:
    """Return the error for weights of a tag that are not here and cannot be downloaded."""
    tag = get_pretrained_cfg(*split(name))
    repository = str(tag.get("hf_hub", "")).rstrip("/")
    location = f"{repository} on the Hugging Face Hub" if repository else str(tag.get("url"))
    return FileNotFoundError(
        f"{name}: the weights are not on this machine and could not be downloaded: {location} ({reason}).\n"
        f"With a network: `hf download {repository}` (into HF_HOME, then HF_HUB_OFFLINE=1 works without one).\n"
        f"With a file: --model <architecture>-quickgelu/<file> or <architecture>-gelu/<file>."
    )
