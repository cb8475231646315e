"""Evaluate your own model: ``python:my_module:MyModel`` names a class in a module.

The module is searched on Python's path and, if it is not there, in the current folder. The class is
called with the device if it takes one. ``python:my_module:MyModel?path=epoch_12.pt`` calls it with ``path`` as well;
values are texts, and several are separated by ``&``.
A dual encoder looks like this:

    class MyModel:
        fingerprint = "my-model, epoch 12"

        def __init__(self, device: str): ...
        def encode_image(self, images: list[PIL.Image.Image]): ...   # (B, D), array or tensor
        def encode_text(self, texts: list[str]): ...                 # (B, D)

``fingerprint`` is optional. Features and results are stored under it, so it must change whenever the scores may change
(new weights, another transform): ``compeval.fingerprint(model)`` is the digest of a PyTorch model's weights. Without
it, nothing is cached and every run evaluates all tasks again.

A pair scorer reads image and text together. Generative models need no class (``vlm:NAME``). Instead of the two encode
methods, a pair scorer has

        def score(self, images: list[PIL.Image.Image], texts: list[str]): ...   # (B,), higher is better

A class with all three methods is a pair scorer that re-ranks in retrieval: the ``num_reranked`` candidates (128, as in
BLIP's code) with the highest cosine are ordered by ``score``.

A recoverer, for tasks without images, encodes each text as one vector and decodes the text from this vector only:

        def recover(self, texts: list[str]) -> list[str]: ...

Optional attributes are ``corpus`` (the training data) and ``contaminated`` (the reason why tables mark the scores).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import torch
from PIL.Image import Image

from compeval.evaluators.models import NUM_RERANKED, Model, fingerprint
from compeval.evaluators.models.batches import in_batches
from compeval.evaluators.models.checks import check_module
from compeval.evaluators.models.pixels import keep_image

RANDOM = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._BatchNorm)
"""Modules whose outputs in training mode depend on chance, or on the other inputs of the batch."""
NO_FINGERPRINT = "The class has no attribute `fingerprint`: nothing was cached."


def load(name: str, device: str, precision: str) -> Model:
    """Create an instance of ``module:Class``. The class chooses its own precision, so ``precision`` is ignored."""
    spec = f"python:{name}"
    module_name = check_module(name)
    written = name.partition(":")[2]
    class_name, _, query = written.partition("?")
    arguments = dict(parse_qsl(query, keep_blank_values=True))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module_name}.".startswith(f"{error.name}."):
            raise ValueError(
                f"{spec}: {module_name} imports {error.name}, which is not installed."
            ) from None
        raise ValueError(
            f"{spec}: {error}. The current folder and PYTHONPATH are searched."
        ) from None
    except Exception as error:
        raise _failed(spec, f"importing {module_name}", error) from error
    if not hasattr(module, class_name):
        raise ValueError(f"{spec}: {module_name} has no {class_name}.")
    try:
        model = _create(getattr(module, class_name), device, arguments)
    except Exception as error:
        call_arguments = ", ".join(
            [repr(device), *(f"{key}={text!r}" for key, text in arguments.items())]
        )
        raise _failed(spec, f"{class_name}({call_arguments})", error) from error
    loaded = wrap(model, spec, written, device)
    if not loaded.keeps_features:
        return replace(loaded, warnings=(*loaded.warnings, NO_FINGERPRINT))
    file = getattr(module, "__file__", None)
    return replace(loaded, source_file=Path(file) if file else None)


def wrap(model: Any, spec: str, name: str, device: str) -> Model:
    """Return the model for an object of the user's class. Raises ValueError if a method is missing."""
    written = getattr(model, "fingerprint", None)
    if not isinstance(written, str | None):
        raise ValueError(
            f"{spec}: its fingerprint is {written!r}, a string expected that changes with the weights."
        )
    return Model(
        spec=spec,
        name=name,
        encoder=adapt(model, spec, device),
        fingerprint=fingerprint.of_json([spec.removeprefix("python:"), written]),
        precision="custom",
        keeps_features=written is not None,
        corpus=getattr(model, "corpus", None),
        contaminated=getattr(model, "contaminated", None),
        warnings=tuple(_warn_of_training_mode(model)),
    )


def _warn_of_training_mode(model: Any) -> Iterator[str]:
    """Yield a warning for an object, or each attribute of it, that is a torch module and may not repeat its outputs."""
    named = (
        {"the model": model}
        if isinstance(model, torch.nn.Module)
        else getattr(model, "__dict__", {})
    )
    for name, value in named.items():
        modules = value.modules() if isinstance(value, torch.nn.Module) else ()
        random = (
            part
            for part in modules
            if part.training and isinstance(part, RANDOM) and getattr(part, "p", 1) > 0
        )
        if kinds := sorted({type(part).__name__ for part in random}):
            yield f"{name} is in training mode (with {', '.join(kinds)}), so the scores may be random: call its eval()."


