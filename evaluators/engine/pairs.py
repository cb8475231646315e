"""Score images with texts by a model that reads both together, chunk by chunk of a task's rows.

The distinct pairs of a chunk that are not in the cache are scored in batches over rows and captions, and committed
together. A model that chooses between two captions (``CaptionChooser``) is asked about every two captions of a row, in
both orders: the score of a caption is its mean probability of being chosen, over both orders and all other captions.

Shapes: I images and T texts per row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, permutations
from typing import Any, NamedTuple

import numpy as np

from compeval.evaluators.engine import images, plan
from compeval.evaluators.engine.compute import NUM_THREADS, Chunk, Pair, start_preparing
from compeval.evaluators.engine.encode import Engine, split_whole_images
from compeval.evaluators.engine.images import ImageCrops, Question
from compeval.evaluators.engine.plan import TaskPlan
from compeval.evaluators.models import CaptionChooser
from compeval.evaluators.models.fingerprint import digest_each

PAIRS_PER_CHUNK = 256
AnswerKeys = list[list[bytes]]
"""Row -> the cache keys of the answers to all questions about its first image, then about the next one."""


class PositionBias(NamedTuple):
    """Dependence of a model that chooses on the order of the two captions."""

    first: float
    """Share of the questions in which the first caption is chosen; 1/2 without bias."""
    flipped: float
    """Share of the pairs of captions whose preferred caption changes with the order."""


def list_chunks(engine: Engine, tasks: Sequence[TaskPlan]) -> Iterator[Chunk]:
    """Yield chunks of the rows of the tasks, with the questions whose answers are missing.

    ``all_keys`` of a chunk are those of all answers, by row.
    """
    for task in tasks:
        num_questions = len(list_inputs(engine.model.encoder, [""] * task.text_NT.shape[1]))
        num_rows = max(1, PAIRS_PER_CHUNK // max(1, task.crop_NI.shape[1] * num_questions))
        for part in plan.chunks(len(task.row_N), num_rows):
            asked = [_make_requests(engine, task, row) for row in range(part.start, part.stop)]
            keys = [[key for item in row for key in item.keys] for row in asked]
            items = _take_missing(engine, chain.from_iterable(asked))
            missing_keys = [key for item in items for key in item.keys]
            chunk = Chunk(
                task.dataset.task.name, "score", missing_keys, items, part, len(task.row_N), keys
            )
            yield from split_whole_images(engine, chunk)


def stream_missing(engine: Engine) -> Iterator[tuple[Any, Any]]:
    """Yield the distinct pairs of preprocessed image and text of all tasks that are not in the cache."""
    engine = replace(engine, claimed=set())  # nothing is computed
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for chunk in list_chunks(engine, engine.plan.tasks):
            for pair in start_preparing(pool, engine.model.encoder, chunk).collect():
                if isinstance(pair, Pair):
                    yield pair.image, pair.text


def _take_missing(engine: Engine, asked: Iterable[ImageCrops]) -> list[ImageCrops]:
    """Return the questions whose answers are missing, and claim them."""
    items: list[ImageCrops] = []
    for item in asked:
        missing = engine.take_missing(item.keys)
        if missing:
            questions = [item.questions[index] for index in missing]
            keys = [item.keys[index] for index in missing]
            items.append(item._replace(questions=questions, keys=keys))
    return items


def score_pairs(engine: Engine, name: str, crop_P: np.ndarray, text_P: np.ndarray) -> np.ndarray:
    """Return the scores (P,) of pairs of a crop and a text of the plan, sorted by crop. ``name``: that of the task."""
    keys_by_crop = engine.compute_missing(_list_crop_chunks(engine, name, crop_P, text_P))[name]
    return np.concatenate([engine.store.get(keys, np.float64)[:, 0] for keys in keys_by_crop])


def _list_crop_chunks(
    engine: Engine, name: str, crop_P: np.ndarray, text_P: np.ndarray
) -> Iterator[Chunk]:
    """Yield a chunk for each crop of the pairs, with its texts whose scores are missing."""
    crops, starts = np.unique(crop_P, return_index=True)
    texts_by_crop = np.split(text_P, starts[1:])
    for number, (crop, text_numbers) in enumerate(zip(crops, texts_by_crop, strict=True)):
        asked = _ask(engine, [crop], [engine.plan.texts[text] for text in text_numbers])
        items = _take_missing(engine, asked)
        missing_keys = [key for item in items for key in item.keys]
        part = slice(number, number + 1)
        chunk = Chunk(name, "score", missing_keys, items, part, len(crops), [asked[0].keys])
        yield from split_whole_images(engine, chunk)


def list_inputs(scorer: Any, texts: Sequence[str]) -> list[Question]:
    """Return the questions about one image and its texts."""
    return list(permutations(texts, 2)) if isinstance(scorer, CaptionChooser) else list(texts)


def _make_requests(engine: Engine, task: TaskPlan, row: int) -> list[ImageCrops]:
    """Return all questions about each image of a row."""
    texts = [engine.plan.texts[text] for text in task.text_NT[row] if text >= 0]
    return _ask(engine, task.crop_NI[row], list_inputs(engine.model.encoder, texts))


def _ask(engine: Engine, crop_I: Iterable[int], questions: Sequence[Question]) -> list[ImageCrops]:
    """Return the questions about each crop of the plan, with their keys."""
    crops = [engine.plan.crops[crop] for crop in crop_I]
    encoded = [
        [text.encode() for text in ([asked] if isinstance(asked, str) else asked)]
        for asked in questions
    ]
    asked_images: list[ImageCrops] = []
    image_keys, files = images.read_with_keys(crops, [True] * len(crops))
    for crop, image_key, file in zip(crops, image_keys, files, strict=True):
        keys = digest_each([(b"pair float64", image_key, *texts) for texts in encoded])
        asked_images.append(ImageCrops(file, [crop], questions, keys))
    return asked_images


def score_row(scorer: Any, answer_IQ: np.ndarray, is_text_T: np.ndarray) -> np.ndarray:
    """Return the scores (I, T) of a row, NaN where it has no text, given the answers to all questions about it."""
    score_IT = np.full((len(answer_IQ), len(is_text_T)), np.nan)
    if isinstance(scorer, CaptionChooser):
        answer_IQ = np.stack(
            [average_choices(first_Q, int(is_text_T.sum())) for first_Q in answer_IQ]
        )
    score_IT[:, is_text_T] = answer_IQ
    return score_IT


def average_choices(first_Q: np.ndarray, num_texts: int) -> np.ndarray:
    """Return for each of T texts the mean probability that it is chosen; 1/2 for a single text.

    ``first_Q`` has the probability of the first text for each of the T (T - 1) ordered pairs of texts.
    """
    if num_texts == 1:
        return np.array([0.5])
    texts_2Q = list(chain.from_iterable(permutations(range(num_texts), 2)))
    chosen_T = np.bincount(texts_2Q, np.stack([first_Q, 1 - first_Q], axis=1).ravel())
    return chosen_T / (2 * (num_texts - 1))


def find_circular_hits(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return whether the first text of each row is chosen in every question about it (N), whatever its place.

    This is the rule of CircularEval (MMBench, Liu et al. 2023, arXiv:2307.06281) for questions with two options; a row
    with more wrong captions has such questions about each of them. ``rows`` have the ``first_IQ`` of one image. A
    probability of 1/2 is no choice.
    """
    choices = [_find_choices(first_Q) for (first_Q,) in rows]
    return np.array(
        [(choice_TT[0, 1:] > 0).all() and (choice_TT[1:, 0] < 0).all() for choice_TT in choices]
    )


def _find_choices(first_Q: np.ndarray) -> np.ndarray:
    """Return what is chosen if a text (row) comes before another one (column), given Q = T (T - 1) answers.

    1: the first text, -1: the second, 0: neither, also on the diagonal (T, T).
    """
    num_texts = (1 + math.isqrt(1 + 4 * len(first_Q))) // 2
    choice_TT = np.zeros((num_texts, num_texts))
    choice_TT[~np.eye(num_texts, dtype=bool)] = np.sign(first_Q - 0.5)
    return choice_TT


def measure_position_bias(rows: Sequence[np.ndarray]) -> PositionBias | None:
    """Return the position bias over the ``first_IQ`` of all rows; None if no row has two texts."""
    probability_P = np.concatenate([first_IQ.ravel() for first_IQ in rows])
    if not len(probability_P):
        return None
    first_P = np.sign(probability_P - 0.5) / 2 + 0.5  # 1/2 counts half
    choices = [_find_choices(first_Q) for first_IQ in rows for first_Q in first_IQ]
    flipped = [
        (choice_TT + choice_TT.T != 0)[np.triu_indices(len(choice_TT), 1)] for choice_TT in choices
    ]
    return PositionBias(float(first_P.mean()), float(np.concatenate(flipped).mean()))
