"""Score the tasks of a plan with cached features, pair by pair, or by recovering texts from their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.encode import Encoded, Engine, retry_with_smaller_batches
from evaluators.engine.plan import TaskPlan
from evaluators.engine.rows import Rows
from evaluators.models import DualEncoder, Model, PairScorer, TextEncoder, TextRecoverer
from evaluators.models.batches import in_batches
from evaluators.models.fingerprint import digest
from evaluators.protocols import authors
from evaluators.protocols.base import Directions, RowProtocol, Sample, SetProtocol, TextProtocol
from evaluators.protocols.ranking import cosine

ROWS_PER_BLOCK = 1024
PAIRS_PER_CHUNK = 256


@dataclass(frozen=True)
class Scored:
    """Scores and metrics of a task. Rows with an unreadable image are left out."""

    task: TaskPlan
    index_N: np.ndarray
    """Positions of the N rows in the task plan's arrays."""
    score_NIT: np.ndarray
    """Scores in float32; NaN if a row has fewer than T texts. Empty if the protocol is not a RowProtocol."""
    metrics: Directions
    skipped: list[dict[str, Any]]
    """Row number and error of each row with an unreadable image."""


def explain_unsupported(model: Model, rows: Rows) -> str | None:
    """Return the reason why the model does not support the task, or None if it does."""
    protocol, encoder = rows.protocol, model.encoder
    if isinstance(protocol, TextProtocol):
        if isinstance(encoder, TextRecoverer):
            return None
        return (
            f"this task recovers texts from their vectors, and {model.name} returns no texts. Use "
            "local:FOLDER of a probe (`compeval train probe`), or python:module:Class with a method `recover`."
        )
    if not isinstance(encoder, DualEncoder | PairScorer):
        if isinstance(encoder, TextEncoder) and isinstance(protocol, RowProtocol) and protocol.of_texts:
            return None
        return f"{model.name} encodes no images. Choose tasks without images."
    if isinstance(protocol, SetProtocol) and not isinstance(encoder, DualEncoder):
        pairs = rows.set_size**2 if rows.fold_size else len(rows) * sum(map(len, rows.classes))
        return (
            f"{protocol.name} needs a score for each of {pairs:,} pairs, and {model.name} scores pair by pair. "
            "Choose tasks with a few candidates per row."
        )
    return None


def score(engine: Engine, task: TaskPlan, encoded: Encoded) -> Scored:
    """Return the scores and metrics of one task. ``encoded`` has the cache keys of an encoder's features."""
    if isinstance(engine.model.encoder, DualEncoder):
        return _score_features(engine, task, encoded)
    if isinstance(engine.model.encoder, TextRecoverer):
        return _recover(engine, task)
    if not isinstance(engine.model.encoder, PairScorer):
        return _score_texts_alone(engine, task, encoded)
    return _score_pairs(engine, task)


def evaluate_scores(rows: Rows, score_NIT: np.ndarray, label_N: np.ndarray) -> Directions:
    """Return the metrics of the protocol, and those of the authors' rule of a published benchmark."""
    assert isinstance(rows.protocol, RowProtocol)
    rule = authors.find_rule(rows.task.dataset, rows.task.config)
    return rows.protocol.compute(score_NIT, label_N) | (authors.evaluate(rule, score_NIT) if rule else {})


def _score_features(engine: Engine, task: TaskPlan, encoded: Encoded) -> Scored:
    errors, store = encoded.errors, engine.store
    unreadable_N = np.isin(task.crop_NI, list(errors)).any(axis=1)
    skipped = [
        {"row": int(row), "error": next(errors[crop] for crop in crops if crop in errors)}
        for row, crops in zip(task.row_N[unreadable_N], task.crop_NI[unreadable_N].tolist(), strict=True)
    ]
    index_N = np.flatnonzero(~unreadable_N)
    if not len(index_N):
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    sample = Sample(
        crop_NI=task.crop_NI[index_N],
        text_NT=task.text_NT[index_N],
        fold_N=task.fold_N[index_N],
        class_CP=task.class_CP,
        label_N=task.label_N[index_N],
        image=lambda position: store.get([encoded.crop_keys[crop] for crop in position]),
        text=lambda position: store.get([encoded.text_keys[text] for text in position]),
    )
    protocol = task.rows.protocol
    if isinstance(protocol, SetProtocol):
        return Scored(task, index_N, np.empty((len(index_N), 1, 0), np.float32), protocol.evaluate(sample), skipped)
    assert isinstance(protocol, RowProtocol)
    score_NIT = _row_scores(sample)
    metrics = evaluate_scores(task.rows, score_NIT, sample.label_N)
    for evaluate in filter(None, (protocol.among_all, protocol.of_texts)):
        metrics |= evaluate(sample)
    return Scored(task, index_N, score_NIT, metrics, skipped)


def _score_texts_alone(engine: Engine, task: TaskPlan, encoded: Encoded) -> Scored:
    """Return the metrics of the texts alone, for a text encoder."""
    protocol, count = task.rows.protocol, len(task.row_N)
    assert isinstance(protocol, RowProtocol)
    assert protocol.of_texts
    sample = Sample(
        crop_NI=task.crop_NI,
        text_NT=task.text_NT,
        fold_N=task.fold_N,
        class_CP=task.class_CP,
        label_N=task.label_N,
        image=_refuse_images,
        text=lambda position: engine.store.get([encoded.text_keys[text] for text in position]),
    )
    return Scored(task, np.arange(count), np.empty((count, 0, 1), np.float32), protocol.of_texts(sample), [])


def _refuse_images(position: np.ndarray) -> np.ndarray:
    raise AssertionError("metrics of the texts alone need no images")


