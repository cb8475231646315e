"""The retrieval engine: plan, encode what is missing, score.

Each distinct crop and each distinct text of all tasks is encoded once per model, across runs too (``features.py``);
each image is decoded once. A chunk is the unit of commit: killed at any moment, the next run does only what is
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from evaluators.engine import images, plan
from evaluators.engine.feature_cache import FeatureStore
from evaluators.engine.plan import Place, Plan, TaskPlan
from evaluators.engine.rows import Rows
from evaluators.models import DualEncoder, Model, PairScorer, TextEncoder, TextRecoverer
from evaluators.models.batches import in_batches, unit_length
from evaluators.models.fingerprint import digest
from evaluators.protocols.base import Directions, RowProtocol, Sample, SetProtocol, TextProtocol
from evaluators.protocols.ranking import cosine

Report = Callable[[str, int, int], None]
"""Told what is going on: stage, items done, items in all."""
OnError = Literal["stop", "skip"]
Item = TypeVar("Item")

_ROWS_A_BLOCK = 1024
_PAIRS_A_CHUNK = 256


def quiet(stage: str, done: int, total: int) -> None:
    """A report that nobody hears."""


class Share(NamedTuple):
    """The chunks that one of several processes encodes: every ``of``-th, from number ``first`` on."""

    first: int
    of: int

    def starts(self, items: int, chunk_size: int) -> range:
        """Where its chunks begin."""
        return range(self.first * chunk_size, items, self.of * chunk_size)


ALL = Share(0, 1)


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
    score_NIT: np.ndarray
    """float32, each image of a row with each of its texts, NaN where there is no such text; empty (T = 0) where a
    protocol scores images and texts of different rows."""
    found: Directions
    skipped: list[dict[str, Any]]


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Consecutive pieces of ``size`` items; the last may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def backing_off(encode: Callable[[int], np.ndarray], size: int) -> np.ndarray:
    """What ``encode`` gives for a batch size, halved until the device has memory for it. ValueError if it never has."""
    import torch

    while True:
        try:
            return encode(size)
        except torch.OutOfMemoryError:
            if size == 1:
                raise ValueError("The device has too little memory to encode a single item.") from None
            size //= 2
            torch.cuda.empty_cache()


def encode(
    model: Model,
    planned: Plan,
    store: FeatureStore,
    batch_size: int,
    on_error: OnError,
    report: Report,
    share: Share = ALL,
) -> Encoded:
    """Bring the features of the plan's crops and texts into the store. ValueError at an unreadable image.

    Of the chunks in ``share`` alone; only the keys of all of them are of use for scoring.
    """
    done = _encode_images(model, planned.crops, store, batch_size, on_error, report, share)
    done.text_keys, done.texts_encoded = encode_texts(model, planned.texts, store, batch_size, report, share)
    return done


def _encode_images(
    model: Model,
    crops: Sequence[Place],
    store: FeatureStore,
    batch_size: int,
    on_error: OnError,
    report: Report,
    share: Share,
) -> Encoded:
    """The half of :func:`encode` that is of images."""
    encoder, done = model.encoder, Encoded()
    assert isinstance(encoder, DualEncoder)
    unreadable: dict[bytes, str] = {}
    report("images", 0, len(crops))
    chunks_here = plan.crop_chunks(crops)[share.first :: share.of]
    for chunk in images.stream(crops, chunks_here, store.missing, encoder.preprocess):
        unreadable |= {chunk.keys[index]: message for index, message in chunk.errors.items()}
        if unreadable and on_error == "stop":
            raise images.UnreadableImageError(next(iter(unreadable.values())))
        if chunk.missing:
            made = backing_off(partial(encoder.encode_images, chunk.images), batch_size)
            store.put([chunk.keys[index] for index in chunk.missing], unit_length(made, model.name, "image"))
        for index, key in enumerate(chunk.keys):
            if key in unreadable:
                done.errors[chunk.start + index] = unreadable[key]
        done.crop_keys += chunk.keys
        done.images_encoded += len(chunk.missing)
        report("images", chunk.start + len(chunk.keys), len(crops))
    return done


def encode_texts(
    model: Model,
    texts: Sequence[str],
    store: FeatureStore,
    batch_size: int,
    report: Report = quiet,
    share: Share = ALL,
) -> tuple[list[bytes], int]:
    """Bring the features of texts into the store; gives their keys there and how many were not there yet."""
    encoder, keys, encoded = model.encoder, [], 0
    assert isinstance(encoder, TextEncoder)
    report("texts", 0, len(texts))
    for start in share.starts(len(texts), plan.TEXTS_A_CHUNK):
        chunk = texts[start : start + plan.TEXTS_A_CHUNK]
        found = [text_key(text) for text in chunk]
        todo = {found[index]: chunk[index] for index in store.missing(found)}
        if todo:
            made = backing_off(partial(encoder.encode_texts, list(todo.values())), batch_size)
            store.put(list(todo), unit_length(made, model.name, "text"))
        keys += found
        encoded += len(todo)
        report("texts", start + len(chunk), len(texts))
    return keys, encoded


def text_key(text: str) -> bytes:
    """Where the store has a text's features."""
    return digest(b"text", text.encode())