def _create(kind: Any, device: str, arguments: Mapping[str, str]) -> Any:
    """Return an instance of a class, with the arguments, and with the device if its constructor takes one more."""
    try:
        parameters = inspect.signature(kind).parameters
    except (TypeError, ValueError):  # a class of an extension, without a signature
        return kind(device, **arguments)
    others = [name for name in parameters if name not in arguments]
    if others and others[0] == next(iter(parameters)):
        return kind(device, **arguments)
    return kind(**arguments, device=device) if "device" in others else kind(**arguments)


def _failed(spec: str, step: str, error: Exception) -> ValueError:
    """Return the error for the user's own code that failed."""
    return ValueError(
        f"{spec}: {step} failed ({type(error).__name__}: {error}). --verbose prints the traceback."
    )


def adapt(
    model: Any, spec: str, device: str = "cpu"
) -> CustomDualEncoder | CustomPairScorer | CustomRecoverer:
    """Return the model with an interface that the engine uses. Raises ValueError if a method is missing."""
    if hasattr(model, "recover"):
        return CustomRecoverer(model, spec)
    missing = [method for method in ("encode_image", "encode_text") if not hasattr(model, method)]
    if hasattr(model, "score"):
        return (CustomPairScorer if missing else CustomReRanker)(model, spec, device)
    if missing:
        raise ValueError(
            f"{spec}: has no {missing[0]}. A model needs encode_image and encode_text, or score, or recover."
        )
    return CustomDualEncoder(model, spec, device)


class _Custom:
    preprocess = staticmethod(keep_image)

    def __init__(self, model: Any, spec: str, device: str = "cpu") -> None:
        self.model = model
        self._spec = spec
        self.device = device

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the user's class. Raises ValueError, which names the method, if it fails.

        The device running out of memory is not an error of the method: the engine tries again with a smaller batch.
        """
        try:
            return getattr(self.model, method)(*arguments)
        except Exception as error:
            if isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error).lower():
                raise
            raise _failed(self._spec, method, error) from error


class CustomRecoverer(_Custom):
    def recover(self, texts: Sequence[str]) -> list[str]:
        recovered = self._call("recover", list(texts))
        if not isinstance(recovered, list) or [type(text) for text in recovered] != [str] * len(
            texts
        ):
            raise ValueError(f"{self._spec}: recover returned no list of {len(texts)} strings.")
        return recovered


class CustomDualEncoder(_Custom):
    gets_whole_images = True

    def __init__(self, model: Any, spec: str, device: str = "cpu") -> None:
        super().__init__(model, spec, device)
        self._sizes: dict[str, int] = {}
        """Size of the features that each method returned."""

    def encode_images(self, images: Sequence[Image], batch_size: int) -> np.ndarray:
        return in_batches(partial(self._features, "encode_image"), images, batch_size)

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        return in_batches(partial(self._features, "encode_text"), texts, batch_size)

    def _features(self, method: str, batch: Sequence[Any]) -> np.ndarray:
        """Return features (B, D). Raises ValueError for any other shape, or if images and texts have a different D."""
        feature_BD = as_array(self._call(method, list(batch)), len(batch), method)
        if feature_BD.ndim != 2:
            raise ValueError(
                f"{method} returned shape {feature_BD.shape} for {len(batch)} inputs, ({len(batch)}, D) expected."
            )
        self._sizes[method] = feature_BD.shape[1]
        if len(set(self._sizes.values())) > 1:
            sizes = ", ".join(f"{name} {size}" for name, size in self._sizes.items())
            raise ValueError(f"Features of images and of texts have different sizes: {sizes}.")
        return feature_BD


class CustomPairScorer(_Custom):
    def score(self, images: Sequence[Image], texts: Sequence[str]) -> np.ndarray:
        score_B = as_array(self._call("score", list(images), list(texts)), len(texts), "score")
        if score_B.size != len(texts):
            raise ValueError(
                f"score returned shape {score_B.shape} for {len(texts)} pairs, one number each expected."
            )
        return score_B


class CustomReRanker(CustomDualEncoder, CustomPairScorer):
    @property
    def num_reranked(self) -> int:
        return getattr(self.model, "num_reranked", NUM_RERANKED)


def as_array(value: Any, num_inputs: int, method: str) -> np.ndarray:
    """Convert an array or tensor to a float64 array. Raises ValueError if it does not have one row per input."""
    if hasattr(value, "detach"):
        value = value.detach().double().cpu().numpy()
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{method} returned {type(value).__name__}, numbers for {num_inputs} inputs expected."
        ) from None
    if array.shape[:1] != (num_inputs,):
        what = f"shape {array.shape}" if array.ndim else type(value).__name__
        raise ValueError(f"{method} returned {what} for {num_inputs} inputs.")
    return array
