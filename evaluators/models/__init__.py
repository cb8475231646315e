"""Load models by their specs, and define the interfaces that the engine uses.

A spec is ``backend:name``. These are all backends; ``open_clip:`` is the default and may be omitted:

    ViT-B-32/laion400m_e32            open_clip, architecture/tag, or architecture/path of a weights file
    local:checkpoints/clip-laion      a folder written by ``compeval train`` (open_clip's layout)
    hf-hub:org/name                   open_clip weights on the Hub
    transformers:org/name             CLIP, MetaCLIP 2, SigLIP 1 and 2, ALIGN, FLAVA, BLIP, BLIP-2; or a folder
    sentence-transformers:name        text encoders, for tasks without images; or a folder
    vlm:org/name                      generative models of transformers; see ``compeval.evaluators.models.vlm``
    api:model                         models of an OpenAI-compatible endpoint; see ``compeval.evaluators.models.api``
    python:module:Class               your own class; see ``compeval.evaluators.models.custom``

``?adapter=FOLDER`` after a name merges an adapter of PEFT; see ``compeval.evaluators.models.peft_adapters``.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable
from urllib.parse import quote

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

Precision = Literal["auto", "fp32", "bf16", "fp16"]


class Backend(NamedTuple):
    """What the code needs to know of a backend before one of its models is loaded."""

    module: str
    """Name of the module with its function ``load(name: str, device: str, precision: str) -> Model``."""
    loads_weights: bool = True
    """Weights are loaded in the precision that is asked for. False for endpoints and for the user's own classes."""
    is_on_hub: bool = False
    """A name is a repository on the Hugging Face Hub, unless it is a folder."""
    has_adapters: bool = False
    """Adapters of PEFT can be merged into its models."""
    is_generative: bool = False
    """Its models answer questions, which are settings of the spec."""
    is_published_by_name: bool = False
    """Published scores of its models are recorded under the name without the backend."""


BACKENDS = {
    "open_clip": Backend("compeval.evaluators.models.openclip", has_adapters=True),
    "local": Backend("compeval.evaluators.models.local", has_adapters=True),
    "hf-hub": Backend("compeval.evaluators.models.hub", is_on_hub=True, has_adapters=True),
    "transformers": Backend(
        "compeval.evaluators.models.huggingface",
        is_on_hub=True,
        has_adapters=True,
        is_published_by_name=True,
    ),
    "sentence-transformers": Backend("compeval.evaluators.models.sentence", is_on_hub=True),
    "vlm": Backend(
        "compeval.evaluators.models.vlm",
        is_on_hub=True,
        has_adapters=True,
        is_generative=True,
        is_published_by_name=True,
    ),
    "api": Backend(
        "compeval.evaluators.models.api",
        loads_weights=False,
        is_generative=True,
        is_published_by_name=True,
    ),
    "python": Backend("compeval.evaluators.models.custom", loads_weights=False),
}
"""Backend of each prefix of a spec."""
NUM_RERANKED = 128
"""Candidates that BLIP's code re-ranks (``k_test``), as ARO's authors used it."""


@runtime_checkable
class TextEncoder(Protocol):
    """A model that encodes texts. Probes and text-only baselines need no more than this."""

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        """Return features (T, D) of texts, encoded in batches of about ``batch_size``."""
        ...


@runtime_checkable
class DualEncoder(TextEncoder, Protocol):
    """A model that encodes images and texts separately. The score of a pair is the cosine of their features."""

    def preprocess(self, image: Image, /) -> Any:
        """Turn one RGB image into the input of ``encode_images``. This is called from several threads."""
        ...

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        """Return features (N, D) of preprocessed images, encoded in batches of about ``batch_size``."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """A model that needs one forward pass per pair of image and text (ITM heads, generative models)."""

    def preprocess(self, image: Image, /) -> Any: ...

    def score(self, images: Sequence[Any], texts: Sequence[Any]) -> np.ndarray:
        """Return the scores (B,) of B pairs of image and text. A higher score means a better match."""
        ...


@runtime_checkable
class ReRanker(DualEncoder, PairScorer, Protocol):
    """A pair scorer that ranks candidates by cosine first, and scores only the best ones, in retrieval."""

    num_reranked: int
    """Number of candidates of each query that are scored."""


@runtime_checkable
class CaptionChooser(PairScorer, Protocol):
    """A pair scorer whose ``score`` takes pairs of captions and returns the probabilities (B,) of the first one."""

    chooses: Literal[True]


@runtime_checkable
class PaidScorer(PairScorer, Protocol):
    """A pair scorer whose answers are paid for, or slow."""

    max_requests: int
    asks_again: bool
    """True if answers that were stored before this run are asked for again."""

    def estimate_cost(self, questions: Iterable[tuple[Any, Any]]) -> str:
        """Return what the pairs of image and text cost. Raises ValueError if this is above the maximum."""
        ...


@runtime_checkable
class TruncatingReader(Protocol):
    """A model that reads a limited number of tokens, and knows which texts are longer."""

    @property
    def max_tokens(self) -> int:
        """The number of tokens that the model reads of a text."""
        ...

    def find_truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return whether each text has more than ``max_tokens`` tokens, (T,) bool."""
        ...


