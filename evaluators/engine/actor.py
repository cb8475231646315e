"""The part of a run that a Ray actor executes: decode and encode what it is sent. See ``cluster``."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.encode import retry_with_smaller_batches
from evaluators.engine.pairs import AskedImage, score_questions
from evaluators.models import (
    CaptionChooser,
    DualEncoder,
    MeteredScorer,
    Model,
    PairScorer,
    Precision,
    TruncatingReader,
    resolve,
)
from evaluators.models.custom import CustomDualEncoder

Results = list[np.ndarray | str]
"""A feature or the scores of each item, or its error message if it is unreadable."""


class ModelOptions(NamedTuple):
    """A model and its batch size: what each call of an actor begins with."""

    spec: str
    precision: Precision
    fingerprint: str | None = None
    """Fingerprint that the actor's model must have. None: not known yet."""
    batch_size: int = 1


class Actor:
    """Loads a model on its device and encodes what it is sent. Its methods run in several threads."""

    def __init__(self, folder: Path, device: str, threads: int) -> None:
        os.chdir(folder)  # relative paths of weights, and modules of ``python:`` specs, are the caller's
        sys.path.insert(0, str(folder))
        self._device, self._threads = device, threads
        self._lock = Lock()
        self._models: dict[tuple[str, Precision], Model] = {}

    def describe(self, options: ModelOptions) -> tuple[Model, str, int | None]:
        """Return the model without its encoder, the encoder's kind, and the tokens that it reads if it knows its limit.

        The kinds are custom, dual, choices, pairs, and other, which actors cannot run.
        """
        model = self._load(options)
        kinds = (
            *(("other", MeteredScorer), ("custom", CustomDualEncoder), ("dual", DualEncoder)),
            *(("choices", CaptionChooser), ("pairs", PairScorer)),
        )
        kind = next((name for name, kind in kinds if isinstance(model.encoder, kind)), "other")
        max_tokens = model.encoder.max_tokens if isinstance(model.encoder, TruncatingReader) else None
        return replace(model, encoder=None), kind, max_tokens

    def find_truncated(self, options: ModelOptions, texts: list[str]) -> np.ndarray:
        encoder = self._load(options).encoder
        assert isinstance(encoder, TruncatingReader)
        return encoder.find_truncated(texts)

    def encode_images(self, options: ModelOptions, groups: list[tuple[Any, list[plan.CropSource]]]) -> Results:
        """Return the feature of each crop, or its error message if it is unreadable."""
        encoder = self._load(options).encoder
        assert isinstance(encoder, DualEncoder)
        with ThreadPoolExecutor(self._threads) as pool:
            groups_preprocessed = pool.map(lambda group: images.preprocess_crops(encoder.preprocess, *group), groups)
            crops = [crop for group in groups_preprocessed for crop in group]
        readable = [index for index, crop in enumerate(crops) if not isinstance(crop, images.UnreadableImageError)]
        results: Results = [str(crop) for crop in crops]
        if readable:
            encode = partial(encoder.encode_images, [crops[index] for index in readable])
            with self._lock:
                feature_ND = retry_with_smaller_batches(encode, options.batch_size)
            for index, feature_D in zip(readable, np.asarray(feature_ND), strict=True):
                results[index] = feature_D
        return results

    def encode_texts(self, options: ModelOptions, texts: list[str]) -> Results:
        encoder = self._load(options).encoder
        assert isinstance(encoder, DualEncoder)
        with self._lock:
            return list(
                np.asarray(retry_with_smaller_batches(partial(encoder.encode_texts, texts), options.batch_size))
            )

    def score(self, options: ModelOptions, asked: list[AskedImage]) -> Results:
        """Return the score of each question about each image, or the error message of an unreadable image."""
        model = self._load(options)
        with self._lock:
            scores = score_questions(model, asked, options.batch_size)
        return [
            score
            for item, of_image in zip(asked, scores, strict=True)
            for score in (
                [str(of_image)] * len(item.questions)
                if isinstance(of_image, images.UnreadableImageError)
                else of_image.reshape(-1, 1)
            )
        ]

    def _load(self, options: ModelOptions) -> Model:
        """Return the model. The previous one is freed before another one is loaded."""
        with self._lock:
            if (options.spec, options.precision) not in self._models:
                self._models.clear()
                self._models[options.spec, options.precision] = resolve(options.spec, self._device, options.precision)
            model = self._models[options.spec, options.precision]
        if options.fingerprint not in (None, model.fingerprint):
            raise ValueError(
                f"{options.spec}: its weights or packages differ between machines. Install the same versions, and copy "
                "the same weights, everywhere."
            )
        return model
