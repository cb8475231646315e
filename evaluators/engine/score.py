"""Score the tasks of a plan with cached features, pair by pair, or by recovering texts from their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from compeval.evaluators.engine import pairs, plan
from compeval.evaluators.engine.encode import Engine, encode
from compeval.evaluators.engine.feature_cache import FeatureReader
from compeval.evaluators.engine.pairs import (
    AnswerKeys,
    PositionBias,
    find_circular_hits,
    measure_position_bias,
)
from compeval.evaluators.engine.plan import TaskPlan
from compeval.evaluators.engine.task_dataset import TaskDataset
from compeval.evaluators.models import (
    CaptionChooser,
    DualEncoder,
    Model,
    PairScorer,
    ReRanker,
    TextEncoder,
    TextRecoverer,
    TruncatingReader,
)
from compeval.evaluators.protocols import authors
from compeval.evaluators.protocols.base import (
    Directions,
    QueryMetrics,
    RowProtocol,
    Sample,
    SetProtocol,
    TextProtocol,
)
from compeval.evaluators.protocols.ranking import cosine_in_float64
from compeval.evaluators.protocols.reranking import ReRanking

ROWS_PER_BLOCK = 1024
NO_SCORES = np.empty((0, 0, 0), np.float32)
"""Scores of a protocol that has none."""
SAME = 1e-12
"""Cosines of equal features differ by less, since the order of a sum can depend on the column."""


@dataclass(frozen=True)
class Scored:
    """Scores and metrics of a task. Rows with an unreadable image are left out."""

    task: TaskPlan
    index_N: np.ndarray
    """Positions of the N rows in the task plan's arrays."""
    score_NIT: np.ndarray
    """Cosines in float32, other scores in float64; NaN if a row has fewer than T texts. NO_SCORES if the protocol is no
    RowProtocol, or the model reads no images."""
    metrics: Directions
    skipped: list[dict[str, Any]]
    """Row number and error of each row with an unreadable image."""
    num_close: int = 0
    """Number of rows with two cosines that float64 tells apart and float32 does not."""
    position_bias: PositionBias | None = None
    """None if the model does not choose between two captions."""
    warnings: tuple[str, ...] = ()
    """Warnings for readers of the task's result."""


def explain_unsupported(model: Model, dataset: TaskDataset) -> str | None:
    """Return the reason why the model does not support the task, or None if it does."""
    protocol = dataset.protocol
    encoder = model.encoder
    if isinstance(protocol, TextProtocol):
        if isinstance(encoder, TextRecoverer):
            return None
        return (
            f"this task recovers texts from their vectors, and {model.name} returns no texts. Use "
            "local:FOLDER of a probe (`compeval train probe`), or python:module:Class with a method `recover`."
        )
    if not isinstance(encoder, DualEncoder | PairScorer):
        if (
            isinstance(encoder, TextEncoder)
            and isinstance(protocol, RowProtocol)
            and protocol.of_texts
        ):
            return None
        return f"{model.name} encodes no images. Choose tasks without images."
    is_reranked = isinstance(encoder, ReRanker) and dataset.fold_size is not None
    if isinstance(protocol, SetProtocol) and _is_pair_scorer(encoder) and not is_reranked:
        num_pairs = (
            dataset.set_size**2
            if dataset.fold_size
            else len(dataset) * sum(map(len, dataset.classes))
        )
        return (
            f"{protocol.name} needs a score for each of {num_pairs:,} pairs, and {model.name} scores pair by pair. "
            "Choose tasks with a few candidates per row."
        )
    if isinstance(encoder, CaptionChooser) and protocol.texts == ("caption",):
        return f"{model.name} chooses between two captions, and a row has one. Use scoring=yes."
    return None


def _is_pair_scorer(encoder: Any) -> bool:
    """Return True if a model scores rows pair by pair."""
    return isinstance(encoder, PairScorer) and (
        isinstance(encoder, ReRanker) or not isinstance(encoder, DualEncoder)
    )


def score_all(engine: Engine) -> Iterator[Scored]:
    """Yield the scores and metrics of all tasks of the plan, as soon as they are known.

    What the feature cache lacks is computed first: for all tasks, but for one task at a time with a pair scorer in this
    process.
    """
    encoder = engine.model.encoder
    tasks = engine.plan.tasks

    # A recovery probe returns texts.
    if isinstance(encoder, TextRecoverer) and not isinstance(encoder, DualEncoder):
        for task in tasks:
            yield _recover(engine, task)
        return

    # A pair scorer answers questions about each row.
    if _is_pair_scorer(encoder):
        row_tasks = [task for task in tasks if isinstance(task.dataset.protocol, RowProtocol)]
        # In one process, the result of a task is written before the next task begins; on a cluster, no actor waits.
        groups = [row_tasks] if engine.cluster else [[task] for task in row_tasks]
        for group in groups:
            answer_keys = engine.compute_missing(pairs.list_chunks(engine, group))
            for task in group:
                yield _score_pairs(engine, task, answer_keys[task.dataset.task.name])
        tasks = [task for task in tasks if isinstance(task.dataset.protocol, SetProtocol)]

    # Other models, and retrieval by models that re-rank: features, and their cosines.
    if tasks:
        crop_keys, text_keys = encode(engine)
        for task in tasks:
            yield _score_features(engine, task, crop_keys, text_keys)


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


