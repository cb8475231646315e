"""Plan and compute chunks: order, batches, read-ahead, and devices that run out of memory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from compeval.evaluators.engine import compute, images, plan
from compeval.evaluators.engine.compute import (
    Chunk,
    ImageCrops,
    batches_of_whole_images,
    retry_with_smaller_batches,
)
from compeval.evaluators.engine.encode import crops_per_chunk, split_by_memory
from compeval.evaluators.engine.pairs import average_choices, find_circular_hits
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task, discover
from compeval.evaluators.models import Model
from compeval.evaluators.models.batches import in_batches
from compeval.evaluators.models.pixels import PixelTransform
from tests.close import assert_close
from tests.evaluators import tiny

LAION = Task("crepe", "laion_uc_hnatom")


def test_a_raw_task_plans_only_the_rows_of_its_folds(data: Path):
    planned = plan.build_plan([load(Task("crepe", "laion_uc_raw"), data)])
    (task,) = planned.tasks
    assert len(task.row_N) == len(planned.crops) == len(planned.texts) == 8
    assert np.bincount(task.fold_N).tolist() == [4, 4]
    assert [place.row for place in planned.crops] == task.row_N.tolist()


def test_the_plan_depends_only_on_the_tasks(data: Path):
    first, second = (
        plan.build_plan([load(task, data) for task in discover(data)]) for _ in range(2)
    )
    assert first.texts == second.texts
    assert list(map(str, first.crops)) == list(map(str, second.crops))


def test_texts_with_a_common_prefix_are_consecutive(tmp_path: Path):
    rows = [tiny.row(0, "red", noun, ["blue"]) for noun in ("Cup", "apple", "Apple", "ball")]
    data = tiny.write_dataset(tmp_path, {"laion_uc_hnatom": {"test": rows}})
    texts = plan.build_plan([load(LAION, data)]).texts
    assert texts[4:] == ("a red Apple", "a red apple", "a red ball", "a red Cup")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [0] * 5),
        (10**9, [0, *[5] * 2, 3, 0]),
        (5 * 3 * 8 * 10, [0, 5, 0, 0, 0]),  # the largest image of the first chunk has 8 x 10 pixels
    ],
)
def test_large_chunks_are_not_decoded_ahead(
    monkeypatch: pytest.MonkeyPatch, data: Path, limit: int, expected: list[int]
):
    planned = plan.build_plan([load(LAION, data)])
    prepared: list[int] = []
    encoder = SimpleNamespace(preprocess=lambda image: prepared.append(1) or image)
    items = [
        ImageCrops(file, [crop])
        for file, crop in zip(images.read(planned.crops), planned.crops, strict=True)
    ]
    parts = plan.chunks(len(items), 5)
    chunks = [Chunk("images", "encode_images", [], items[part], part, len(items)) for part in parts]
    monkeypatch.setattr(compute, "READ_AHEAD_BYTES", limit)
    used, ahead = 0, []
    with ThreadPoolExecutor(1) as pool:
        for _, inputs in compute.prepare_ahead(pool, encoder, chunks):
            pool.submit(int).result()  # after what was submitted before
            used += len(inputs)
            ahead.append(len(prepared) - used)
    assert ahead == expected


@pytest.mark.parametrize(("size", "expected"), [(10, [4, 5, 6, 6, 6, 6]), (50, [2, 3, 4, 5, 6, 6])])
def test_large_files_are_not_read_far_ahead(
    monkeypatch: pytest.MonkeyPatch, size: int, expected: list[int]
):
    made = 0

    def make_chunks() -> Iterator[Chunk]:
        nonlocal made
        for number in range(6):
            made += 1
            item = ImageCrops(bytes(size), [])
            yield Chunk(
                "images",
                "encode_images",
                [],
                [item, ImageCrops(None, [])],
                slice(number, number + 1),
                6,
            )

    monkeypatch.setattr(compute, "READ_AHEAD_BYTES", 90)
    counts = []
    with ThreadPoolExecutor(1) as reader:
        for _ in compute.read_ahead(reader, make_chunks(), SimpleNamespace()):
            reader.submit(int).result()  # after what was submitted before
            counts.append(made)
    assert counts == expected


def test_texts_are_tokenised_by_the_thread_that_reads():
    encoder = SimpleNamespace(tokenize=lambda texts: [len(text) for text in texts])
    chunks = [Chunk("texts", "encode_texts", [], [["a", "bc"]], slice(0, 2), 2)]
    with ThreadPoolExecutor(1) as reader:
        (chunk,) = compute.read_ahead(reader, iter(chunks), encoder)
    assert chunk.items == [[1, 2]]


def test_a_chunk_has_at_least_256_crops_or_one_batch_of_whole_images():
    assert [crops_per_chunk(SimpleNamespace(), size) for size in (64, 300)] == [256, 300]
    assert crops_per_chunk(SimpleNamespace(gets_whole_images=True), 64) == 64
    assert crops_per_chunk(SimpleNamespace(gets_whole_images=True), 512) == 64


def test_a_chunk_of_whole_images_is_split_by_the_pixels_that_their_headers_declare():
    """Images of 300, 300, 900 and 0 (unreadable) bytes: at most 700 together, or one."""
    crop: Any = object()
    sizes = ((10, 10), (10, 10), (30, 10))
    files = [tiny.plain_picture((1, 2, 3), size) for size in sizes] + [b"no image"]
    items = [ImageCrops(file, [crop], keys=[b"a", b"b"]) for file in files]
    keys = [bytes([number]) for number in range(8)]
    chunk = Chunk("task", "score", keys, items, slice(0, 4), 4)
    parts = list(split_by_memory(chunk, 700))
    assert [len(part.items) for part in parts] == [2, 1, 1]
    assert [key for part in parts for key in part.keys] == keys
    assert [len(part.keys) for part in parts] == [4, 2, 2]
    assert all(part.part == slice(0, 4) for part in parts)
    (whole,) = split_by_memory(chunk, 10_000)
    assert whole == chunk


def test_pairs_of_one_image_are_in_one_batch_if_they_fit():
    images_M = [*"aaabbccccccc"]
    assert [images_M[batch] for batch in batches_of_whole_images(images_M, 5)] == [
        [*"aaabb"],
        [*"ccccc"],
        [*"cc"],
    ]


def test_a_caption_scores_how_often_it_is_chosen():
    # Captions 0, 1, 2. First of (0, 1): 1, (0, 2): .5, (1, 0): .2, (1, 2): 0, (2, 0): .5, (2, 1): 1.
    #   0: 1 + .5 + (1 - .2) + (1 - .5) = 2.8 of 4;  1: .2 + 0 + (1 - 1) + (1 - 1) = .2;  2: .5 + 1 + .5 + 1 = 3
    chosen = average_choices(np.array([1, 0.5, 0.2, 0, 0.5, 1]), 3)
    assert_close(chosen, [0.7, 0.05, 0.75])
    assert_close(average_choices(np.empty(0), 1), [0.5])


def test_a_circular_hit_is_the_truth_in_every_order():
    # Orders 01, 02, 10, 12, 20, 21. Of those with the truth (0): first in 01 and 02, second in 10 and 20.
    hit, always_first, undecided = (
        [0.9, 0.6, 0.4, 0.1, 0.2, 0.8],
        [1, 1, 0.7, 0, 0, 0],
        [0.9, 0.9, 0.1, 0, 0.5, 0],
    )
    rows = [np.array([first_Q]) for first_Q in (hit, always_first, undecided)]
    assert find_circular_hits(rows).tolist() == [True, False, False]
    assert find_circular_hits([np.array([[0.6, 0.4]]), np.array([[0.6, 0.6]])]).tolist() == [
        True,
        False,
    ]


def encode_at_most(count: int, error: Exception, sizes: list[int], part: list[int]) -> np.ndarray:
    """Return the numbers of a part, or raise the error if it has more than ``count``."""
    sizes.append(len(part))
    if len(part) > count:
        raise error
    return np.array(part)[:, None]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError(),
        RuntimeError("MPS backend out of memory (MPS allocated: 8.00 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"),
    ],
)
def test_batches_are_halved_when_memory_runs_out(error: Exception):
    sizes: list[int] = []
    encode = partial(in_batches, partial(encode_at_most, 3, error, sizes), list(range(8)))
    assert retry_with_smaller_batches(encode, 8)[:, 0].tolist() == list(range(8))
    assert sizes == [8, 4, 2, 2, 2, 2]
    never = partial(in_batches, partial(encode_at_most, 0, error, sizes), [1, 2])
    with pytest.raises(ValueError, match="too little memory to encode a single item"):
        retry_with_smaller_batches(never, 2)


def test_other_errors_of_a_device_are_raised():
    error = RuntimeError("CUDA error: device-side assert triggered")
    with pytest.raises(RuntimeError, match="device-side assert"):
        retry_with_smaller_batches(
            partial(in_batches, partial(encode_at_most, 0, error, []), [1]), 8
        )


class GpuFeatures:
    """Features on a GPU that records what is queued and what is waited for."""

    is_cuda, device = True, "cuda"

    def __init__(self, log: list[str], number: int) -> None:
        self._log, self._number = log, number

    def float(self) -> "GpuFeatures":
        return self

    def to(self, device: str, *, non_blocking: bool) -> torch.Tensor:
        assert (device, non_blocking) == ("cpu", True)
        self._log.append(f"copy {self._number}")
        return torch.full((1, 2), float(self._number))


def test_features_are_copied_before_the_next_chunk_is_computed_and_waited_for_after_it(
    monkeypatch: pytest.MonkeyPatch,
):
    log: list[str] = []

    def start_texts(texts: list[str], batch_size: int) -> GpuFeatures:
        log.append(f"encode {texts[0]}")
        return GpuFeatures(log, int(texts[0]))

    class Event:
        def record(self, stream: object) -> None:
            self.copied = log[-1]

        def synchronize(self) -> None:
            log.append(f"wait for {self.copied}")

    class Threads(ThreadPoolExecutor):
        def __init__(self, preprocess: object, count: int) -> None:
            super().__init__(count)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    monkeypatch.setattr(compute, "Workers", Threads)
    monkeypatch.setattr(compute, "CHUNKS_COMPUTED_AHEAD", 1)
    encoder = SimpleNamespace(
        device="cuda", preprocess=PixelTransform((), (1, 1)), start_texts=start_texts
    )
    model = Model("fake", "fake", encoder, "fake")  # pyright: ignore
    chunks = [
        Chunk("texts", "encode_texts", [], [[str(number)]], slice(number, number + 1), 3)
        for number in (1, 2, 3)
    ]
    features: list[Any] = [
        results for _, results in compute.compute_here(model, True, chunks, 1, "stop")
    ]
    assert_close(np.concatenate(features), np.full((3, 2), 0.5**0.5))
    assert log == [
        *(
            "encode 1",
            "copy 1",
            "encode 2",
            "copy 2",
            "wait for copy 1",
            "encode 3",
            "copy 3",
            "wait for copy 2",
        ),
        "wait for copy 3",
    ]