@runtime_checkable
class TextRecoverer(Protocol):
    """A text encoder with a decoder that was trained to recover the encoded texts."""

    def recover(self, texts: Sequence[str]) -> list[str]:
        """Encode each text as one vector and return the text decoded from this vector."""
        ...


@dataclass(frozen=True)
class Model:
    """A loaded model, and what a result document says about it."""

    spec: str
    name: str
    """Short name for tables."""
    encoder: DualEncoder | PairScorer | TextEncoder | TextRecoverer | None
    """The loaded model; None if the scores are read from a file."""
    fingerprint: str
    """Digest of the weights, preprocessing, tokeniser and precision."""
    precision: str = "fp32"
    effective: str | None = None
    """Spec of the model that ran, if it differs from the requested spec (QuickGELU)."""
    corpus: str | None = None
    """Training data of the model, if known: a corpus of CREPE's systematicity splits, or another name."""
    corpus_source: str = "web"
    """``web`` if the corpus is the real one, ``microworld`` if it is the synthetic replacement."""
    contaminated: str | None = None
    """Reason why the model's scores are marked in tables, for example training on test images."""
    text_encoder: str | None = None
    """Spec of the text encoder whose vectors a recovery probe decodes; None for other models."""
    scoring: Mapping[str, Any] | None = None
    """Method, question and answers of a generative model. None for other models."""
    adapter: Mapping[str, str] | None = None
    """Title and digest of the adapter of PEFT that was merged into the weights; None for other models."""
    keeps_features: bool = True
    """True if features are stored on disk, and stored features and results are reused.

    False if nothing tells whether the model has changed (a class without a fingerprint, an endpoint), and for a run
    that computes everything again (``--no-cache``): features are then kept in memory.
    """
    warnings: tuple[str, ...] = ()
    """Warnings for readers of the model's results."""
    source_file: Path | None = None
    """File of the user's class, whose changes its fingerprint may not tell; None for other models."""


MAX_SLUG = 120
"""Maximum length of a folder name. Longer names are cut and end in a hash."""


def slug(spec: str) -> str:
    """Return the spec as a folder name; different specs have different names.

    A slash becomes ``--``, a colon ``=``, and other characters that a file name may not have are percent-encoded.
    """
    parts = (
        quote(part, safe=" (),+@").replace("%3A", "=").replace("--", "%2D%2D")
        for part in spec.split("/")
    )
    name = "--".join(re.sub(r"^-|-$", "%2D", part) for part in parts)
    return (
        name
        if len(name) <= MAX_SLUG
        else f"{name[:MAX_SLUG]}~{hashlib.sha256(spec.encode()).hexdigest()[:16]}"
    )


def split_spec(spec: str) -> tuple[str, str]:
    """Split the spec of any model, also of a published result, into backend and name. Neither need exist."""
    backend, colon, name = spec.partition(":")
    return (backend, name) if colon else ("open_clip", spec)


def parse(spec: str) -> tuple[str, str]:
    """Split a spec into backend and name. Raises ValueError if the backend is unknown or the name is empty."""
    backend, name = split_spec(spec)
    if backend not in BACKENDS:
        from compeval.loaders.datasets.folders import unknown_name

        raise unknown_name("model backend", backend, BACKENDS)
    if not name:
        raise ValueError(f"Model {spec!r} has no name after {backend}:.")
    return backend, name


def pick_device(device: str | None = None) -> str:
    """Return the device, by default the fastest available. Raises ValueError if the device cannot be used."""
    from compeval.evaluators.models.checks import check_device, refuse_device

    try:
        check_device(device or "cuda")
    except ValueError:
        if device is None:
            return "cpu"  # without the import of torch
        raise
    if device == "cpu":
        return device
    import torch

    if device is None:
        return (
            "cuda"
            if torch.cuda.is_available()
            else "mps"
            if torch.backends.mps.is_available()
            else "cpu"
        )
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise refuse_device(device, str(error).splitlines()[0].split(". ")[0]) from None
    return device


def choose_precision(precision: Precision, device: str) -> Precision:
    """Return the precision; for ``auto``, bf16 on a GPU that computes it (Ampere and later), otherwise fp32."""
    if precision != "auto":
        return precision
    if not device.startswith("cuda"):
        return "fp32"
    import torch

    with torch.cuda.device(device):
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"


def load_model(spec: str, device: str = "cpu", precision: Precision = "auto") -> Model:
    """Load the model of a spec. For fp32 on a GPU, TF32 is switched off in the whole process (``torch.backends``).

    Raises ValueError or FileNotFoundError, with a clear message, if the model cannot be loaded.
    """
    backend, name = parse(spec)
    precision = choose_precision(precision, device)
    if precision == "fp32" and device.startswith("cuda"):
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False  # PyTorch allows it by default
    return importlib.import_module(BACKENDS[backend].module).load(name, device, precision)


def known_models() -> list[str]:
    """Return the specs of the checkpoints in the current folder and of all pretrained weights of open_clip."""
    from compeval.evaluators.models.open_clip_names import list_pretrained

    local = [
        f"local:{path.parent}"
        for path in sorted(Path("checkpoints").glob("*/open_clip_config.json"))
    ]
    return [*local, *(f"{architecture}/{tag}" for architecture, tag in list_pretrained())]
