"""Score images with texts by a model that reads both together, chunk by chunk of a task's rows.

The distinct pairs of a chunk that are not in the cache are scored in batches over rows and captions, and committed
together. A model that chooses between two captions (``CaptionChooser``) is asked about every two captions of a row, in
both orders: the score of a caption is its mean probability of being chosen, over both orders and all other captions.

Shapes: I images and T texts per row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.compute import AskedImage, Chunk, Question, prepare
from evaluators.engine.encode import Engine
from evaluators.engine.images import UnreadableImageError
from evaluators.engine.plan import TaskPlan
from evaluators.models import CaptionChooser
from evaluators.models.fingerprint import digest

PAIRS_PER_CHUNK = 256
AnswerKeys = list[list[list[bytes]]]
"""Row -> image -> the cache keys of the answers to all questions about it."""


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


def answer(engine: Engine, tasks: Sequence[TaskPlan]) -> list[AnswerKeys]:
    """Answer the questions of the tasks that are not in the cache. Returns the keys of all answers of each task."""
    keys_by_task: list[AnswerKeys] = [[] for _ in tasks]
    engine.fill(_list_chunks(engine, tasks, keys_by_task))
    return keys_by_task


def stream_missing(engine: Engine) -> Iterator[tuple[Any, Any]]:
    """Yield the distinct pairs of preprocessed image and text of all tasks that are not in the cache."""
    for chunk in _list_chunks(engine, engine.plan.tasks, [[] for _ in engine.plan.tasks]):
        for item in chunk.items:
            pairs = prepare(engine.model.encoder, chunk.method, item)
            yield from ((pair.image, pair.text) for pair in pairs if not isinstance(pair, UnreadableImageError))


def _list_chunks(engine: Engine, tasks: Sequence[TaskPlan], keys_by_task: Sequence[AnswerKeys]) -> Iterator[Chunk]:
    """Yield the questions whose answers are missing, and append the keys of all answers to ``keys_by_task``."""
    submitted: set[bytes] = set()
    for task, answer_keys in zip(tasks, keys_by_task, strict=True):
        num_questions = len(list_questions(engine.model.encoder, [""] * task.text_NT.shape[1]))
        num_rows = max(1, PAIRS_PER_CHUNK // max(1, task.crop_NI.shape[1] * num_questions))
        for part in plan.chunks(len(task.row_N), num_rows):
            asked = [_ask_row(engine, task, row) for row in range(part.start, part.stop)]
            answer_keys += [[item.keys for item in row] for row in asked]
            items = [item for row in asked for item in row]
            yield _make_chunk(engine, task.dataset.task.name, items, submitted, part, len(task.row_N))


def _make_chunk(
    engine: Engine, name: str, asked: Sequence[AskedImage], submitted: set[bytes], part: slice, total: int
) -> Chunk:
    """Return the questions that are neither answered nor ``submitted``, to which they are added."""
    items: list[AskedImage] = []
    for item in asked:
        missing = {item.keys[index]: item.questions[index] for index in engine.store.missing(item.keys)}
        missing = {key: question for key, question in missing.items() if key not in submitted}
        submitted.update(missing)
        if missing:
            items.append(item._replace(questions=list(missing.values()), keys=list(missing)))
    return Chunk(name, "score", [key for item in items for key in item.keys], items, part, total)


def score_pairs(engine: Engine, name: str, crop_P: np.ndarray, text_P: np.ndarray) -> np.ndarray:
    """Return the scores (P,) of pairs of a crop and a text of the plan, sorted by crop. ``name``: that of the task."""
    crops, starts = np.unique(crop_P, return_index=True)
    asked: list[list[bytes]] = []

    def list_chunks() -> Iterator[Chunk]:
        submitted: set[bytes] = set()
        for number, (crop, texts) in enumerate(zip(crops, np.split(text_P, starts[1:]), strict=True)):
            item = _ask(engine, [crop], [(engine.plan.texts[text],) for text in texts])
            asked.append(item[0].keys)
            yield _make_chunk(engine, name, item, submitted, slice(number, number + 1), len(crops))

    engine.fill(list_chunks())
    return np.concatenate([engine.store.get(keys, np.float64)[:, 0] for keys in asked])


def list_questions(scorer: Any, texts: Sequence[str]) -> list[Question]:
    """Return the questions about one image and its texts."""
    if isinstance(scorer, CaptionChooser):
        return list(permutations(texts, 2))
    return [(text,) for text in texts]


def _ask_row(engine: Engine, task: TaskPlan, row: int) -> list[AskedImage]:
    """Return all questions about each image of a row."""
    texts = [engine.plan.texts[text] for text in task.text_NT[row] if text >= 0]
    return _ask(engine, task.crop_NI[row], list_questions(engine.model.encoder, texts))


def _ask(engine: Engine, crop_I: Iterable[int], questions: list[Question]) -> list[AskedImage]:
    """Return the questions about each crop of the plan, with their keys."""
    encoded = [[text.encode() for text in question] for question in questions]
    crops = [engine.plan.crops[crop] for crop in crop_I]
    return [
        AskedImage(
            file, crop, questions, [digest(b"pair float64", images.key(file, crop), *texts) for texts in encoded]
        )
        for file, crop in zip(images.read(crops), crops, strict=True)
    ]


def collect(engine: Engine, task: TaskPlan, answer_keys: AnswerKeys) -> Iterator[PairScores | str]:
    """Yield the scores of each row of a task that was answered, or the error of an unreadable image."""
    for is_text_T, keys_IQ in zip(task.text_NT >= 0, answer_keys, strict=True):
        error = next((engine.errors[key] for keys_Q in keys_IQ for key in keys_Q if key in engine.errors), None)
        yield error or _collect_row(engine, is_text_T, keys_IQ)


def _collect_row(engine: Engine, is_text_T: np.ndarray, keys_IQ: list[list[bytes]]) -> PairScores:
    score_IT = np.full((len(keys_IQ), len(is_text_T)), np.nan)
    answer_IQ = np.stack([engine.store.get(keys_Q, np.float64)[:, 0] for keys_Q in keys_IQ])
    if not isinstance(engine.model.encoder, CaptionChooser):
        score_IT[:, is_text_T] = answer_IQ
        return PairScores(score_IT, np.empty((len(keys_IQ), 0)))
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


def find_circular_hits(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return whether the first text of each row is chosen in every question about it (N), whatever its place.

    This is the rule of CircularEval (MMBench, Liu et al. 2023, arXiv:2307.06281) for questions with two options; a row
    with more wrong captions has such questions about each of them. ``rows`` have the ``first_IQ`` of one image. A
    probability of 1/2 is no choice.
    """
    hits: list[bool] = []
    for (first_Q,) in rows:
        pairs = permutations(range(_count_texts(first_Q)), 2)
        hits.append(
            all(
                probability > 0.5 if first == 0 else probability < 0.5
                for (first, second), probability in zip(pairs, first_Q.tolist(), strict=True)
                if 0 in (first, second)
            )
        )
    return np.array(hits)


def _count_texts(first_Q: np.ndarray) -> int:
    """Return T, given the answers to Q = T (T - 1) questions."""
    return (1 + math.isqrt(1 + 4 * len(first_Q))) // 2


def measure_position_bias(rows: Sequence[np.ndarray]) -> PositionBias | None:
    """Return the position bias over the ``first_IQ`` of all rows; None if the model does not choose."""
    first_P, flipped_P = [], []
    for first_Q in (first_Q for first_IQ in rows for first_Q in first_IQ if len(first_Q)):
        num_texts = _count_texts(first_Q)
        # A probability of 1/2 counts half.
        first = dict(zip(permutations(range(num_texts), 2), (np.sign(first_Q - 0.5) + 1) / 2, strict=True))
        first_P += first.values()
        flipped_P += [first[one, other] + first[other, one] != 1 for one, other in combinations(range(num_texts), 2)]
    return PositionBias(float(np.mean(first_P)), float(np.mean(flipped_P))) if first_P else None
