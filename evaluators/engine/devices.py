"""Encode on several devices: each process encodes its share of the plan's chunks into the common feature cache.

The processes share only the cache. The caller encodes its own share at the same time and then goes over the whole plan.
If a process has crashed or skipped an unreadable image, the caller encodes the remaining items or reports the image.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from evaluators.engine import plan
from evaluators.engine.encode import Engine, encode
from evaluators.engine.feature_cache import FeatureStore, cache_folder
from evaluators.engine.pairs import compute_pair_scores
from evaluators.engine.rows import load
from evaluators.engine.tasks import Task
from evaluators.models import DualEncoder, Precision, resolve


@dataclass(frozen=True)
class Job:
    """The model, the tasks and the options that every process needs."""

    spec: str
    precision: str
    tasks: Sequence[Task]
    data_dir: Path | None
    limit: int | None
    batch_size: int


def encode_on_device(job: Job, device: str, share: slice) -> None:
    """Encode a share of the chunks on a device. Every process plans the same chunks, which depend only on the tasks."""
    model = resolve(job.spec, device, cast(Precision, job.precision))
    with closing(FeatureStore(cache_folder(), model.fingerprint)) as store:
        rows = load(job.tasks, job.data_dir, job.limit)
        encode_share(Engine(model, plan.make(rows), store, job.batch_size, "skip"), share)


def encode_share(engine: Engine, share: slice) -> None:
    """Compute and store the features, or the pair scores, of a share of the chunks."""
    if isinstance(engine.model.encoder, DualEncoder):
        encode(engine, share)
        return
    for task in engine.plan.tasks:
        for _ in compute_pair_scores(engine, task, share):
            pass


@contextmanager
def start_processes(job: Job, devices: Sequence[str]) -> Iterator[slice]:
    """Start one process per device, yield the caller's share of the chunks, and wait for the processes."""
    num_shares = len(devices) + 1
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(target=encode_on_device, args=(job, device, slice(index, None, num_shares)), daemon=True)
        for index, device in enumerate(devices, start=1)
    ]
    for process in started:
        process.start()
    try:
        yield slice(0, None, num_shares)
        for process in started:
            process.join()
    finally:
        for process in started:
            process.terminate()
