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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from compeval.base.pipeline.workers import start_ray
from compeval.evaluators.engine.compute import (
    NUM_THREADS,
    Chunk,
    OnError,
    Results,
    start_computing,
    start_preparing,
)
from compeval.evaluators.models import (
    DualEncoder,
    Model,
    PaidScorer,
    PairScorer,
    Precision,
    load_model,
)

CHUNKS_PER_ACTOR = 2
"""Chunks that an actor has at a time: the images of one are decoded while those of the other are encoded."""
RETRIES = 5
"""Number of times that a chunk is repeated if its actor dies, as it does if its machine has too little memory."""
REST_SECONDS = 5
"""Seconds without a chunk for an actor that died, while Ray replaces it; doubled with each repetition of the chunk."""
OBJECT_STORE_BYTES = 100_000_000
"""Shared memory per actor for images on their way to it, if Ray is started here."""
START_ATTEMPTS = 3
MEMBERS = (
    "preprocess", "encode_images", "encode_texts", "score",
    "chooses", "num_reranked", "gets_whole_images", "max_tokens", "no_answer", "cut_off",
)  # fmt: skip
"""Members of an encoder that tell the caller how to plan for it. ``Cluster`` adds ``find_truncated``."""


class ModelOptions(NamedTuple):
    """A model: what each call of an actor begins with."""

    spec: str
    precision: Precision
    fingerprint: str | None = None
    """Fingerprint that the actor's model must have. None: not known yet."""


def _refuse(*_: Any) -> Any:
    raise AssertionError("only the actors have the model")


class Actor:
    """Loads a model on its device and computes what it is sent. Its methods run in several threads."""

    def __init__(self, folder: Path, device: str, threads: int) -> None:
        # Relative paths of weights, and modules of ``python:`` specs, are the caller's.
        os.chdir(folder)
        self._device = device
        self._threads = threads
        self._lock = Lock()
        self._models: dict[tuple[str, Precision], Model] = {}

    def describe(self, options: ModelOptions) -> tuple[Model, dict[str, Any] | None]:
        """Return the model without its encoder, and the members of the encoder, whose methods cannot be called.

        The members are None for models that actors do not run: text encoders, and models behind an endpoint.
        """
        model = self._load(options)
        encoder = model.encoder
        described = replace(model, encoder=None)
        if not isinstance(encoder, DualEncoder | PairScorer) or isinstance(encoder, PaidScorer):
            return described, None
        members: dict[str, Any] = {}
        for name in MEMBERS:
            if hasattr(encoder, name):
                value = getattr(encoder, name)
                members[name] = _refuse if callable(value) else value
        return described, members

    def find_truncated(self, options: ModelOptions, texts: list[str]) -> np.ndarray:
        encoder: Any = self._load(options).encoder
        return encoder.find_truncated(texts)

    def compute(
        self, options: ModelOptions, chunk: Chunk, batch_size: int, on_error: OnError
    ) -> Results:
        """Return the results of a chunk. Images are decoded while another thread encodes those of another chunk."""
        model = self._load(options)
        with ThreadPoolExecutor(self._threads) as pool:
            inputs: list[Any] = []
            if chunk.method == "encode_images":
                inputs = start_preparing(pool, model.encoder, chunk).collect()
            with self._lock:
                # Questions are prepared under the lock, too: tokenisers are not thread-safe.
                if chunk.method != "encode_images":
                    inputs = start_preparing(pool, model.encoder, chunk).collect()
                return start_computing(model, chunk, inputs, batch_size, on_error).wait()

    def _load(self, options: ModelOptions) -> Model:
        """Return the model. The previous one is freed before another one is loaded."""
        with self._lock:
            if (options.spec, options.precision) not in self._models:
                self._models.clear()
                self._models[options.spec, options.precision] = load_model(
                    options.spec, self._device, options.precision
                )
            model = self._models[options.spec, options.precision]
        if options.fingerprint not in (None, model.fingerprint):
            raise ValueError(
                f"{options.spec}: its weights or packages differ between machines. Install the same versions, and copy "
                "the same weights, everywhere."
            )
        return model


class Job(NamedTuple):
    """A chunk to compute."""

    chunk: Chunk
    deaths: int = 0
    """Number of actors that died while they computed it."""


class Call(NamedTuple):
    """A chunk that an actor computes."""

    actor: int
    job: Job


class Cluster:
    """Actors, and the model that they have loaded."""

    def __init__(self, ray: Any, actors: Sequence[Any], device: str) -> None:
        self._ray = ray
        self._actors = actors
        self.device = device
        self._options = cast(ModelOptions, None)
        self.is_used = False
        """False if the model was loaded in this process, because actors cannot run it."""

    def load(self, spec: str, precision: Precision) -> Model:
        """Load a model. If the actors cannot help, it is loaded here: a text encoder, or a model behind an endpoint."""
        self._options = ModelOptions(spec, precision)
        model, members = self._ask("describe")
        self.is_used = members is not None
        if members is None:
            return load_model(spec, self.device, precision)
        if model.keeps_features:
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
        """Yield the chunks with their results, as they are finished. Chunks of actors that die are repeated.

        Ray itself repeats a call on the same actor only (``max_task_retries``), so the chunks of a lost machine would
        wait for another one. Here they go to any free actor.
        """
        waiting = iter(chunks)
        repeated: list[Job] = []
        running: dict[Any, Call] = {}
        rest_until = [0.0] * len(self._actors)
        while True:
            # Send a chunk to each free actor.
            free = self._find_free(running.values(), rest_until)
            for actor in free:
                job = repeated.pop() if repeated else None
                while job is None and (chunk := next(waiting, None)) is not None:
                    if chunk.keys:
                        job = Job(chunk)
                    else:
                        yield chunk, []
                if job is None:
                    break
                sent = job.chunk._replace(all_keys=())
                remote = self._actors[actor].compute.remote
                running[remote(self._options, sent, batch_size, on_error)] = Call(actor, job)

            # All is done, or all actors rest.
            if not running:
                if free:
                    return
                time.sleep(max(0, min(rest_until) - time.monotonic()))
                continue

            # Take the results of one.
            (finished, *_), _ = self._ray.wait(list(running), num_returns=1)
            actor, job = running.pop(finished)
            try:
                results = self._get(finished)
            except self._ray.exceptions.RayActorError:
                if job.deaths == RETRIES:
                    raise ValueError(
                        f"{self._options.spec}: a worker died {RETRIES + 1} times on the same data. If its machine has "
                        "too little memory, use fewer --workers or a smaller --batch-size. Finished work is kept."
                    ) from None
                rest_until[actor] = time.monotonic() + REST_SECONDS * 2**job.deaths
                repeated.append(Job(job.chunk, job.deaths + 1))
            else:
                yield job.chunk, results

    def _find_free(self, calls: Iterable[Call], rest_until: Sequence[float]) -> list[int]:
        """Return the numbers of the actors that can take a chunk, twice if they can take two, the idle ones first."""
        taken = Counter(call.actor for call in calls)
        now = time.monotonic()
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
