"""The retrieval engine: plan, encode what is missing, score.

Each distinct crop and each distinct text of all tasks is encoded once per model, across runs too (``features.py``);
each image is decoded once. A chunk is the unit of commit: killed at any moment, the next run does only what is
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from evaluators import images, plan, protocols
from evaluators.features import FeatureStore
from evaluators.fingerprint import digest
from evaluators.models import DualEncoder, Model, PairScorer
from evaluators.plan import Plan, TaskPlan

Report = Callable[[str, int, int], None]
"""Told what is going on: stage, items done, items in all."""
OnError = Literal["stop", "skip"]
Item = TypeVar("Item")

_ROWS_A_BLOCK = 1024
_PAIRS_A_CHUNK = 256


@dataclass
class Encoded:
    """Keys of the plan's crops and texts in the store, and the crops that could not be read."""

    crop_keys: list[bytes] = field(default_factory=list)
    text_keys: list[bytes] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    """Position in the plan's crops -> message."""
    images_encoded: int = 0
    texts_encoded: int = 0


@dataclass(frozen=True)
class Scored:
    """What a task's scored rows got; rows whose image could not be read are left out of all arrays."""

    task: TaskPlan
    kept_N: np.ndarray
    """Positions in the task plan's arrays."""
    score_NK: np.ndarray
    """float32 cosine similarities, the truth in column 0; a recall task keeps the truth's alone."""
    found: dict[str, protocols.Ranks]
    """By direction: ``""`` for a choice task, ``i2t`` and ``t2i`` for a recall task."""
    skipped: list[dict[str, Any]]


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Consecutive pieces of ``size`` items; the last may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def in_batches(encode: Callable[[Sequence[Item]], np.ndarray], items: Sequence[Item], size: int) -> np.ndarray:
    """Features (N, D) of items, encoded ``size`` at a time; halves the size when the device runs out of memory."""
    import torch

    parts, start = [], 0
    while start < len(items):
        try:
            parts.append(encode(items[start : start + size]))
            start += size
        except torch.OutOfMemoryError:
            if size == 1:
                raise ValueError("The device has too little memory to encode a single item.") from None
            size //= 2
            torch.cuda.empty_cache()
    return np.concatenate(parts)


def unit(feature_ND: np.ndarray, model: Model, what: str) -> np.ndarray:
    """Features at unit length, float32. ValueError if one is not finite or is zero."""
    feature_ND = np.asarray(feature_ND, dtype=np.float32)
    length_N = np.linalg.norm(feature_ND, axis=1)
    bad_N = ~np.isfinite(length_N) | (length_N == 0)
    if bad_N.any():
        raise ValueError(
            f"{model.name}: {int(bad_N.sum())} of {len(bad_N)} {what} features are zero, infinite or not a number. "
            "Check the weights, or try `--precision fp32`."
        )
    return feature_ND / length_N[:, None]


def encode(
    model: Model, planned: Plan, store: FeatureStore, batch_size: int, on_error: OnError, report: Report
) -> Encoded:
    """Bring the features of all the plan's crops and texts into the store. ValueError at an unreadable image."""
    encoder = model.encoder
    assert isinstance(encoder, DualEncoder)
    done = Encoded()
    report("images", 0, len(planned.crops))
    for chunk in images.stream(planned.crops, plan.CROPS_A_CHUNK, store.missing, encoder.preprocess):
        _note_errors(done.errors, chunk.errors, len(done.crop_keys), on_error)
        if chunk.missing:
            features = unit(in_batches(encoder.encode_images, chunk.images, batch_size), model, "image")
            store.put([chunk.keys[index] for index in chunk.missing], features)
        done.crop_keys += chunk.keys
        done.images_encoded += len(chunk.missing)
        report("images", len(done.crop_keys), len(planned.crops))
    report("texts", 0, len(planned.texts))
    for texts in chunks(planned.texts, plan.TEXTS_A_CHUNK):
        keys = [digest(b"text", text.encode()) for text in texts]
        todo = {keys[index]: texts[index] for index in store.missing(keys)}
        if todo:
            features = unit(encoder.encode_texts(list(todo.values()), batch_size), model, "text")
            store.put(list(todo), features)
        done.text_keys += keys
        done.texts_encoded += len(todo)
        report("texts", len(done.text_keys), len(planned.texts))
    return done


def _note_errors(errors: dict[int, str], found: dict[int, str], offset: int, on_error: OnError) -> None:
    if found and on_error == "stop":
        raise images.UnreadableImageError(next(iter(found.values())))
    errors.update({offset + index: message for index, message in found.items()})


