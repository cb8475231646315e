"""Merge adapters of PEFT, such as LoRA, into the model that they were trained on.

    transformers:FOLDER                    the base is the one that the folder's adapter_config.json names
    transformers:ORG/NAME?adapter=FOLDER   the base is named; vlm: as well
    ViT-B-32/openai?adapter=FOLDER         models of open_clip, also local: and hf-hub:

A folder, or a repository on the Hub, has ``adapter_config.json`` and ``adapter_model.safetensors``, as PEFT saves them.
The weights of the adapter are added to those of the base in the base's precision, so a merged model is as fast as its
base. Its fingerprint is that of the merged weights, and of the adapter. An adapter that does not fit the base in every
tensor is an error: PEFT itself only warns, or ignores what does not fit.
"""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from compeval.evaluators.models.questions import split_settings

if TYPE_CHECKING:
    from compeval.evaluators.models import Model

SETTING = "adapter"
CONFIG = "adapter_config.json"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
BASE = "base_model_name_or_path"
MAX_SHOWN = 3
"""Number of tensors that a message names."""


class Merged(NamedTuple):
    """Record of an adapter that was merged."""

    title: str
    """Name of its folder or repository."""
    digest: str
    """Digest of its settings and weights."""


def split(name: str, spec: str) -> tuple[str, str | None]:
    """Split ``NAME?adapter=FOLDER`` into the name of the base and the adapter.

    Raises ValueError if there are other settings.
    """
    base, settings = split_settings(name, (SETTING,), spec)
    return base, settings.get(SETTING)


def find_setting(name: str) -> str | None:
    """Return the adapter that a name of any backend states; None if it states none."""
    return dict(parse_qsl(name.partition("?")[2])).get(SETTING)


def check_folder(adapter: str, spec: str) -> None:
    """Raise FileNotFoundError, which names the file, if a folder is not that of an adapter.

    A repository on the Hub is not looked up.
    """
    folder = Path(adapter)
    if not folder.is_dir():
        if folder.is_absolute() or adapter.startswith(".") or adapter.count("/") != 1:
            raise FileNotFoundError(f"{spec}: {adapter}: no such folder.")
        return
    for names in ((CONFIG,), WEIGHTS):
        if not any((folder / name).is_file() for name in names):
            raise FileNotFoundError(
                f"{spec}: {folder / names[0]}: not found. An adapter is a folder as PEFT's save_pretrained writes it."
            )


def list_files(adapter: str) -> list[Path]:
    """Return the files of an adapter in a folder, those that exist."""
    return [Path(adapter) / name for name in (CONFIG, *WEIGHTS) if (Path(adapter) / name).is_file()]


def find_base(name: str, spec: str) -> tuple[str, str | None]:
    """Return the base model and the adapter if ``name`` is a folder or repository of an adapter, else name and None.

    Raises ValueError if the adapter does not name its base.
    """
    path = _find_config(name)
    if path is None:
        return name, None
    base = _read_config(path, spec).get(BASE)
    if not base:
        raise ValueError(
            f"{spec}: {CONFIG} does not name the base model. Name it: BASE?{SETTING}={name}, or --setting "
            f"{SETTING}={name}."
        )
    return base, name


def _find_config(name: str) -> Path | None:
    if Path(name).is_dir():
        path = Path(name) / CONFIG
        return path if path.is_file() else None
    from transformers.utils.peft_utils import find_adapter_config_file

    with suppress(OSError, ValueError):  # not available, which the loader of the model reports
        config_file = find_adapter_config_file(name)
        return Path(config_file) if config_file else None
    return None


def _read_config(path: Path, spec: str) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{spec}: {path}: not JSON ({error}).") from None
    if not isinstance(config, dict) or "peft_type" not in config:
        raise ValueError(
            f"{spec}: {path}: not the settings of an adapter of PEFT, which have the key peft_type."
        )
    return config


def merge_if_named(
    model: Any, adapter: str | None, base: str, spec: str
) -> tuple[Any, Merged | None]:
    """Return the model with the adapter merged, and what was merged; the model itself and None without an adapter."""
    return (model, None) if adapter is None else merge(model, adapter, base, spec)


