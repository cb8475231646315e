"""Several devices: each process encodes its share of the plan's chunks into the common feature cache.

The processes share nothing but the cache. The caller encodes its own share meanwhile, and then goes over the whole
plan: whatever a process did not finish (it died, or met an unreadable image) is done, or reported, there.
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
from evaluators.engine.rows import load
from evaluators.engine.score import pair_scores
from evaluators.engine.tasks import Task
from evaluators.models import DualEncoder, Precision, resolve


@dataclass(frozen=True)
class Job:
    """What the processes encode."""

    spec: str
    precision: str
    tasks: Sequence[Task]
    data_dir: Path | None
    limit: int | None
    batch_size: int


def encode_on_device(job: Job, device: str, share: slice) -> None:
    """Encode a share of the chunks on a device. Every process plans the same chunks: they depend on the tasks only."""
    model = resolve(job.spec, device, cast(Precision, job.precision))
    with closing(FeatureStore(cache_folder(), model.fingerprint)) as store:
        rows = load(job.tasks, job.data_dir, job.limit)
        encode_share(Engine(model, plan.make(rows), store, job.batch_size, "skip"), share)


def encode_share(engine: Engine, share: slice) -> None:
    """Store the features, or the scores of pairs, of a share of the chunks; unreadable images are skipped."""
    if isinstance(engine.model.encoder, DualEncoder):
        encode(engine, share)
        return
    for task in engine.plan.tasks:
        for _ in pair_scores(engine, task, share):
            pass


@contextmanager
def processes(job: Job, devices: Sequence[str]) -> Iterator[slice]:
    """Start one process per device, yield the caller's share of the chunks, and wait for the processes."""
    count = len(devices) + 1
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(target=encode_on_device, args=(job, device, slice(index, None, count)), daemon=True)
        for index, device in enumerate(devices, start=1)
    ]
    for process in started:
        process.start()
    try:
        yield slice(0, None, count)
        for process in started:
            process.join()
    finally:
        for process in started:
            process.terminate()