def evaluate_scores(dataset: TaskDataset, score_NIT: np.ndarray, label_N: np.ndarray) -> Directions:
    """Return the metrics of the protocol, and those of the authors' rule of a published benchmark."""
    assert isinstance(dataset.protocol, RowProtocol)
    metrics = dataset.protocol.compute(score_NIT, label_N)
    if dataset.authors_rule:
        metrics |= authors.evaluate(dataset.authors_rule, score_NIT)
    return metrics


def _score_features(
    engine: Engine, task: TaskPlan, crop_keys: Sequence[bytes], text_keys: Sequence[bytes]
) -> Scored:
    """Return the cosine similarities of features and their metrics; for a text encoder, the metrics of the texts."""
    protocol = task.dataset.protocol
    encoder = engine.model.encoder
    has_images = isinstance(encoder, DualEncoder)

    # Leave out the rows with an unreadable image.
    keys_N = [[crop_keys[crop] for crop in crops if has_images] for crops in task.crop_NI.tolist()]
    index_N, skipped = _find_readable(engine, task, keys_N)

    # The protocol reads features from the cache in blocks, since they may not fit into memory together.
    reranking = None
    if isinstance(encoder, ReRanker):
        name = task.dataset.task.name
        reranking = ReRanking(encoder.num_reranked, partial(pairs.score_pairs, engine, name))
    sample = Sample(
        crop_NI=task.crop_NI[index_N],
        text_NT=task.text_NT[index_N],
        fold_N=task.fold_N[index_N],
        class_CP=task.class_CP,
        label_N=task.label_N[index_N],
        image=FeatureReader(engine.store, crop_keys),
        text=FeatureReader(engine.store, text_keys),
        reranking=reranking,
    )

    score_NIT = NO_SCORES
    num_close = 0
    if isinstance(protocol, SetProtocol):
        metrics = protocol.evaluate(sample)
    elif not has_images:
        assert isinstance(protocol, RowProtocol)
        assert protocol.of_texts
        metrics = protocol.of_texts(sample)
    else:
        assert isinstance(protocol, RowProtocol)
        score_NIT, num_close = _compute_cosines(sample)
        metrics = evaluate_scores(task.dataset, score_NIT, sample.label_N)
        if protocol.among_all:
            metrics |= protocol.among_all(sample)
        if protocol.of_texts:
            metrics |= protocol.of_texts(sample)
    warnings = _warn_of_long_texts(engine, task)
    return Scored(task, index_N, score_NIT, metrics, skipped, num_close, warnings=warnings)


