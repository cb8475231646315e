"""Runs on Ray actors: the bytes of one process, whatever the order of the chunks and whoever dies.

In most tests, the actors are objects of this process whose calls end in a random order. The acceptance tests use Ray.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compeval.evaluators import models
from compeval.evaluators.engine import cluster, encode, pairs
from compeval.evaluators.engine.cluster import Actor, Cluster
from compeval.evaluators.engine.compute import Chunk
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.run import EvaluationOptions, run
from tests.evaluators import tiny
from tests.evaluators.tiny import all_files

ROOT = Path(__file__).parents[3]


class TaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class ActorError(Exception): ...


class FakeRay:
    """A stand-in for Ray. Calls are computed when their result is requested, in a random order."""

    exceptions = SimpleNamespace(RayTaskError=TaskError, RayActorError=ActorError)

    def __init__(self, seed: int = 0) -> None:
        self._random, self.most_pending = random.Random(seed), 0

    def wait(self, calls: Sequence[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        self.most_pending = max(self.most_pending, len(calls))
        return [self._random.choice(calls)], []

    def get(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ActorError:
            raise
        except Exception as error:
            raise TaskError(error) from None


class FakeActor:
    def __init__(self, folder: Path) -> None:
        self._actor = Actor(folder, "cpu", 2)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._actor, name)
        return SimpleNamespace(remote=lambda *arguments: lambda: method(*arguments))


def make_cluster(folder: Path, seed: int = 0) -> Cluster:
    return Cluster(FakeRay(seed), [FakeActor(folder), FakeActor(folder)], "cpu")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)
    monkeypatch.setattr(encode, "MIN_CROPS_PER_CHUNK", 4)
    monkeypatch.setattr(pairs, "PAIRS_PER_CHUNK", 20)


class Clock:
    """A clock on which only sleep takes time."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cluster, "time", clock)
    return clock