def obstacle(model: Model, rows: Rows) -> str | None:
    """Why a model of this shape cannot do this task; None if it can."""
    protocol, encoder, task = rows.protocol, model.encoder, rows.task.name
    if isinstance(protocol, TextProtocol):
        if isinstance(encoder, TextRecoverer):
            return None
        return (
            f"{task}: the texts are to be recovered from their encoding, and {model.name} gives no texts. Such a model "
            "is local:FOLDER of a probe (`compeval train probe`), or python:module:Class with a method `recover`."
        )
    if not isinstance(encoder, DualEncoder | PairScorer):
        return f"{task}: {model.name} reads no images. Choose tasks of texts alone."
    if isinstance(protocol, SetProtocol) and not isinstance(encoder, DualEncoder):
        pairs = rows.set_size**2 if rows.fold_size else len(rows) * sum(map(len, rows.classes))
        return (
            f"{task}: {protocol.name} needs a score for each of {pairs:,} pairs, and {model.name} scores pair by pair. "
            "Choose tasks with a few candidates a row."
        )
    return None


def score(task: TaskPlan, encoded: Encoded, store: FeatureStore) -> Scored:
    """Scores of one task from stored features, and what its protocol makes of them."""
    bad_N = np.isin(task.crop_NI, list(encoded.errors)).any(axis=1)
    skipped = [
        {"row": int(row), "error": next(encoded.errors[crop] for crop in crops if crop in encoded.errors)}
        for row, crops in zip(task.row_N[bad_N], task.crop_NI[bad_N].tolist(), strict=True)
    ]
    kept_N = np.flatnonzero(~bad_N)
    if not len(kept_N):
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    sample = Sample(
        crop_NI=task.crop_NI[kept_N],
        text_NT=task.text_NT[kept_N],
        fold_N=task.fold_N[kept_N],
        class_CP=task.class_CP,
        label_N=task.label_N[kept_N] if len(task.label_N) else task.label_N,
        image=lambda position: store.get([encoded.crop_keys[crop] for crop in position]),
        text=lambda position: store.get([encoded.text_keys[text] for text in position]),
    )
    protocol = task.rows.protocol
    if isinstance(protocol, SetProtocol):
        return Scored(task, kept_N, np.empty((len(kept_N), 1, 0), np.float32), protocol.answers(sample), skipped)
    assert isinstance(protocol, RowProtocol)
    score_NIT = _row_scores(sample)
    found = protocol.answers(score_NIT) | (protocol.among_all(sample) if protocol.among_all else {})
    return Scored(task, kept_N, score_NIT, found, skipped)


def _row_scores(sample: Sample) -> np.ndarray:
    """Cosines (N, I, T) of each row's images and texts, in blocks."""
    blocks = []
    for start in range(0, len(sample.text_NT), _ROWS_A_BLOCK):
        rows = slice(start, start + _ROWS_A_BLOCK)
        crop_NI, text_NT = sample.crop_NI[rows], sample.text_NT[rows]
        text_NTD = sample.text(np.where(text_NT < 0, text_NT.max(), text_NT).ravel()).reshape(*text_NT.shape, -1)
        score_NIT = np.stack([cosine(sample.image(crop_N), text_NTD) for crop_N in crop_NI.T], axis=1)
        blocks.append(np.where(text_NT[:, None] < 0, np.float32(np.nan), score_NIT))
    return np.concatenate(blocks)


