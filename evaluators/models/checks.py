"""Check the name of a model and of a device without loading anything heavy: a mistake is reported in a second.

What these checks let pass may still fail when the model is loaded, with the same messages.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import socket
import sys
import urllib.request
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from compeval.evaluators.models import BACKENDS, open_clip_names, parse, peft_adapters
from compeval.evaluators.models.local_folder import check_folder, is_probe_folder

HUB = "https://huggingface.co"
SCORES = ("@itm+itc", "@itm", "@itc")
"""Suffixes of a transformers model's name that choose the score (``compeval.evaluators.models.huggingface``)."""
ENGINES = ("@vllm",)
"""Suffixes of a generative model's name that choose the library (``compeval.evaluators.models.vllm_engine``)."""
DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "npu", "xla")
SECONDS_TO_CONNECT = 3


def check_name(spec: str) -> None:
    """Raise ValueError or FileNotFoundError if a spec names no known model, folder or module. Nothing is loaded."""
    backend, name = parse(spec)
    if BACKENDS[backend].has_adapters and (adapter := peft_adapters.find_setting(name)):
        peft_adapters.check_folder(adapter, spec)
        name = name.partition("?")[0]
    if backend == "open_clip":
        open_clip_names.parse_name(name)
    elif backend == "local":
        if not is_probe_folder(Path(name)):
            check_folder(name)
    elif backend == "python":
        check_module(name)
    elif is_path(name) and not Path(_remove_suffix(name)).is_dir():
        raise unavailable(spec, name, OSError())


def check_module(name: str) -> str:
    """Return the module of ``module:Class``. Raises ValueError if it is not found."""
    module, _, class_name = name.partition(":")
    if not class_name:
        raise ValueError(f"python:{name}: expected python:module:Class.")
    if module.endswith(".py") or "/" in module:
        path = Path(module).with_suffix("")
        hint = "Add its folder to PYTHONPATH, and name it without the folder."
        if not path.is_absolute() and ".." not in path.parts:
            hint = f"Did you mean python:{'.'.join(path.parts)}:{class_name}?"
        raise ValueError(f"python:{name}: expected a module, not a file. {hint}")
    search_current_folder(module)
    error = f"No module named {module!r}"
    try:
        if importlib.util.find_spec(module):
            return module
    except ModuleNotFoundError as missing:
        error = str(missing)
    except Exception:  # the module's package fails, which the import reports
        return module
    raise ValueError(f"python:{name}: {error}. The current folder and PYTHONPATH are searched.")


class _CurrentFolderFinder:
    """Finds a top-level module of the user's own in the current folder, if no other finder has found it.

    These are the named modules, and those that a module from this folder imports. A library that tries to import an
    optional package does not get a file with its name.
    """

    named: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        if path is None and (
            name in cls.named or _find_importing_file().is_relative_to(Path.cwd())
        ):
            return PathFinder.find_spec(name, [str(Path.cwd())], target)
        return None


def _find_importing_file() -> Path:
    """Return the file of the code that imports a module, seen from a finder."""
    frame = sys._getframe(2)
    while frame.f_back and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return Path(frame.f_code.co_filename).absolute()


def search_current_folder(module: str) -> None:
    """Let this process import a module of the user's own (``python:``) from the current folder.

    The folder is not added to Python's path, which worker processes get, too.
    """
    _CurrentFolderFinder.named.add(module.partition(".")[0])
    if _CurrentFolderFinder not in sys.meta_path:
        sys.meta_path.append(_CurrentFolderFinder)


def check_available(spec: str) -> None:
    """Raise FileNotFoundError if the files of a model must be downloaded, and the Hugging Face Hub is not reachable."""
    backend, name = parse(spec)
    name = _remove_suffix(name)
    if backend == "open_clip":
        tag = open_clip_names.get_pretrained_cfg(*open_clip_names.split(name))
        repository = str(tag.get("hf_hub", "")).rstrip("/")
    elif BACKENDS[backend].is_on_hub:
        repository = "" if Path(name).is_dir() else name
        if backend == "sentence-transformers" and repository and "/" not in repository:
            repository = f"sentence-transformers/{repository}"
    else:
        return
    if repository and not _is_cached(repository) and (reason := _find_connection_error()):
        if backend == "open_clip":
            raise open_clip_names.missing_weights(name, reason)
        raise unavailable(spec, name, OSError(reason))


def _remove_suffix(name: str) -> str:
    """Return the repository or folder of a name: without settings and the suffix that chooses score or library."""
    name = name.partition("?")[0]
    suffixes = (suffix for suffix in (*SCORES, *ENGINES) if name.endswith(suffix))
    return name.removesuffix(next(suffixes, ""))


def _is_cached(repository: str) -> bool:
    """Return True if a snapshot of the repository is in the cache of the Hub's client."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return any(Path(HF_HUB_CACHE).glob(f"models--{repository.replace('/', '--')}/snapshots/*"))


def _find_connection_error() -> str:
    """Return why the Hub cannot be reached, "" if it can or if a proxy decides."""
    url = urlsplit(os.environ.get("HF_ENDPOINT") or HUB)
    has_proxy = not {"http", "https", "all"}.isdisjoint(urllib.request.getproxies())
    if not url.hostname or (has_proxy and not urllib.request.proxy_bypass(url.hostname)):
        return ""
    try:
        port = url.port or (80 if url.scheme == "http" else 443)
        socket.create_connection((url.hostname, port), SECONDS_TO_CONNECT).close()
    except OSError as error:
        return f"{url.hostname}: {error.strerror or error}"
    return ""


def is_path(name: str) -> bool:
    """Return True for a name that can only be a folder."""
    return Path(name).is_absolute() or name.startswith(".")


def unavailable(spec: str, repository: str, error: Exception) -> FileNotFoundError:
    """Return the error for a repository that cannot be downloaded, or for a folder with missing or damaged files."""
    reason = (str(error).splitlines() or [""])[0]
    if Path(repository).is_dir():
        return FileNotFoundError(f"{spec}: files of the folder are missing or damaged ({reason}).")
    if is_path(repository):
        return FileNotFoundError(f"{spec}: no such folder.")
    return FileNotFoundError(
        f"{spec}: its files are not on this machine and could not be downloaded ({reason}).\n"
        f"With a network: `hf download {repository}` (into HF_HOME, then HF_HUB_OFFLINE=1 works without one)."
    )


def check_device(device: str) -> None:
    """Raise ValueError for an unknown device, and for a GPU without a driver, without the import of PyTorch."""
    family = device.partition(":")[0]
    if family not in DEVICES or not re.fullmatch(r"\w+(:\d+)?", device):
        raise refuse_device(
            device, f"expected {', '.join(DEVICES[:3])} or, of several devices, cuda:1"
        )
    if family == "mps" and sys.platform != "darwin":
        raise refuse_device(device, "only Macs have it")
    is_rocm = "rocm" in version("torch") or Path("/dev/kfd").exists()
    if family == "cuda" and sys.platform == "linux" and not is_rocm:
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise refuse_device(device, "no NVIDIA driver was found") from None


def refuse_device(device: str, reason: str) -> ValueError:
    """Return the error for a device that cannot be used."""
    return ValueError(f"Device {device!r} cannot be used ({reason}). Try --device cpu.")
