"""Models: what a spec names, and the two shapes of model that the engine knows.

Specs (a closed set of backends; ``open_clip:`` is the default):

    ViT-B-32/laion400m_e32            open_clip, architecture/tag, or architecture/path of a weights file
    local:checkpoints/clip-laion      a folder of our own training (open_clip's layout)
    hf-hub:org/name                   open_clip weights on the Hub
    transformers:org/name             CLIP, SigLIP, ALIGN, FLAVA, BLIP-ITM; a folder too
    sentence-transformers:name        text encoders alone, for what needs no image; a folder too
    python:module:Class               your own class, see ``evaluators.models.custom``
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

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
class DualEncoder(Protocol):
    """Images and texts are encoded apart; the score of a pair is the cosine of their features."""

    def preprocess(self, image: Image, /) -> Any:
        """What ``encode_images`` takes for one RGB image; called from several threads."""
        ...

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        """Features (N, D) of preprocessed images, about ``batch_size`` of them at a time."""
        ...

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        """Features (T, D) of texts, about ``batch_size`` of them at a time."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """Image and text are read together (ITM heads, generative models): one forward pass a pair."""

    def preprocess(self, image: Image, /) -> Any: ...

    def score(self, images: Sequence[Any], texts: Sequence[str]) -> np.ndarray:
        """Scores (B,) of B pairs, higher is better."""
        ...


@runtime_checkable
class TextEncoder(Protocol):
    """Texts alone: for probes and text-only baselines. Every dual encoder is one, too."""

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        """Features (T, D) of texts."""
        ...


@runtime_checkable
class TextRecoverer(Protocol):
    """A text encoder with a decoder that was trained to give its texts back."""

    def recover(self, texts: Sequence[str]) -> list[str]:
        """What the decoder makes of each text's encoding."""
        ...


@dataclass(frozen=True)
class Model:
    """A loaded model and what a result says about it."""

    spec: str
    name: str
    """For tables."""
    encoder: DualEncoder | PairScorer | TextEncoder | TextRecoverer | None
    """None where the scores come from a file."""
    fingerprint: str
    """Over weights, preprocessing, tokeniser and precision."""
    precision: str = "fp32"
    effective: str | None = None
    """The model that ran, where it is not the one asked for (QuickGELU)."""
    corpus: str | None = None
    """What it was trained on, if known: a corpus of CREPE's systematicity splits, or another name."""
    corpus_source: str = "web"
    """``web`` for the real corpus, ``microworld`` for its synthetic stand-in."""
    contaminated: str | None = None
    """Why its numbers need a mark: trained on images of the tests."""
    text_encoder: str | None = None
    """Of a recovery probe the spec of the model whose vectors it reads."""
    warnings: tuple[str, ...] = ()
    """What a reader of its results must know."""

    @property
    def slug(self) -> str:
        """The spec as a folder name."""
        return slug(self.spec)


def slug(spec: str) -> str:
    return re.sub(r"[/\\:]+", "-", spec).strip("-")


def parse(spec: str) -> tuple[str, str]:
    """Backend and name of a spec."""
    backend, colon, name = spec.partition(":")
    if not colon:
        return "open_clip", spec
    if backend not in BACKENDS:
        from loaders import unknown

        raise unknown("model backend", backend, BACKENDS)
    if not name:
        raise ValueError(f"Model {spec!r} names nothing after {backend}:.")
    return backend, name


def pick_device(device: str | None = None) -> str:
    """The device asked for, else the best one here. ValueError if it is not here."""
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


def resolve(spec: str, device: str = "cpu", precision: Precision = "auto") -> Model:
    """Load the model that a spec names. ValueError or FileNotFoundError with one clear message where it cannot be."""
    backend, name = parse(spec)
    if precision == "auto":
        precision = "bf16" if device.startswith("cuda") else "fp32"
    return importlib.import_module(BACKENDS[backend]).load(name, device, precision)
