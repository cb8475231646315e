"""Several devices: one process each encodes its share of the plan's chunks into the common feature cache.

Nothing but the cache passes between them. The caller encodes a share of its own meanwhile, and then goes over the whole
plan: what a process left undone (it died, it met an unreadable image) is done, or reported, there.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from evaluators.engine import encode as engine
from evaluators.engine import plan
from evaluators.engine.encode import Report, Share, quiet
from evaluators.engine.feature_cache import FeatureStore, cache_folder
from evaluators.engine.plan import Plan
from evaluators.engine.rows import load
from evaluators.engine.tasks import Task
from evaluators.models import DualEncoder, Model, Precision, resolve


@dataclass(frozen=True)
class Job:
    """What every process is to encode, and how."""

    spec: str
    precision: str
    tasks: Sequence[Task]
    data_dir: Path | None
    limit: int | None
    batch_size: int


def encode_share(job: Job, device: str, share: Share) -> None:
    """Encode one share on one device. Every process plans the same chunks: they depend on the tasks alone."""
    model = resolve(job.spec, device, cast(Precision, job.precision))
    store = FeatureStore(cache_folder(), model.fingerprint)
    try:
        planned = plan.make(load(job.tasks, job.data_dir, job.limit))
        work_through(model, planned, store, job.batch_size, share)
    finally:
        store.close()


def work_through(
    model: Model, planned: Plan, store: FeatureStore, batch_size: int, share: Share, report: Report = quiet
) -> None:
    """Bring one share of what the plan needs into the store; what cannot be read is left out."""
    if isinstance(model.encoder, DualEncoder):
        engine.encode(model, planned, store, batch_size, "skip", report, share)
    else:
        for task in planned.tasks:
            engine.store_pairs(model, task, planned, store, batch_size, share, report)


@contextmanager
def helping(job: Job, devices: Sequence[str]) -> Iterator[None]:
    """Processes that encode the shares 1, 2, ... on ``devices`` while the block encodes share 0; waits for them."""
    context = multiprocessing.get_context("spawn")
    shares = [Share(index, len(devices) + 1) for index in range(1, len(devices) + 1)]
    processes = [
        context.Process(target=encode_share, args=(job, device, share), daemon=True)
        for device, share in zip(devices, shares, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        yield
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.terminate()