def _row_scores(sample: Sample) -> np.ndarray:
    """Return the cosine similarities (N, I, T) of each row's images and texts, computed in blocks."""
    blocks = []
    for block in plan.chunks(len(sample.text_NT), ROWS_PER_BLOCK):
        crop_NI, text_NT = sample.crop_NI[block], sample.text_NT[block]
        text_NTD = sample.text(np.where(text_NT < 0, text_NT.max(), text_NT).ravel()).reshape(*text_NT.shape, -1)
        score_NIT = np.stack([cosine(sample.image(crop_N), text_NTD) for crop_N in crop_NI.T], axis=1)
        blocks.append(np.where(text_NT[:, None] < 0, np.float32(np.nan), score_NIT))
    return np.concatenate(blocks)


def _recover(engine: Engine, task: TaskPlan) -> Scored:
    recoverer, protocol = engine.model.encoder, task.rows.protocol
    assert isinstance(recoverer, TextRecoverer)
    assert isinstance(protocol, TextProtocol)
    prompts = [engine.plan.texts[text] for text in task.text_NT[:, 0]]
    recovered: list[str] = []
    for chunk in plan.chunks(len(prompts), engine.batch_size):
        recovered += recoverer.recover(prompts[chunk])
        engine.report(task.rows.task.name, len(recovered), len(prompts))
    no_scores = np.empty((len(prompts), 0, 1), np.float32)
    return Scored(task, np.arange(len(prompts)), no_scores, protocol.evaluate(recovered, prompts), [])


def _score_pairs(engine: Engine, task: TaskPlan) -> Scored:
    index_N, scores, skipped = [], [], []
    for index, row_scores in compute_pair_scores(engine, task):
        if not isinstance(row_scores, images.UnreadableImageError):
            index_N.append(index)
            scores.append(row_scores)
        elif engine.on_error == "stop":
            raise row_scores
        else:
            skipped.append({"row": int(task.row_N[index]), "error": str(row_scores)})
    if not scores:
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    score_NIT, rows_N = np.stack(scores), np.array(index_N)
    return Scored(task, rows_N, score_NIT, evaluate_scores(task.rows, score_NIT, task.label_N[rows_N]), skipped)


def pair_chunks(task: TaskPlan) -> list[slice]:
    """Return the chunks of a task's rows that are scored together."""
    pairs_per_row = task.crop_NI.shape[1] * task.text_NT.shape[1]
    return plan.chunks(len(task.row_N), max(1, PAIRS_PER_CHUNK // pairs_per_row))


def compute_pair_scores(
    engine: Engine, task: TaskPlan
) -> Iterator[tuple[int, np.ndarray | images.UnreadableImageError]]:
    """Yield the position and the scores (I, T), or the image error, of each row.

    Scores that are not in the cache are computed and stored.
    """
    for chunk in pair_chunks(task):
        for index in range(chunk.start, chunk.stop):
            try:
                scores = _row_pair_scores(engine, task, index)
            except images.UnreadableImageError as error:
                scores = error
            yield index, scores
        engine.report(task.rows.task.name, chunk.stop, len(task.row_N))


class ImagePairs(NamedTuple):
    """An image and the T texts of a row that it is scored with, and the cache keys of the pairs."""

    crop: plan.CropSource
    data: bytes | images.UnreadableImageError
    texts: list[str]
    keys: list[bytes]


def list_pairs(engine: Engine, task: TaskPlan, index: int) -> list[ImagePairs]:
    """Return the pairs of each image of a row."""
    texts = [engine.plan.texts[text] for text in task.text_NT[index] if text >= 0]
    crops = [engine.plan.crops[crop] for crop in task.crop_NI[index]]
    return [
        ImagePairs(crop, data, texts, [digest(b"pair", images.key(data, crop), text.encode()) for text in texts])
        for crop, data in zip(crops, images.read(crops), strict=True)
    ]


def score_pairs(
    model: Model, crop: plan.CropSource, data: bytes | images.UnreadableImageError, texts: list[str], batch_size: int
) -> np.ndarray:
    """Return the scores (T,) of an image with each text. Raises ValueError if one of them is not finite."""
    scorer = model.encoder
    assert isinstance(scorer, PairScorer)
    image = scorer.preprocess(images.cut(images.decode(data, crop), crop))
    score_T = np.asarray(
        retry_with_smaller_batches(partial(_score_texts, scorer, image, texts), batch_size), np.float32
    )
    if not np.isfinite(score_T).all():
        raise ValueError(
            f"{crop}: {model.name} returned a score that is not a finite number. Check the weights, or "
            "try `--precision fp32`."
        )
    return score_T


def _row_pair_scores(engine: Engine, task: TaskPlan, index: int) -> np.ndarray:
    """Return the scores (I, T) of one row's images and texts; NaN if the row has fewer than T texts."""
    store, is_text_T = engine.store, task.text_NT[index] >= 0
    score_IT = np.full((task.crop_NI.shape[1], len(is_text_T)), np.nan, dtype=np.float32)
    for row, pairs in enumerate(list_pairs(engine, task, index)):
        if missing := store.missing(pairs.keys):
            texts = [pairs.texts[position] for position in missing]
            new_M = score_pairs(engine.model, pairs.crop, pairs.data, texts, engine.batch_size)
            store.put([pairs.keys[position] for position in missing], new_M.reshape(-1, 1))
        score_IT[row, is_text_T] = store.get(pairs.keys)[:, 0]
    return score_IT


def _score_texts(scorer: PairScorer, image: Any, texts: Sequence[str], batch_size: int) -> np.ndarray:
    """Return the scores (T,) of one image with each text."""
    return in_batches(lambda batch: scorer.score([image] * len(batch), batch), texts, batch_size)