def recover(model: Model, task: TaskPlan, planned: Plan, batch_size: int, report: Report) -> Scored:
    """What a model that recovers texts from their encoding makes of one task."""
    recoverer, protocol = model.encoder, task.rows.protocol
    assert isinstance(recoverer, TextRecoverer)
    assert isinstance(protocol, TextProtocol)
    prompts = [planned.texts[text] for text in task.text_NT[:, 0]]
    recovered: list[str] = []
    for part in chunks(prompts, batch_size):
        recovered += recoverer.recover(list(part))
        report(task.rows.task.name, len(recovered), len(prompts))
    kept_N = np.arange(len(prompts))
    return Scored(task, kept_N, np.empty((len(kept_N), 0, 1), np.float32), protocol.answers(recovered, prompts), [])


def score_pairs(
    model: Model, task: TaskPlan, planned: Plan, store: FeatureStore, batch_size: int, on_error: OnError, report: Report
) -> Scored:
    """Scores of one task by a model that reads image and text together; pairs are cached too."""
    protocol = task.rows.protocol
    assert isinstance(protocol, RowProtocol)
    kept, scores, skipped = [], [], []
    for rows in chunks(range(len(task.row_N)), _rows_a_chunk(task)):
        for index in rows:
            try:
                scores.append(_score_row(model, task, planned, store, batch_size, index))
                kept.append(index)
            except images.UnreadableImageError as error:
                if on_error == "stop":
                    raise
                skipped.append({"row": int(task.row_N[index]), "error": str(error)})
        report(task.rows.task.name, rows[-1] + 1, len(task.row_N))
    if not kept:
        raise ValueError(f"{task.rows.task.name}: no image could be read.")
    score_NIT = np.stack(scores)
    return Scored(task, np.array(kept), score_NIT, protocol.answers(score_NIT), skipped)


def store_pairs(
    model: Model, task: TaskPlan, planned: Plan, store: FeatureStore, batch_size: int, share: Share, report: Report
) -> None:
    """Bring the scores of one share of a task's rows into the store; rows that cannot be read are left out."""
    rows, size = range(len(task.row_N)), _rows_a_chunk(task)
    for start in share.starts(len(rows), size):
        for index in rows[start : start + size]:
            with suppress(images.UnreadableImageError):
                _score_row(model, task, planned, store, batch_size, index)
        report(task.rows.task.name, min(start + size, len(rows)), len(rows))


def _rows_a_chunk(task: TaskPlan) -> int:
    return max(1, _PAIRS_A_CHUNK // (task.crop_NI.shape[1] * task.text_NT.shape[1]))


def _score_row(
    model: Model, task: TaskPlan, planned: Plan, store: FeatureStore, batch_size: int, index: int
) -> np.ndarray:
    """Scores (I, T) of one row's images and texts, NaN where there is no such text."""
    scorer = model.encoder
    assert isinstance(scorer, PairScorer)
    there_T = task.text_NT[index] >= 0
    texts = [planned.texts[text] for text in task.text_NT[index][there_T]]
    score_IT = np.full((task.crop_NI.shape[1], len(there_T)), np.nan, dtype=np.float32)
    places = [planned.crops[crop] for crop in task.crop_NI[index]]
    for image_index, (place, data) in enumerate(zip(places, images.read(places), strict=True)):
        keys = [digest(b"pair", images.key(data, place), text.encode()) for text in texts]
        if missing := store.missing(keys):
            image = scorer.preprocess(images.cut(images.decode(data, place), place))
            todo = [texts[position] for position in missing]
            made = np.asarray(backing_off(partial(_score_texts, scorer, image, todo), batch_size), dtype=np.float32)
            if not np.isfinite(made).all():  # before it is kept for ever
                raise ValueError(
                    f"{place}: {model.name} gives a score that is not a finite number. Check the weights, or try "
                    "`--precision fp32`."
                )
            store.put([keys[position] for position in missing], made.reshape(-1, 1))
        score_IT[image_index, there_T] = store.get(keys)[:, 0]
    return score_IT


def _score_texts(scorer: PairScorer, image: Any, texts: Sequence[str], batch_size: int) -> np.ndarray:
    """Scores (T,) of an image with each of some texts."""
    return in_batches(lambda part: scorer.score([image] * len(part), part), texts, batch_size)
