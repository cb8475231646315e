"""Encode on several devices or machines with Ray: one actor per device.

The caller reads the data, sends encoded images and texts to the actors, and writes what they return to its feature
cache. So actors need the model's weights and nothing else, and the cache has a single writer. Which items are encoded
together depends only on the plan and on the cache before the run, as in one process, so the results have the same
bytes. Ray replaces an actor whose process or node dies; its unfinished chunks are repeated, by whichever actor is free.
A run that is killed resumes like any other, from the cache.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from evaluators.engine import images, pairs, plan
from evaluators.engine.actor import Actor, ModelOptions
from evaluators.engine.encode import Engine, crops_per_chunk, text_chunks, text_key
from evaluators.models import DualEncoder, Model, Precision, resolve
from evaluators.models.batches import scale_to_unit_length
from evaluators.models.custom import CustomDualEncoder, CustomPairScorer

CHUNKS_PER_ACTOR = 2
"""Chunks that an actor has at a time: the images of one are decoded while those of the other are encoded."""
RETRIES = 5
"""How often a chunk is repeated if its actor dies, for instance because its machine has too little memory."""
REST_SECONDS = 5
"""How long an actor that died gets no chunk, while Ray replaces it; doubled with each repetition of the chunk."""
OBJECT_STORE_BYTES = 100_000_000
"""Shared memory per actor for images on their way to it, if Ray is started here."""
START_ATTEMPTS = 3


class RemoteEncoder:
    """In place of an encoder that only the actors have loaded."""

    def preprocess(self, image: Any) -> Any:
        raise ValueError("An image that could not be read before can be read now. Run again; finished work is kept.")

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        raise AssertionError("the actors encode")

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        raise AssertionError("the actors encode")


class RemoteChooser(CustomPairScorer):
    """In place of a pair scorer that chooses between two captions."""

    chooses: Literal[True] = True


STAND_INS: dict[str, Callable[[], Any]] = {
    "dual": RemoteEncoder,
    "custom": lambda: CustomDualEncoder(None, ""),
    "pairs": lambda: CustomPairScorer(None, ""),
    "choices": lambda: RemoteChooser(None, ""),
}
"""What the caller's model has in place of its encoder, by the kind of the encoder."""


class Job(NamedTuple):
    """One call of an actor, and the cache keys of what it returns."""

    method: str
    items: list[Any]
    keys: list[bytes]
    stage: str
    done: int
    total: int
    deaths: int = 0
    """How many actors have died while they computed it."""