def describe(model: Model, merged: Merged | None) -> Model:
    """Return the record of a model into which an adapter was merged.

    Its name has that of the adapter, so that it is never taken for its base. What it was trained on is not known.
    """
    if merged is None:
        return model
    from compeval.evaluators.models import fingerprint

    return replace(
        model,
        name=f"{model.name}+{merged.title}",
        effective=f"{model.effective}+{merged.title}" if model.effective else None,
        fingerprint=fingerprint.of_json([model.fingerprint, merged.digest]),
        corpus=None,
        adapter=merged._asdict(),
    )


def merge(model: Any, adapter: str, base: str, spec: str) -> tuple[Any, Merged]:
    """Merge an adapter into a model. Returns the model, whose structure is that of the base, and what was merged.

    Raises ValueError if the adapter is not available, was trained on another base, does not fit this one, or is of a
    kind that cannot be merged.
    """
    try:
        import peft
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{spec}: adapters need PEFT, which is not installed: pip install 'compeval[peft]'."
        ) from None
    from compeval.evaluators.models import fingerprint

    check_folder(adapter, spec)
    path = _find_config(adapter)
    if path is None:
        raise FileNotFoundError(
            f"{spec}: {adapter}: its {CONFIG} is not on this machine and could not be downloaded."
        )
    settings = _read_config(path, spec)
    _check_base(settings.get(BASE), base, spec)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what PEFT warns of is an error here
            weights = peft.load_peft_weights(adapter, device="cpu")  # unpickles tensors only
            merged = _merge(peft, model, adapter)
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        TypeError,
        AttributeError,
        NotImplementedError,
    ) as error:
        reason = " ".join(str(error).split()).removesuffix(".")
        raise ValueError(
            f"{spec}: the adapter {adapter} cannot be merged into {base} ({reason[:300]}). It was trained on "
            f"{settings.get(BASE) or 'a base that its adapter_config.json does not name'}."
        ) from None
    about = {key: value for key, value in settings.items() if key != BASE}  # may be a path
    digest = fingerprint.of_json([about, fingerprint.of_weights(weights)])
    return merged.eval(), Merged(
        Path(adapter).absolute().name if Path(adapter).is_dir() else adapter, digest
    )


def _merge(peft: Any, model: Any, adapter: str) -> Any:
    """Return the model with the adapter merged. Raises ValueError if a tensor does not fit, and what PEFT raises."""
    config = peft.PeftConfig.from_pretrained(adapter)
    if config.is_prompt_learning:
        raise ValueError(
            f"an adapter of type {config.peft_type.value} adds tokens and cannot be merged"
        )
    config.inference_mode = True
    adapted = peft.PeftModel(model, config)
    loaded = adapted.load_adapter(
        adapter,
        "default",
        torch_device="cpu",
        key_mapping=getattr(model, "_checkpoint_conversion_mapping", {}),
    )
    if loaded.missing_keys or loaded.unexpected_keys:
        raise ValueError(_describe_misfits(loaded.missing_keys, loaded.unexpected_keys))
    return adapted.merge_and_unload(safe_merge=True)


def _describe_misfits(missing: list[str], unexpected: list[str]) -> str:
    count = len(missing) + len(unexpected)
    names, what = (missing, "lacks") if missing else (unexpected, "has no place for")
    subject = "the adapter" if missing else "the base"
    shown = ", ".join(names[:MAX_SHOWN])
    return f"{count} tensors do not fit: {subject} {what} {shown}{' ...' if len(names) > MAX_SHOWN else ''}"


def _check_base(trained_on: str | None, base: str, spec: str) -> None:
    """Raise ValueError if an adapter names another base. A copy in a folder may have another path, but not name."""
    if not trained_on:
        return
    names = [path.rstrip("/").rpartition("/")[2].casefold() for path in (trained_on, base)]
    if names[0] != names[1]:
        raise ValueError(
            f"{spec}: the adapter was trained on {trained_on}, not on {base} ({CONFIG}, {BASE}). Name that base, or "
            f"correct the file if {base} is a copy of it."
        )
