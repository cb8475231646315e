"""Compute fingerprints: short hex digests of everything that a result depends on.

A fingerprint does not depend on the time, the machine or any path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from compeval.base.pipeline.code_digest import list_code_files, strip_comments
from compeval.base.storage import crops

DIGEST_BYTES = 16
ENCODING_PACKAGES = (
    "pillow",
    "torch",
    "torchvision",
    "open_clip_torch",
    "transformers",
    "sentence-transformers",
)
"""Packages that decode, resize and encode. Cached features are not reused with another version of them."""


def digest(*parts: bytes) -> bytes:
    """Return 16 bytes of BLAKE2b over the parts and their lengths."""
    state = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.digest()


def digest_each(items: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Return the digest of the parts of each item."""
    return [digest(*parts) for parts in items]


def of_json(value: Any) -> str:
    """Return the hex digest of a JSON value, which does not depend on the order of its keys."""
    return digest(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hex()


def of_weights(state: Mapping[str, Any]) -> str:
    """Return the hex digest of a PyTorch state dict: names, types, shapes and values, but not the device."""
    import torch

    total = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy())
    return total.hexdigest()


def fingerprint(model: Any) -> str:
    """Return the hex digest of a model's weights, for the attribute ``fingerprint`` of a class of your own.

    Args:
        model: A module of PyTorch, or its state dict.
    """
    return of_weights(model if isinstance(model, Mapping) else model.state_dict())


def of_tokenizer(tokenizer: Any) -> str:
    """Return the hex digest of a tokeniser of transformers: vocabulary, rules and maximum length."""
    rules = tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else tokenizer.get_vocab()
    return of_json([type(tokenizer).__name__, rules, tokenizer.model_max_length])


def of_features(model_fingerprint: str) -> str:
    """Return the hex digest under which a model's features are cached.

    It covers the model, the code that decodes and encodes, and the versions of the packages that do so.
    """
    return of_json([model_fingerprint, _encoding_code(), _encoding_versions()])


@cache
def _encoding_code() -> str:
    """Return the hex digest of the code that decodes and crops images, and of all model adapters."""
    files = [*list_code_files(Path(crops.__file__)), *sorted(Path(__file__).parent.glob("*.py"))]
    return of_json(
        [strip_comments(file.read_text(encoding="utf-8")) for file in files if file.suffix == ".py"]
    )


def _encoding_versions() -> dict[str, str]:
    versions = {}
    for package in ENCODING_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