def _find_readable(
    engine: Engine, task: TaskPlan, keys_N: Sequence[Sequence[bytes]]
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the positions of the rows whose images are readable, and the number and error of each other row.

    ``keys_N`` are the cache keys that each row needs. Raises ValueError if no row is readable.
    """
    readable: list[int] = []
    skipped: list[dict[str, Any]] = []
    for index, keys in enumerate(keys_N):
        errors = [engine.errors[key] for key in keys if key in engine.errors]
        if errors:
            skipped.append({"row": int(task.row_N[index]), "error": errors[0]})
        else:
            readable.append(index)
    index_N = np.array(readable, dtype=np.intp)
    if not len(index_N):
        raise ValueError(f"{task.dataset.task.name}: no image could be read.")
    return index_N, skipped


def _compute_cosines(sample: Sample) -> tuple[np.ndarray, int]:
    """Return the cosine similarities (N, I, T) of each row's images and texts in float32, computed in blocks.

    The number says in how many rows two of them differ, but not in float32.
    """
    blocks = []
    num_close = 0
    for block in plan.chunks(len(sample.text_NT), ROWS_PER_BLOCK):
        crop_NI = sample.crop_NI[block]
        text_NT = sample.text_NT[block]
        text_NTD = sample.text(np.where(text_NT < 0, text_NT.max(), text_NT).ravel()).reshape(
            *text_NT.shape, -1
        )
        exact_NIT = np.stack(
            [cosine_in_float64(sample.image(crop_N), text_NTD) for crop_N in crop_NI.T], axis=1
        )
        exact_NIT = np.where(text_NT[:, None] < 0, np.nan, exact_NIT)
        blocks.append(exact_NIT.astype(np.float32))
        num_close += count_close_rows(exact_NIT)
    return np.concatenate(blocks), num_close


def count_close_rows(exact_NIT: np.ndarray) -> int:
    """Return the number of rows in which two scores are equal in float32 only."""
    exact_NK = np.sort(exact_NIT.reshape(len(exact_NIT), -1), axis=1)
    is_close_NK = (np.diff(exact_NK) > SAME) & (np.diff(exact_NK.astype(np.float32)) == 0)
    return int(is_close_NK.any(axis=1).sum())


def _recover(engine: Engine, task: TaskPlan) -> Scored:
    """Return the metrics of the texts that the model recovers from their vectors."""
    recoverer = engine.model.encoder
    protocol = task.dataset.protocol
    assert isinstance(recoverer, TextRecoverer)
    assert isinstance(protocol, TextProtocol)
    prompts = [engine.plan.texts[text] for text in task.text_NT[:, 0]]
    recovered: list[str] = []
    for chunk in plan.chunks(len(prompts), engine.batch_size):
        recovered += recoverer.recover(prompts[chunk])
        engine.report(task.dataset.task.name, len(recovered), len(prompts))
    metrics = protocol.evaluate(recovered, prompts)
    warnings = _warn_of_long_texts(engine, task)
    return Scored(task, np.arange(len(prompts)), NO_SCORES, metrics, [], warnings=warnings)


def _score_pairs(engine: Engine, task: TaskPlan, answer_keys: AnswerKeys) -> Scored:
    """Return the scores of a pair scorer, given the cache keys of its answers, and their metrics."""
    encoder = engine.model.encoder
    index_N, skipped = _find_readable(engine, task, answer_keys)

    # Read the answers of each row.
    shape = (task.crop_NI.shape[1], -1)
    answers = [engine.store.get(answer_keys[index], np.float64).reshape(shape) for index in index_N]
    warnings = _warn_of_declined(encoder, answers)
    answers = [replace_cut_off(encoder, answer_IQ) for answer_IQ in answers]

    # Score its texts by them.
    is_text_NT = task.text_NT[index_N] >= 0
    score_NIT = np.stack(
        [pairs.score_row(encoder, *row) for row in zip(answers, is_text_NT, strict=True)]
    )
    metrics = evaluate_scores(task.dataset, score_NIT, task.label_N[index_N])

    # A model that chooses may prefer a position.
    bias = measure_position_bias(answers) if isinstance(encoder, CaptionChooser) else None
    if bias and task.dataset.protocol.name == "choice":
        metrics |= {"": _add_circular_accuracy(metrics[""], score_NIT, answers)}
    if bias:
        warnings = (
            f"Position bias: the first of two captions is chosen in {bias.first:.1%} of the questions, and for "
            f"{bias.flipped:.1%} of the pairs the choice depends on the order.",
            *warnings,
        )
    warnings += _warn_of_long_texts(engine, task)
    return Scored(task, index_N, score_NIT, metrics, skipped, position_bias=bias, warnings=warnings)


def _add_circular_accuracy(
    metrics: QueryMetrics, score_NIT: np.ndarray, rows: Sequence[np.ndarray]
) -> QueryMetrics:
    """Add the share of rows in which the truth is chosen in both orders with each wrong caption."""
    wrong_N = np.isfinite(score_NIT[:, 0]).sum(axis=1) - 1
    values = {"circular_accuracy": find_circular_hits(rows).astype(np.float64)}
    return metrics.add(values, {"circular_accuracy": float((0.25**wrong_N).mean())})


def _warn_of_declined(encoder: Any, answers: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return warnings if the model declined questions, answered them with none of the given answers, or was cut off
    while it thought."""
    total = sum(answer_IQ.size for answer_IQ in answers)
    texts = {
        "no_answer": "were declined or have no usable answer: they score as no, or half.",
        "cut_off": "were cut off, since the model used its budget of tokens (setting think) before it answered: they "
        "score as no, or half.",
    }
    warnings: list[str] = []
    for name, text in texts.items():
        value = getattr(encoder, name, None)
        count = sum(int((answer_IQ == value).sum()) for answer_IQ in answers)
        if value is not None and count:
            warnings.append(f"{count:,} of {total:,} questions {text}")
    return tuple(warnings)


def replace_cut_off(encoder: Any, answer_IQ: np.ndarray) -> np.ndarray:
    """Return the answers, in which a question that was cut off is like one that was declined: the two are a tie."""
    if getattr(encoder, "cut_off", None) is None:
        return answer_IQ
    return np.where(answer_IQ == encoder.cut_off, encoder.no_answer, answer_IQ)
