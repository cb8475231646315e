"""Your own model: ``python:my_module:MyModel``, a class in a module that Python finds (the current folder counts).

It is called with the device and has a ``fingerprint``, a text that changes whenever its scores may (weights,
transform): features are cached under it. A dual encoder:

    class MyModel:
        fingerprint = "my-model, epoch 12"

        def __init__(self, device: str): ...
        def encode_image(self, images: list[PIL.Image.Image]): ...   # (B, D), array or tensor
        def encode_text(self, texts: list[str]): ...                 # (B, D)

A pair scorer, for models that read image and text together (ITM heads; generative models through the likelihood of
"yes" to "does this image show ...?": ``evaluators.models.yes_likelihood``), has instead

        def score(self, images: list[PIL.Image.Image], texts: list[str]): ...   # (B,), higher is better

A recoverer, for tasks of texts alone, gives its texts back from nothing but its encoding of them:

        def recover(self, texts: list[str]) -> list[str]: ...

Optional: ``corpus`` (what it was trained on), ``contaminated`` (why its numbers need a mark).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from evaluators.models import Model, TextRecoverer, fingerprint
from evaluators.models.batches import in_batches


def load(name: str, device: str, precision: str) -> Model:
    """The class that ``module:Class`` names, called with the device. It chooses its precision itself."""
    module_name, _, class_name = name.partition(":")
    if not class_name:
        raise ValueError(f"python:{name}: expected python:module:Class.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ValueError(f"python:{name}: {error}. The current folder and PYTHONPATH are searched.") from None
    if not hasattr(module, class_name):
        raise ValueError(f"python:{name}: {module_name} has no {class_name}.")
    theirs = getattr(module, class_name)(device)
    if not isinstance(getattr(theirs, "fingerprint", None), str):
        raise ValueError(f"python:{name}: needs an attribute `fingerprint`, a text that changes with the weights.")
    return Model(
        spec=f"python:{name}",
        name=class_name,
        encoder=adapt(theirs, f"python:{name}"),
        fingerprint=fingerprint.of_json([name, theirs.fingerprint]),
        precision="custom",
        corpus=getattr(theirs, "corpus", None),
        contaminated=getattr(theirs, "contaminated", None),
    )


def adapt(theirs: Any, spec: str) -> CustomDualEncoder | CustomPairScorer | TextRecoverer:
    """The engine's view of it. ValueError naming what is missing."""
    if isinstance(theirs, TextRecoverer):
        return theirs
    if hasattr(theirs, "score"):
        return CustomPairScorer(theirs)
    for method in ("encode_image", "encode_text"):
        if not hasattr(theirs, method):
            raise ValueError(
                f"{spec}: has no {method}; a model has encode_image and encode_text, or score, or recover."
            )
    return CustomDualEncoder(theirs)


class CustomDualEncoder:
    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs
        self._sizes: dict[str, int] = {}
        """Method -> size of its features."""

    def preprocess(self, image: Image) -> Image:
        return image

    def encode_images(self, images: Sequence[Image], batch_size: int) -> np.ndarray:
        return in_batches(partial(self._features, "encode_image"), images, batch_size)

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        return in_batches(partial(self._features, "encode_text"), texts, batch_size)

    def _features(self, method: str, batch: Sequence[Any]) -> np.ndarray:
        """Features (B, D). ValueError if they are none, or if images and texts have other sizes."""
        feature_BD = as_array(getattr(self._theirs, method)(list(batch)), len(batch), method)
        if feature_BD.ndim != 2:
            raise ValueError(
                f"{method} gave shape {feature_BD.shape} for {len(batch)} inputs, ({len(batch)}, D) expected."
            )
        self._sizes[method] = feature_BD.shape[1]
        if len(set(self._sizes.values())) > 1:
            told = ", ".join(f"{name} {size}" for name, size in self._sizes.items())
            raise ValueError(f"Features of images and of texts have different sizes: {told}.")
        return feature_BD


class CustomPairScorer:
    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def preprocess(self, image: Image) -> Image:
        return image

    def score(self, images: Sequence[Image], texts: Sequence[str]) -> np.ndarray:
        score_B = as_array(self._theirs.score(list(images), list(texts)), len(texts), "score")
        if score_B.size != len(texts):
            raise ValueError(f"score gave shape {score_B.shape} for {len(texts)} pairs, one number a pair expected.")
        return score_B


def as_array(value: Any, rows: int, method: str) -> np.ndarray:
    """float32 array of an array or tensor with one row per input. ValueError if it has another number of rows."""
    if hasattr(value, "detach"):
        value = value.detach().float().cpu().numpy()
    array = np.asarray(value, dtype=np.float32)
    if array.shape[:1] != (rows,):
        raise ValueError(f"{method} gave shape {array.shape} for {rows} inputs.")
    return array
