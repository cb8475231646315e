"""The part of a run that a Ray actor executes: prepare and compute the chunks that it is sent. See ``cluster``."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from compeval.evaluators.engine.compute import (
    Chunk,
    OnError,
    Results,
    start_computing,
    start_preparing,
)
from compeval.evaluators.models import (
    DualEncoder,
    Model,
    PaidScorer,
    PairScorer,
    Precision,
    resolve,
)

MEMBERS = (
    "preprocess", "encode_images", "encode_texts", "score",
    "chooses", "num_reranked", "gets_whole_images", "max_tokens", "no_answer", "cut_off",
)  # fmt: skip
"""Members of an encoder that tell the caller how to plan for it. ``Cluster`` adds ``find_truncated``."""


class ModelOptions(NamedTuple):
    """A model: what each call of an actor begins with."""

    spec: str
    precision: Precision
    fingerprint: str | None = None
    """Fingerprint that the actor's model must have. None: not known yet."""


def _refuse(*_: Any) -> Any:
    raise AssertionError("only the actors have the model")


class Actor:
    """Loads a model on its device and computes what it is sent. Its methods run in several threads."""

    def __init__(self, folder: Path, device: str, threads: int) -> None:
        os.chdir(
            folder
        )  # relative paths of weights, and modules of ``python:`` specs, are the caller's
        self._device, self._threads = device, threads
        self._lock = Lock()
        self._models: dict[tuple[str, Precision], Model] = {}

    def describe(self, options: ModelOptions) -> tuple[Model, dict[str, Any] | None]:
        """Return the model without its encoder, and the members of the encoder, whose methods cannot be called.

        The members are None for models that actors do not run: text encoders, and models behind an endpoint.
        """
        model = self._load(options)
        encoder, is_run_here = model.encoder, isinstance(model.encoder, DualEncoder | PairScorer)
        members = {name: getattr(encoder, name) for name in MEMBERS if hasattr(encoder, name)}
        members = {name: _refuse if callable(value) else value for name, value in members.items()}
        is_run_here &= not isinstance(encoder, PaidScorer)
        return replace(model, encoder=None), members if is_run_here else None

    def find_truncated(self, options: ModelOptions, texts: list[str]) -> np.ndarray:
        encoder: Any = self._load(options).encoder
        return encoder.find_truncated(texts)

    def compute(
        self, options: ModelOptions, chunk: Chunk, batch_size: int, on_error: OnError
    ) -> Results:
        """Return the results of a chunk. Images are decoded while another thread encodes those of another chunk."""
        model = self._load(options)
        with ThreadPoolExecutor(self._threads) as pool:
            prepared = (
                start_preparing(pool, model.encoder, chunk)()
                if chunk.method == "encode_images"
                else None
            )
            # Questions are prepared under the lock, too: tokenisers are not thread-safe.
            with self._lock:
                inputs = prepared or start_preparing(pool, model.encoder, chunk)()
                return start_computing(model, chunk.method, inputs, batch_size, on_error)()

    def _load(self, options: ModelOptions) -> Model:
        """Return the model. The previous one is freed before another one is loaded."""
        with self._lock:
            if (options.spec, options.precision) not in self._models:
                self._models.clear()
                self._models[options.spec, options.precision] = resolve(
                    options.spec, self._device, options.precision
                )
            model = self._models[options.spec, options.precision]
        if options.fingerprint not in (None, model.fingerprint):
            raise ValueError(
                f"{options.spec}: its weights or packages differ between machines. Install the same versions, and copy "
                "the same weights, everywhere."
            )
        return model
