"""Compute on several devices or machines with Ray: one actor per device.

The caller reads the data, sends encoded images and texts to the actors, and writes what they return to its feature
cache. So actors need the model's weights and nothing else, and the cache has a single writer. Which items are computed
together depends only on the plan and on the cache before the run, as in one process, so the results have the same
bytes. Ray replaces an actor whose process or node dies; its unfinished chunks are repeated, by whichever actor is free.
A run that is killed resumes like any other, from the cache.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from compeval.base.pipeline.workers import start_ray
from compeval.evaluators.engine.actor import Actor, ModelOptions
from compeval.evaluators.engine.compute import NUM_THREADS, Chunk, OnError, Results
from compeval.evaluators.models import Model, Precision, resolve

CHUNKS_PER_ACTOR = 2
"""Chunks that an actor has at a time: the images of one are decoded while those of the other are encoded."""
RETRIES = 5
"""How often a chunk is repeated if its actor dies, for instance because its machine has too little memory."""
REST_SECONDS = 5
"""How long an actor that died gets no chunk, while Ray replaces it; doubled with each repetition of the chunk."""
OBJECT_STORE_BYTES = 100_000_000
"""Shared memory per actor for images on their way to it, if Ray is started here."""
START_ATTEMPTS = 3


class Cluster:
    """Actors, and the model that they have loaded."""

    def __init__(self, ray: Any, actors: Sequence[Any], device: str) -> None:
        self._ray, self._actors, self.device = ray, actors, device
        self._options = cast(ModelOptions, None)
        self.is_used = False
        """False if the model was loaded in this process, because actors cannot run it."""

    def load(self, spec: str, precision: Precision) -> Model:
        """Load a model. If the actors cannot help, it is loaded here: a text encoder, or a model behind an endpoint."""
        self._options = ModelOptions(spec, precision)
        model, members = self._ask("describe")
        self.is_used = members is not None
        if members is None:
            return resolve(spec, self.device, precision)
        if model.is_cached:
            self._options = self._options._replace(fingerprint=model.fingerprint)
        if "max_tokens" in members:
            members["find_truncated"] = partial(self._ask, "find_truncated")
        return replace(model, encoder=cast(Any, SimpleNamespace(**members)))

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Return the result of a call of the first actor that does not die."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayActorError):
                return self._get(getattr(actor, method).remote(self._options, *arguments))
        raise ValueError(
            f"{self._options.spec}: all workers died. Have their machines enough memory?"
        )

    def compute(
        self, chunks: Iterable[Chunk], batch_size: int, on_error: OnError
    ) -> Iterator[tuple[Chunk, Results]]:
        """Yield the chunks with their results, as they are finished. Chunks of actors that die are repeated."""
        jobs, repeated = (
            ((chunk, 0) for chunk in chunks),
            list[tuple[Chunk, int]](),
        )  # with the deaths of actors
        running: dict[Any, tuple[int, Chunk, int]] = {}
        rest_until = [0.0] * len(self._actors)
        while True:
            free = self._find_free(running, rest_until)
            for actor in free:
                job = repeated.pop() if repeated else next(jobs, None)
                if job is None:
                    break
                call = self._actors[actor].compute.remote(
                    self._options, job[0], batch_size, on_error
                )
                running[call] = actor, *job
            if not running:
                if free:
                    return
                time.sleep(max(0, min(rest_until) - time.monotonic()))
                continue
            (call, *_), _ = self._ray.wait(list(running), num_returns=1)
            actor, chunk, deaths = running.pop(call)
            try:
                results = self._get(call)
            except self._ray.exceptions.RayActorError:
                if deaths == RETRIES:
                    raise ValueError(
                        f"{self._options.spec}: a worker died {RETRIES + 1} times on the same data. If its machine has "
                        "too little memory, use fewer --workers or a smaller --batch-size. Finished work is kept."
                    ) from None
                rest_until[actor] = time.monotonic() + REST_SECONDS * 2**deaths
                repeated.append((chunk, deaths + 1))
            else:
                yield chunk, results

    def _find_free(
        self, running: dict[Any, tuple[int, Chunk, int]], rest_until: Sequence[float]
    ) -> list[int]:
        """Return the numbers of the actors that can take a chunk, twice if they can take two, the idle ones first."""
        taken, now = Counter(actor for actor, *_ in running.values()), time.monotonic()
        ready = [actor for actor, end in enumerate(rest_until) if end <= now]
        return [
            actor for place in range(CHUNKS_PER_ACTOR) for actor in ready if taken[actor] <= place
        ]

    def _get(self, reference: Any) -> Any:
        """Return the result of a call, or raise the error that the actor raised."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None


@contextmanager
def start(
    devices: Sequence[str], address: str | None = None, workers: int | None = None
) -> Iterator[Cluster]:
    """Start one actor per device of this machine, or ``workers`` actors on the cluster at ``address``.

    On a cluster, an actor has a GPU, unless ``devices`` is ``["cpu"]`` or there is none; by default, there is one actor
    per GPU, or per machine. Raises ModuleNotFoundError if Ray is not installed, and ConnectionError for no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Several devices or machines need Ray, which is not installed: `pip install 'compeval[ray]'`. Without it, "
            "name one device."
        ) from None
    options: dict[str, Any] = {
        "include_dashboard": False,
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if address is None:
        cpus = max(len(devices), NUM_THREADS)
        options |= {"num_cpus": cpus, "object_store_memory": OBJECT_STORE_BYTES * len(devices)}
    _connect(ray, address, options)
    try:
        if address is not None:
            devices = _choose_devices(ray, devices, workers)
        cpus = ray.cluster_resources().get("CPU", 1)
        threads = max(1, int(cpus // len(devices)))
        remote = ray.remote(Actor)
        actors = [
            remote.options(
                num_cpus=min(threads, cpus / len(devices)),
                num_gpus=int(address is not None and device == "cuda"),
                max_restarts=-1,
                max_concurrency=CHUNKS_PER_ACTOR,
            ).remote(Path.cwd(), device, threads)
            for device in devices
        ]
        yield Cluster(ray, actors, devices[0])
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    """Start Ray, or connect to a cluster. On a busy machine, Ray may not start within its 30 seconds: try again."""
    for attempt in range(START_ATTEMPTS):
        try:
            start_ray(address, **options)
            return
        except ConnectionError as error:
            raise ConnectionError(f"--ray-address {address}: no cluster found ({error}).") from None
        except Exception as error:  # Ray raises the base class
            ray.shutdown()
            if "timed out during startup" not in str(error) or attempt + 1 == START_ATTEMPTS:
                raise ValueError(f"Ray did not start ({error}).") from error


def _choose_devices(ray: Any, devices: Sequence[str], workers: int | None) -> list[str]:
    """Return the device of each actor on a cluster."""
    resources = ray.cluster_resources()
    gpus = 0 if list(devices) == ["cpu"] else int(resources.get("GPU", 0))
    machines = sum(node["Alive"] for node in ray.nodes())
    if gpus and workers and workers > gpus:
        raise ValueError(f"--workers {workers}: the cluster has {gpus} GPUs.")
    return ["cuda" if gpus else "cpu"] * (workers or gpus or machines)