def score(task: TaskPlan, encoded: Encoded, store: FeatureStore) -> Scored:
    """Scores and ranks of one task from stored features."""
    bad_N = np.isin(task.crop_N, list(encoded.errors))
    skipped = [
        {"row": int(row), "error": encoded.errors[int(crop)]}
        for row, crop in zip(task.row_N[bad_N], task.crop_N[bad_N], strict=True)
    ]
    kept_N = np.flatnonzero(~bad_N)
    if not len(kept_N):
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    if task.rows.protocol == "choice":
        score_NK = _choice_scores(task, kept_N, encoded, store)
        return Scored(task, kept_N, score_NK, {"": protocols.choice(score_NK)}, skipped)
    score_N1, found = _recall_scores(task, kept_N, encoded, store)
    return Scored(task, kept_N, score_N1, found, skipped)


def _choice_scores(task: TaskPlan, kept_N: np.ndarray, encoded: Encoded, store: FeatureStore) -> np.ndarray:
    blocks = []
    for start in range(0, len(kept_N), _ROWS_A_BLOCK):
        block_N = kept_N[start : start + _ROWS_A_BLOCK]
        image_ND = store.get([encoded.crop_keys[crop] for crop in task.crop_N[block_N]])
        text_NK = task.text_NK[block_N]
        text_ND = store.get([encoded.text_keys[text] for text in text_NK.ravel()])
        blocks.append(protocols.cosine(image_ND, text_ND.reshape(*text_NK.shape, -1)))
    return np.concatenate(blocks)


def _recall_scores(
    task: TaskPlan, kept_N: np.ndarray, encoded: Encoded, store: FeatureStore
) -> tuple[np.ndarray, dict[str, protocols.Ranks]]:
    score_N1 = np.empty((len(kept_N), 1), dtype=np.float32)
    found = {
        direction: protocols.Ranks(np.empty(len(kept_N), dtype=np.int32), np.empty(len(kept_N), dtype=bool))
        for direction in ("i2t", "t2i")
    }
    for fold in np.unique(task.fold_N[kept_N]):
        member_M = np.flatnonzero(task.fold_N[kept_N] == fold)
        crop_M, text_M = task.crop_N[kept_N[member_M]], task.text_NK[kept_N[member_M], 0]
        image_MD = store.get([encoded.crop_keys[crop] for crop in crop_M])
        text_MD = store.get([encoded.text_keys[text] for text in text_M])
        score_N1[member_M] = protocols.cosine(image_MD, text_MD[:, None])
        for direction, ranks in (
            ("i2t", protocols.retrieve(image_MD, text_MD, crop_M, text_M)),
            ("t2i", protocols.retrieve(text_MD, image_MD, text_M, crop_M)),
        ):
            found[direction].rank_N[member_M] = ranks.rank_N
            found[direction].tie_N[member_M] = ranks.tie_N
    return score_N1, found


def score_pairs(
    model: Model, task: TaskPlan, planned: Plan, store: FeatureStore, batch_size: int, on_error: OnError, report: Report
) -> Scored:
    """Scores and ranks of one choice task by a model that reads image and text together; pairs are cached too."""
    scorer = model.encoder
    assert isinstance(scorer, PairScorer)
    if task.rows.protocol == "recall":
        pairs = task.rows.set_size**2
        raise ValueError(
            f"{task.rows.task.name}: raw retrieval needs a score for each of {pairs:,} pairs a fold, and {model.name} "
            "scores pair by pair. Choose tasks with hard negatives."
        )
    row_scores: list[np.ndarray] = []
    kept, skipped = [], []
    for rows in chunks(range(len(task.row_N)), max(1, _PAIRS_A_CHUNK // task.rows.set_size)):
        places = [planned.crops[task.crop_N[index]] for index in rows]
        pixels = images.read_bytes(places)
        texts = [[planned.texts[text] for text in task.text_NK[index]] for index in rows]
        keys = [
            [digest(b"pair", digest(data), text.encode()) for text in row]
            for data, row in zip(pixels, texts, strict=True)
        ]
        for index, place, data, row_keys, row_texts in zip(rows, places, pixels, keys, texts, strict=True):
            if missing := store.missing(row_keys):
                try:
                    image = scorer.preprocess(images.decode(data, place))
                except images.UnreadableImageError as error:
                    if on_error == "stop":
                        raise
                    skipped.append({"row": int(task.row_N[index]), "error": str(error)})
                    continue
                todo = [row_texts[position] for position in missing]
                scores = in_batches(lambda part, image=image: scorer.score([image] * len(part), part), todo, batch_size)
                store.put([row_keys[position] for position in missing], np.asarray(scores).reshape(-1, 1))
            kept.append(index)
            row_scores.append(store.get(row_keys)[:, 0])
        report(task.rows.task.name, rows[-1] + 1, len(task.row_N))
    if not kept:
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    score_NK = np.stack(row_scores)
    return Scored(task, np.array(kept), score_NK, {"": protocols.choice(score_NK)}, skipped)