class Cluster:
    """Actors, and the model that they have loaded."""

    def __init__(self, ray: Any, actors: Sequence[Any], device: str) -> None:
        self._ray, self._actors, self.device = ray, actors, device
        self._options = cast(ModelOptions, None)
        self._is_used = False

    def load(self, spec: str, precision: Precision) -> Model:
        """Load a model. If the actors cannot help, it is loaded here: a text encoder, or a model behind an endpoint."""
        self._options = ModelOptions(spec, precision)
        model, kind, max_tokens = self._ask("describe")
        self._is_used = kind in STAND_INS
        if not self._is_used:
            return resolve(spec, self.device, precision)
        if model.is_cached:
            self._options = self._options._replace(fingerprint=model.fingerprint)
        encoder = STAND_INS[kind]()
        if max_tokens is not None:
            encoder.max_tokens, encoder.find_truncated = max_tokens, partial(self._ask, "find_truncated")
        return replace(model, encoder=encoder)

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Return the result of a call of the first actor that does not die."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayActorError):
                return self._get(getattr(actor, method).remote(self._options, *arguments))
        raise ValueError(f"{self._options.spec}: all workers died. Have their machines enough memory?")

    def fill(self, engine: Engine) -> dict[str, int]:
        """Compute and store what the plan needs and the cache lacks. Returns the numbers of new images and texts."""
        if not self._is_used:
            return {}
        options = self._options._replace(batch_size=engine.batch_size)
        counts, jobs = Counter[str](), _list_jobs(engine)
        free = deque(actor for _ in range(CHUNKS_PER_ACTOR) for actor in self._actors)
        pending: dict[Any, tuple[Any, Job]] = {}
        again: deque[Job] = deque()
        resting: list[tuple[float, Any]] = []
        while True:
            free.extend(actor for end, actor in resting if end <= time.monotonic())
            resting = [(end, actor) for end, actor in resting if end > time.monotonic()]
            job = (again.popleft() if again else next(jobs, None)) if free else None
            if job is not None:
                actor = free.popleft()
                pending[getattr(actor, job.method).remote(options, job.items)] = actor, job
            elif pending:
                (reference, *_), _ = self._ray.wait(list(pending), num_returns=1)
                actor, job = pending.pop(reference)
                try:
                    counts[job.stage] += _store(engine, job, self._get(reference))
                    free.append(actor)
                    engine.report(job.stage, job.done, job.total)
                except self._ray.exceptions.RayActorError:
                    if job.deaths == RETRIES:
                        raise self._explain_deaths() from None
                    resting.append((time.monotonic() + REST_SECONDS * 2**job.deaths, actor))
                    again.append(job._replace(deaths=job.deaths + 1))
            elif resting and not free:
                time.sleep(max(0, resting[0][0] - time.monotonic()))
            else:
                return {"images_encoded": counts["images"], "texts_encoded": counts["texts"]}

    def _get(self, reference: Any) -> Any:
        """Return the result of a call, or raise the error that the actor raised."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def _explain_deaths(self) -> ValueError:
        return ValueError(
            f"{self._options.spec}: a worker died {RETRIES + 1} times on the same data. If its machine has too little "
            "memory, use fewer --workers or a smaller --batch-size. Finished work is kept."
        )


def _list_jobs(engine: Engine) -> Iterator[Job]:
    """Yield the calls whose results the cache lacks."""
    encoder, missing = engine.model.encoder, engine.store.missing
    if not isinstance(encoder, DualEncoder):
        yield from _list_pair_jobs(engine)
        return
    crops, texts = engine.plan.crops, engine.plan.texts
    for chunk in images.select(crops, plan.crop_chunks(crops, crops_per_chunk(encoder, engine.batch_size)), missing):
        if chunk.missing:
            keys, done = [chunk.keys[index] for index in chunk.missing], chunk.start + len(chunk.keys)
            yield Job("encode_images", chunk.group_missing(), keys, "images", done, len(crops))
    for chunk in text_chunks(texts, engine.batch_size):
        keys = [text_key(text) for text in texts[chunk]]
        if todo := missing(keys):
            new = [texts[chunk][index] for index in todo]
            yield Job("encode_texts", new, [keys[index] for index in todo], "texts", chunk.stop, len(texts))


def _list_pair_jobs(engine: Engine) -> Iterator[Job]:
    submitted: set[bytes] = set()
    for task in engine.plan.tasks:
        for chunk in pairs.list_chunks(engine, task):
            items: list[Any] = []
            new_keys: list[bytes] = []
            asked = [item for row in range(chunk.start, chunk.stop) for item in pairs.ask_row(engine, task, row)]
            for item, missing in pairs.find_missing(engine, asked):
                todo = {key: question for key, question in missing.items() if key not in submitted}
                if todo:
                    items.append(pairs.AskedImage(item.data, item.crop, list(todo.values())))
                    new_keys += todo
                    submitted.update(todo)
            if items:
                yield Job("score", items, new_keys, task.rows.task.name, chunk.stop, len(task.row_N))


def _store(engine: Engine, job: Job, results: list[np.ndarray | str]) -> int:
    """Store what an actor returned, and return the number of items. Unreadable images are left out."""
    readable = [(key, value) for key, value in zip(job.keys, results, strict=True) if not isinstance(value, str)]
    if len(readable) < len(results) and engine.on_error == "stop":
        raise images.UnreadableImageError(next(value for value in results if isinstance(value, str)))
    if readable:
        keys, values = zip(*readable, strict=True)
        value_ND = np.stack(values)
        if job.method != "score":
            value_ND = scale_to_unit_length(value_ND, engine.model.name, job.stage.removesuffix("s"))
        engine.store.put(keys, value_ND)
    return len(readable)


@contextmanager
def start(devices: Sequence[str], address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
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
    options: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        cpus = max(len(devices), images.NUM_THREADS)
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
            ray.init(address=address, **options)
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
