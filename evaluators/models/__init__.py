"""Models: what a spec names, and the interfaces that the engine knows.

Specs (a closed set of backends; ``open_clip:`` is the default):

    ViT-B-32/laion400m_e32            open_clip, architecture/tag, or architecture/path of a weights file
    local:checkpoints/clip-laion      a folder of our own training (open_clip's layout)
    hf-hub:org/name                   open_clip weights on the Hub
    transformers:org/name             CLIP, SigLIP, ALIGN, FLAVA, BLIP-ITM; or a folder
    sentence-transformers:name        text encoders, for tasks without images; or a folder
    python:module:Class               your own class, see ``evaluators.models.custom``
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable
from urllib.parse import quote

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

Precision = Literal["auto", "fp32", "bf16", "fp16"]

BACKENDS = {
    "open_clip": "evaluators.models.openclip",
    "local": "evaluators.models.local",
    "hf-hub": "evaluators.models.hub",
    "transformers": "evaluators.models.huggingface",
    "sentence-transformers": "evaluators.models.sentence",
    "python": "evaluators.models.custom",
}
"""Backend -> module with ``load(name: str, device: str, precision: str) -> Model``."""


@runtime_checkable
class TextEncoder(Protocol):
    """Encodes texts: for probes and text-only baselines."""

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        """Features (T, D) of texts, in batches of about ``batch_size``."""
        ...


@runtime_checkable
class DualEncoder(TextEncoder, Protocol):
    """Encodes images and texts separately; the score of a pair is the cosine of their features."""

    def preprocess(self, image: Image, /) -> Any:
        """The input of ``encode_images`` for one RGB image; called from several threads."""
        ...

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        """Features (N, D) of preprocessed images, in batches of about ``batch_size``."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """Reads image and text together (ITM heads, generative models): one forward pass per pair."""

    def preprocess(self, image: Image, /) -> Any: ...

    def score(self, images: Sequence[Any], texts: Sequence[str]) -> np.ndarray:
        """Scores (B,) of B pairs, higher is better."""
        ...


@runtime_checkable
class TextRecoverer(Protocol):
    """A text encoder with a decoder that was trained to recover its texts."""

    def recover(self, texts: Sequence[str]) -> list[str]:
        """The decoded text of each text's encoding."""
        ...


@dataclass(frozen=True)
class Model:
    """A loaded model and its part of a result document."""

    spec: str
    name: str
    """For tables."""
    encoder: DualEncoder | PairScorer | TextEncoder | TextRecoverer | None
    """None if the scores come from a file."""
    fingerprint: str
    """Over weights, preprocessing, tokeniser and precision."""
    precision: str = "fp32"
    effective: str | None = None
    """The model that ran, if it differs from the one requested (QuickGELU)."""
    corpus: str | None = None
    """Its training data, if known: a corpus of CREPE's systematicity splits, or another name."""
    corpus_source: str = "web"
    """``web`` for the real corpus, ``microworld`` for its synthetic stand-in."""
    contaminated: str | None = None
    """Reason why its scores are marked: trained on test images."""
    text_encoder: str | None = None
    """Of a recovery probe: the spec of the model whose vectors it reads."""
    warnings: tuple[str, ...] = ()
    """Warnings for readers of its results."""


MAX_SLUG = 120
"""Characters of a folder name; longer ones end in a hash."""


def slug(spec: str) -> str:
    """Return the spec as a folder name; different specs have different names.

    A slash becomes ``--``, a colon ``=``, and other characters that a file name may not have are percent-encoded.
    """
    parts = (quote(part, safe=" (),+@").replace("%3A", "=").replace("--", "%2D%2D") for part in spec.split("/"))
    name = "--".join(re.sub(r"^-|-$", "%2D", part) for part in parts)
    return name if len(name) <= MAX_SLUG else f"{name[:MAX_SLUG]}~{hashlib.sha256(spec.encode()).hexdigest()[:16]}"


def parse(spec: str) -> tuple[str, str]:
    """Backend and name of a spec."""
    backend, colon, name = spec.partition(":")
    if not colon:
        return "open_clip", spec
    if backend not in BACKENDS:
        from loaders.datasets.folders import unknown_name

        raise unknown_name("model backend", backend, BACKENDS)
    if not name:
        raise ValueError(f"Model {spec!r} names nothing after {backend}:.")
    return backend, name


def pick_device(device: str | None = None) -> str:
    """The device, by default the fastest one available. ValueError if it cannot be used."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"Device {device!r} cannot be used ({str(error).splitlines()[0].split('. ')[0]}). Try --device cpu."
        ) from None
    return device


def _computes_bf16(device: str) -> bool:
    """Return True for a GPU that computes in bfloat16 (Ampere and later) without emulating it."""
    import torch

    if not device.startswith("cuda"):
        return False
    with torch.cuda.device(device):
        return torch.cuda.is_bf16_supported(including_emulation=False)


def resolve(spec: str, device: str = "cpu", precision: Precision = "auto") -> Model:
    """Load the model of a spec. ValueError or FileNotFoundError, with one clear message, if that fails."""
    backend, name = parse(spec)
    if precision == "auto":
        precision = "bf16" if _computes_bf16(device) else "fp32"
    return importlib.import_module(BACKENDS[backend]).load(name, device, precision)


def known_models() -> list[str]:
    """Specs of our own checkpoints in the current folder, then of all open_clip weights."""
    import open_clip

    local = [f"local:{path.parent}" for path in sorted(Path("checkpoints").glob("*/open_clip_config.json"))]
    return [*local, *(f"{architecture}/{tag}" for architecture, tag in open_clip.list_pretrained())]
