"""Score the tasks of a plan with cached features, pair by pair, or by recovering texts from their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluators.engine import plan
from evaluators.engine.encode import Encoded, Engine
from evaluators.engine.images import UnreadableImageError
from evaluators.engine.pairs import PairScores, PositionBias, compute_pair_scores, measure_position_bias
from evaluators.engine.plan import TaskPlan
from evaluators.engine.rows import Rows
from evaluators.models import (
    CaptionChooser,
    DualEncoder,
    Model,
    PairScorer,
    TextEncoder,
    TextRecoverer,
    TruncatingReader,
)
from evaluators.protocols import authors
from evaluators.protocols.base import Directions, RowProtocol, Sample, SetProtocol, TextProtocol
from evaluators.protocols.ranking import cosine

ROWS_PER_BLOCK = 1024


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
    position_bias: PositionBias | None = None
    """Of a model that chooses between two captions."""
    warnings: tuple[str, ...] = ()
    """Warnings for readers of the task's result."""


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
    if isinstance(encoder, CaptionChooser) and protocol.texts == ("caption",):
        return f"{model.name} chooses between two captions, and a row has one. Use scoring=yes."
    return None


def score(engine: Engine, task: TaskPlan, encoded: Encoded) -> Scored:
    """Return the scores and metrics of one task. ``encoded`` has the cache keys of an encoder's features."""
    if isinstance(engine.model.encoder, DualEncoder):
        scored = _score_features(engine, task, encoded)
    elif isinstance(engine.model.encoder, TextRecoverer):
        scored = _recover(engine, task)
    elif not isinstance(engine.model.encoder, PairScorer):
        scored = _score_texts_alone(engine, task, encoded)
    else:
        scored = _score_pairs(engine, task)
    return replace(scored, warnings=(*scored.warnings, *_warn_of_long_texts(engine, task)))


def _warn_of_long_texts(engine: Engine, task: TaskPlan) -> tuple[str, ...]:
    """Return a warning if the model does not read some texts to their end."""
    if not isinstance(engine.model.encoder, TruncatingReader):
        return ()
    numbers = np.union1d(task.text_NT, task.class_CP)
    is_truncated_T = engine.is_truncated[numbers[numbers >= 0].astype(int)]
    if not is_truncated_T.any():
        return ()
    return (
        f"{is_truncated_T.sum():,} of {len(is_truncated_T):,} texts are longer than {engine.model.encoder.max_tokens} "
        "tokens; the model reads no more than these.",
    )


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
        if not isinstance(row_scores, UnreadableImageError):
            index_N.append(index)
            scores.append(row_scores)
        elif engine.on_error == "stop":
            raise row_scores
        else:
            skipped.append({"row": int(task.row_N[index]), "error": str(row_scores)})
    if not scores:
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    score_NIT, rows_N = np.stack([row.score_IT for row in scores]), np.array(index_N)
    metrics = evaluate_scores(task.rows, score_NIT, task.label_N[rows_N])
    bias = measure_position_bias([row.first_IQ for row in scores])
    notes = (_describe_bias(bias),) if bias else ()
    return Scored(task, rows_N, score_NIT, metrics, skipped, bias, (*notes, *_warn_of_declined(engine.model, scores)))


def _describe_bias(bias: PositionBias) -> str:
    return (
        f"Position bias: the first of two captions is chosen in {bias.first:.1%} of the questions, and for "
        f"{bias.flipped:.1%} of the pairs the choice depends on the order."
    )


def _warn_of_declined(model: Model, scores: Sequence[PairScores]) -> tuple[str, ...]:
    """Return a warning if the model declined questions, or answered them with none of the given answers."""
    no_answer = getattr(model.encoder, "no_answer", None)
    answers = [row.first_IQ if isinstance(model.encoder, CaptionChooser) else row.score_IT for row in scores]
    declined = sum(int((answer == no_answer).sum()) for answer in answers)
    if no_answer is None or not declined:
        return ()
    total = sum(int(np.isfinite(answer).sum()) for answer in answers)
    return (f"{declined:,} of {total:,} questions were declined or have no usable answer: they score as no, or half.",)
