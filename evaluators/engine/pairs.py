"""Score images with texts by a model that reads both together, chunk by chunk of a task's rows.

The distinct pairs of a chunk that are not in the cache are scored in batches over rows and captions, and committed
together. A model that chooses between two captions (``CaptionChooser``) is asked about every two captions of a row, in
both orders: the score of a caption is its mean probability of being chosen, over both orders and all other captions.

Shapes: I images and T texts per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.encode import Engine, retry_with_smaller_batches
from evaluators.engine.images import UnreadableImageError
from evaluators.engine.plan import CropSource, TaskPlan
from evaluators.models import CaptionChooser, Model, PairScorer
from evaluators.models.fingerprint import digest

PAIRS_PER_CHUNK = 256
Question = tuple[str, ...]
"""One caption, or two captions to choose from in this order."""


class PairScores(NamedTuple):
    """The scores of a row."""

    score_IT: np.ndarray
    """NaN if the row has fewer than T texts."""
    first_IQ: np.ndarray
    """Probabilities that the first of two captions is chosen, if the model chooses: per image, in the order of
    ``permutations``. Otherwise empty."""


class PositionBias(NamedTuple):
    """How much the answers of a model that chooses depend on the order of the two captions."""

    first: float
    """Share of the questions in which the first caption is chosen; 1/2 without bias."""
    flipped: float
    """Share of the pairs of captions whose preferred caption changes with the order."""


class AskedImage(NamedTuple):
    """An image, as bytes and a crop, and the questions about it."""

    data: bytes | UnreadableImageError
    crop: CropSource
    questions: list[Question]


class _Asked(NamedTuple):
    """An image of a row, the questions about it, and their keys in the cache."""

    crop: CropSource
    data: bytes | UnreadableImageError
    questions: list[Question]
    keys: list[bytes]


def compute_pair_scores(engine: Engine, task: TaskPlan) -> Iterator[tuple[int, PairScores | UnreadableImageError]]:
    """Yield the position and the scores, or the image error, of each row.

    Scores that are not in the cache are computed and stored.
    """
    for chunk in list_chunks(engine, task):
        asked = [ask_row(engine, task, index) for index in range(chunk.start, chunk.stop)]
        errors = _answer(engine, [item for row in asked for item in row])
        for index, row in zip(range(chunk.start, chunk.stop), asked, strict=True):
            error = next((errors[id(item)] for item in row if id(item) in errors), None)
            yield index, error or _collect(engine, task, index, row)
        engine.report(task.rows.task.name, chunk.stop, len(task.row_N))


def list_chunks(engine: Engine, task: TaskPlan) -> list[slice]:
    """Return the chunks of a task's rows that are scored and committed together."""
    num_questions = len(list_questions(engine.model.encoder, [""] * task.text_NT.shape[1]))
    return plan.chunks(len(task.row_N), max(1, PAIRS_PER_CHUNK // max(1, task.crop_NI.shape[1] * num_questions)))


def list_questions(scorer: Any, texts: Sequence[str]) -> list[Question]:
    """Return the questions about one image and its texts."""
    if isinstance(scorer, CaptionChooser):
        return list(permutations(texts, 2))
    return [(text,) for text in texts]


def ask_row(engine: Engine, task: TaskPlan, index: int) -> list[_Asked]:
    """Return the questions about each image of a row."""
    texts = [engine.plan.texts[text] for text in task.text_NT[index] if text >= 0]
    questions = list_questions(engine.model.encoder, texts)
    crops = [engine.plan.crops[crop] for crop in task.crop_NI[index]]
    return [
        _Asked(crop, data, questions, [_key(images.key(data, crop), question) for question in questions])
        for crop, data in zip(crops, images.read(crops), strict=True)
    ]


def _key(image_key: bytes, question: Question) -> bytes:
    return digest(b"pair", image_key, *(text.encode() for text in question))


def _answer(engine: Engine, asked: Sequence[_Asked]) -> dict[int, UnreadableImageError]:
    """Answer the questions that are not in the cache and store the answers.

    Returns the error of each unreadable image, by the ``id`` of its item.
    """
    todo = find_missing(engine, asked)
    images_asked = [AskedImage(item.data, item.crop, list(missing.values())) for item, missing in todo]
    errors: dict[bytes, UnreadableImageError] = {}
    for (item, missing), scores in zip(
        todo, score_questions(engine.model, images_asked, engine.batch_size), strict=True
    ):
        if isinstance(scores, UnreadableImageError):
            errors[images.key(item.data, item.crop)] = scores
        else:
            engine.store.put(list(missing), scores.reshape(-1, 1))
    return {id(item): error for item in asked if (error := errors.get(images.key(item.data, item.crop)))}


def score_questions(
    model: Model, asked: Sequence[AskedImage], batch_size: int
) -> list[np.ndarray | UnreadableImageError]:
    """Return the scores of the questions about each image, or the error of an unreadable image.

    Batches are over all images. Raises ValueError if a score is not finite.
    """
    scorer = model.encoder
    assert isinstance(scorer, PairScorer)
    with ThreadPoolExecutor(images.NUM_THREADS) as pool:
        prepared = list(pool.map(partial(_prepare, scorer.preprocess), asked))
    readable = [
        (item, image)
        for item, image in zip(asked, prepared, strict=True)
        if not isinstance(image, UnreadableImageError)
    ]
    questions = [question for item, _ in readable for question in item.questions]
    shown = [image for item, image in readable for _ in item.questions]
    score_M = np.empty(0, np.float32)
    if readable:
        score_M = retry_with_smaller_batches(partial(_score, scorer, shown, questions), batch_size)
    if not np.isfinite(score_M).all():
        crops = [item.crop for item, _ in readable for _ in item.questions]
        raise ValueError(
            f"{crops[int(np.argmin(np.isfinite(score_M)))]}: {model.name} returned a score that is not a finite "
            "number. Check the weights, or try `--precision fp32`."
        )
    ends = np.cumsum([len(item.questions) for item, _ in readable])
    parts = iter(np.split(score_M, ends[:-1]) if len(ends) else [])
    return [image if isinstance(image, UnreadableImageError) else next(parts) for image in prepared]


def stream_missing(engine: Engine) -> Iterator[tuple[Any, Any]]:
    """Yield the distinct pairs of preprocessed image and text of all tasks that are not in the cache."""
    scorer = engine.model.encoder
    assert isinstance(scorer, PairScorer)
    seen: set[bytes] = set()
    for task in engine.plan.tasks:
        for index in range(len(task.row_N)):
            for item, missing in find_missing(engine, ask_row(engine, task, index)):
                image = _prepare(scorer.preprocess, item)
                if not isinstance(image, UnreadableImageError):
                    yield from ((image, _text(scorer, missing[key])) for key in missing if key not in seen)
                seen.update(missing)


def _text(scorer: PairScorer, question: Question) -> Any:
    """Return the text argument of ``scorer.score`` for a question."""
    return question if isinstance(scorer, CaptionChooser) else question[0]


def find_missing(engine: Engine, asked: Sequence[_Asked]) -> list[tuple[_Asked, Mapping[bytes, Question]]]:
    """Return each image with its questions that are neither in the cache nor asked about an earlier equal image."""
    seen: set[bytes] = set()
    todo: list[tuple[_Asked, Mapping[bytes, Question]]] = []
    for item in asked:
        new = {item.keys[position]: item.questions[position] for position in engine.store.missing(item.keys)}
        new = {key: question for key, question in new.items() if key not in seen}
        seen.update(new)
        if new:
            todo.append((item, new))
    return todo


def _prepare(preprocess: Callable[[Any], Any], item: AskedImage | _Asked) -> Any:
    """Return the preprocessed image, or the error if it is unreadable."""
    try:
        return preprocess(images.cut(images.decode(item.data, item.crop), item.crop))
    except UnreadableImageError as error:
        return error


def _score(scorer: PairScorer, shown: Sequence[Any], questions: Sequence[Question], batch_size: int) -> np.ndarray:
    """Return the scores (M,) of images with their questions."""
    texts = [_text(scorer, question) for question in questions]
    scores = [scorer.score(shown[batch], texts[batch]) for batch in batches_of_whole_images(shown, batch_size)]
    return np.concatenate([np.asarray(score_B, np.float32).ravel() for score_B in scores])


def batches_of_whole_images(shown: Sequence[Any], size: int) -> list[slice]:
    """Return batches of at most ``size`` consecutive pairs. The pairs of an image are split only if they exceed it."""
    starts = [index for index in range(len(shown)) if index == 0 or shown[index] is not shown[index - 1]]
    batches: list[slice] = []
    for start, stop in zip(starts, [*starts[1:], len(shown)], strict=True):
        if batches and stop - batches[-1].start <= size:
            batches[-1] = slice(batches[-1].start, stop)
        else:
            batches += [slice(first, min(first + size, stop)) for first in range(start, stop, size)]
    return batches


def _collect(engine: Engine, task: TaskPlan, index: int, row: Sequence[_Asked]) -> PairScores:
    """Return the scores of a row whose answers are all in the cache."""
    is_text_T = task.text_NT[index] >= 0
    score_IT = np.full((len(row), len(is_text_T)), np.nan, dtype=np.float32)
    answer_IQ = np.stack([engine.store.get(item.keys)[:, 0] for item in row])
    if not isinstance(engine.model.encoder, CaptionChooser):
        score_IT[:, is_text_T] = answer_IQ
        return PairScores(score_IT, np.empty((len(row), 0), np.float32))
    score_IT[:, is_text_T] = [average_choices(answer_Q, int(is_text_T.sum())) for answer_Q in answer_IQ]
    return PairScores(score_IT, answer_IQ)


def average_choices(first_Q: np.ndarray, num_texts: int) -> np.ndarray:
    """Return for each of T texts the mean probability that it is chosen; 1/2 for a single text.

    ``first_Q`` has the probability of the first text for each of the T (T - 1) ordered pairs of texts.
    """
    if num_texts == 1:
        return np.array([0.5])
    chosen_T = np.zeros(num_texts)
    for (first, second), probability in zip(permutations(range(num_texts), 2), first_Q.tolist(), strict=True):
        chosen_T[first] += probability
        chosen_T[second] += 1 - probability
    return chosen_T / (2 * (num_texts - 1))


def measure_position_bias(rows: Sequence[np.ndarray]) -> PositionBias | None:
    """Return the position bias over the ``first_IQ`` of all rows; None if the model does not choose."""
    first_P, flipped_P = [], []
    for first_Q in (first_Q for first_IQ in rows for first_Q in first_IQ if len(first_Q)):
        num_texts = (1 + math.isqrt(1 + 4 * len(first_Q))) // 2  # Q = T (T - 1)
        # A probability of 1/2 counts half.
        first = dict(zip(permutations(range(num_texts), 2), (np.sign(first_Q - 0.5) + 1) / 2, strict=True))
        first_P += first.values()
        flipped_P += [first[one, other] + first[other, one] != 1 for one, other in combinations(range(num_texts), 2)]
    return PositionBias(float(np.mean(first_P)), float(np.mean(flipped_P))) if first_P else None