def run_both(
    spec: str,
    data: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int = 0,
    **options: Any,
) -> None:
    """Evaluate a model in one process and on a cluster, and compare all files but the side files."""
    scores_pairs = "Pairs" in spec
    tasks = [task for task in discover(data) if not (scores_pairs and task.is_raw)]
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "cache of one"))
    run(
        models.load_model(spec),
        tasks,
        EvaluationOptions(data_dir=data, output=here / "one", batch_size=5, **options),
    )
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / f"cache {seed}"))
    actors = make_cluster(here, seed)
    model = actors.load(spec, "auto")
    run(
        model,
        tasks,
        EvaluationOptions(
            data_dir=data, output=here / f"two {seed}", batch_size=5, cluster=actors, **options
        ),
    )
    assert all_files(here / f"two {seed}") == all_files(here / "one")
    counts = [
        next((here / name).rglob("*.run.json")).read_text(encoding="utf-8")
        for name in ("one", f"two {seed}")
    ]
    assert (
        len({tuple(line for line in text.splitlines() if "encoded" in line) for text in counts})
        == 1
        or scores_pairs
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["Company", "Pairs"])
def test_any_order_of_the_chunks_gives_the_bytes_of_one_process(
    name: str, seed: int, here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    # The features of Company depend on the other items of a batch.
    run_both(f"python:toy_models:{name}", data, here, monkeypatch, seed)


def test_an_open_clip_model_has_the_bytes_of_one_process(
    here: Path, data: Path, clip: Path, monkeypatch: pytest.MonkeyPatch
):
    run_both(f"local:{clip}", data, here, monkeypatch)


def test_equal_images_of_two_datasets_are_encoded_once(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(data / "crepe", here / "twice" / "crepe")
    tiny.write_dataset(here / "twice", {"main": {"test": tiny.choice_rows(9, noun="box")}}, "mine")
    run_both("python:toy_models:Company", here / "twice", here, monkeypatch)


@pytest.mark.parametrize("name", ["Company", "Pairs"])
def test_unreadable_images_stop_the_run_or_are_skipped_as_in_one_process(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch
):
    rows = list(tiny.choice_rows(6))
    rows[2]["image"] = {"bytes": b"not an image", "path": None}
    data = tiny.write_dataset(here / "damaged", {"prod_hnatom": {"n4": rows}})
    run_both(f"python:toy_models:{name}", data, here, monkeypatch, on_error="skip")
    actors = make_cluster(here)
    model = actors.load(f"python:toy_models:{name}", "auto")
    with pytest.raises(
        ValueError, match=r"crepe/prod_hnatom/n4, row 2: the image cannot be decoded"
    ):
        run(
            model,
            discover(data),
            EvaluationOptions(data_dir=data, output=here / "out", cluster=actors),
        )


def test_each_actor_has_two_chunks_at_a_time_and_none_in_a_finished_run(here: Path, data: Path):
    actors, model = make_cluster(here), "python:toy_models:Knows"
    for most_pending in (4, 0):
        actors._ray.most_pending = 0
        run(
            actors.load(model, "auto"),
            discover(data),
            EvaluationOptions(data_dir=data, batch_size=5, cluster=actors),
        )
        assert actors._ray.most_pending == most_pending


def test_errors_of_an_actor_are_those_of_one_process(here: Path, data: Path):
    actors = make_cluster(here)
    with pytest.raises(ValueError, match="toy_models has no Nothing"):
        actors.load("python:toy_models:Nothing", "auto")
    model = actors.load("python:toy_models:Broken", "auto")
    with pytest.raises(ValueError, match="text features are zero, infinite or not a number"):
        run(model, discover(data), EvaluationOptions(data_dir=data, cluster=actors))


def test_machines_with_different_weights_are_refused(here: Path, data: Path):
    actors = make_cluster(here)
    actors.load("python:toy_models:Knows", "auto")
    actors._options = actors._options._replace(fingerprint="of other weights")
    with pytest.raises(
        ValueError, match="python:toy_models:Knows: its weights or packages differ between machines"
    ):
        run(
            models.load_model("python:toy_models:Knows"),
            discover(data),
            EvaluationOptions(data_dir=data, cluster=actors),
        )


def test_a_dead_worker_is_passed_over_when_a_model_is_loaded(here: Path):
    dead = SimpleNamespace(describe=SimpleNamespace(remote=lambda *_: Mortal(1)._call))
    model = Cluster(FakeRay(), [dead, FakeActor(here)], "cpu").load(
        "python:toy_models:Knows", "auto"
    )
    assert model.name == models.load_model("python:toy_models:Knows").name
    with pytest.raises(ValueError, match="python:toy_models:Knows: all workers died"):
        Cluster(FakeRay(), [dead, dead], "cpu").load("python:toy_models:Knows", "auto")


class Mortal:
    """Actor that dies during its first calls."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.calls = deaths, 0
        self.compute = SimpleNamespace(remote=lambda *_: self._call)

    def _call(self) -> list[str]:
        self.calls += 1
        if self.calls <= self.deaths:
            raise ActorError
        return ["done"]


CHUNK = Chunk("texts", "encode_texts", [b"key"], [["a red ball"]], slice(0, 1), 1)


def test_a_worker_that_dies_rests_longer_each_time(clock: Clock):
    actor = Mortal(5)
    assert list(Cluster(FakeRay(), [actor], "cpu").compute([CHUNK], 1, "stop")) == [
        (CHUNK, ["done"])
    ]
    assert (actor.calls, clock.slept) == (6, [5, 10, 20, 40, 80])


def test_another_worker_repeats_the_chunk_at_once(clock: Clock):
    actors = [Mortal(9), Mortal(0)]
    assert list(Cluster(FakeRay(), actors, "cpu").compute([CHUNK], 1, "stop")) == [
        (CHUNK, ["done"])
    ]
    assert ([actor.calls for actor in actors], clock.slept) == ([1, 1], [])


def test_data_that_kill_every_worker_end_the_run_with_a_message(here: Path):
    actors = make_cluster(here)
    actors.load("python:toy_models:Knows", "auto")
    actors._actors = [Mortal(6)]
    with pytest.raises(
        ValueError, match="python:toy_models:Knows: a worker died 6 times on the same data"
    ):
        list(actors.compute([CHUNK], 1, "stop"))
    assert actors._actors[0].calls == 6


def test_chunks_of_actors_that_die_are_repeated(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    deaths, moments, compute = [], random.Random(0), Actor.compute

    def die_sometimes(*arguments: Any) -> Any:
        if moments.random() < 0.4:
            deaths.append(1)
            raise ActorError
        return compute(*arguments)

    monkeypatch.setattr(Actor, "compute", die_sometimes)
    run_both("python:toy_models:Company", data, here, monkeypatch)
    assert deaths


def test_without_ray_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(
            ModuleNotFoundError,
            match=r"`pip install 'compeval\[ray\]'`. Without it, name one device",
        ),
        cluster.start(["cpu", "cpu"]),
    ):
        pass


@pytest.mark.parametrize(
    ("resources", "devices", "workers", "expected"),
    [
        ({"CPU": 16.0, "GPU": 8.0}, ["cuda"], None, ["cuda"] * 8),
        ({"CPU": 16.0, "GPU": 8.0}, ["cuda"], 3, ["cuda"] * 3),
        ({"CPU": 16.0, "GPU": 8.0}, ["cpu"], None, ["cpu"] * 2),
        ({"CPU": 16.0}, ["cuda"], None, ["cpu"] * 2),
        ({"CPU": 16.0}, ["cpu"], 5, ["cpu"] * 5),
    ],
)
def test_devices_of_a_cluster_of_two_machines(
    resources: dict[str, float], devices: list[str], workers: int | None, expected: list[str]
):
    nodes = [{"Alive": True}, {"Alive": False}, {"Alive": True}]
    ray = SimpleNamespace(cluster_resources=lambda: resources, nodes=lambda: nodes)
    assert cluster._choose_devices(ray, devices, workers) == expected


def test_more_workers_than_gpus_are_refused():
    ray = SimpleNamespace(cluster_resources=lambda: {"GPU": 2.0}, nodes=lambda: [{"Alive": True}])
    with pytest.raises(ValueError, match="--workers 3: the cluster has 2 GPUs"):
        cluster._choose_devices(ray, ["cuda"], 3)


def start_process(folder: Path, data: Path, here: Path, workers: int) -> subprocess.Popen:
    """Evaluate four models on all tasks with the command line."""
    names = [
        f"--model={name}"
        for name in ("python:toy_models:Company", "python:toy_models:Pairs", "local:a", "local:b")
    ]
    arguments = [
        *names,
        "--data",
        data,
        "--output",
        folder / "results",
        "--workers",
        workers,
        "-q",
        "--json",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "compeval", "run", *map(str, [*arguments, "--task", "*_hnatom*"])],
        cwd=here,
        env={**os.environ, "COMPEVAL_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.fixture
def four_models(here: Path) -> Path:
    for seed, name in enumerate("ab"):
        tiny.write_clip(here / name, seed=seed)
    return here


@pytest.mark.acceptance
def test_ten_kills_of_a_run_of_four_models_do_not_change_the_results(four_models: Path, data: Path):
    pytest.importorskip("ray")
    assert start_process(four_models / "one", data, four_models, 1).wait() == 0
    began = time.monotonic()
    assert start_process(four_models / "two", data, four_models, 2).wait() == 0
    seconds, moments, kills = time.monotonic() - began, random.Random(0), 0
    expected = all_files(four_models / "one" / "results")
    assert len([name for name in expected if str(name).endswith(".json")]) == 4 * 4
    assert all_files(four_models / "two" / "results") == expected
    while kills < 10:
        process = start_process(four_models / "killed", data, four_models, 2)
        try:
            assert process.wait(moments.uniform(0, seconds)) == 0
            shutil.rmtree(four_models / "killed")  # it ended before the kill: begin again
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
    assert start_process(four_models / "killed", data, four_models, 2).wait() == 0
    assert all_files(four_models / "killed" / "results") == expected


@pytest.fixture
def two_nodes() -> Iterator[Any]:
    """A cluster of two nodes on this machine, besides a head without processors."""
    utils = pytest.importorskip("ray.cluster_utils")
    options = {"object_store_memory": 80_000_000, "include_dashboard": False}
    nodes = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **options})
    added = [nodes.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in range(2)]
    yield nodes, added
    nodes.shutdown()


@pytest.mark.acceptance
def test_a_node_that_dies_is_replaced(
    here: Path, data: Path, two_nodes: Any, monkeypatch: pytest.MonkeyPatch
):
    nodes, (first, _) = two_nodes
    tasks, spec = discover(data), "python:toy_models:Company"
    monkeypatch.setenv("PYTHONPATH", f"{here}:{ROOT}")
    run(
        models.load_model(spec),
        tasks,
        EvaluationOptions(data_dir=data, output=here / "one", batch_size=5),
    )
    monkeypatch.setenv("COMPEVAL_CACHE", str(here / "another cache"))
    lost: list[str] = []

    def lose_a_node(stage: str, done: int, total: int) -> None:
        if stage == "texts" and not lost:
            lost.append(stage)
            nodes.add_node(num_cpus=1, object_store_memory=80_000_000)
            nodes.remove_node(first, allow_graceful=False)

    with cluster.start(["cpu"], nodes.address, 2) as actors:
        model = actors.load(spec, "auto")
        run(
            model,
            tasks,
            EvaluationOptions(data_dir=data, output=here / "two", batch_size=5, cluster=actors),
            report=lose_a_node,
        )
    assert lost
    assert all_files(here / "two") == all_files(here / "one")
