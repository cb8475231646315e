"""Engines that run the seen analysis: local processes, or Ray Data on a cluster. Both write the same bytes.

With ``engine: ray`` in params.yaml, ``ray_address`` is ``auto`` (a running cluster), ``ray://HOST:10001`` (the cluster
at this address), or unset (Ray starts on this machine). This project must be installed on all nodes, and the corpus and
the folder ``seen/`` must be on a file system that all nodes share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from compeval.base.pipeline.workers import map_in_processes, start_ray
from compeval.generators.parser.caption_parser import RULES, make_parser
from compeval.generators.seen_analysis.shards import (
    MakeParser,
    RunShards,
    Search,
    get_shard_worker,
    run_shard,
)


def make_engine(settings: Mapping[str, Any], parser: str = RULES) -> RunShards:
    """Return the engine that is set in the block ``seen`` of params.yaml."""
    make_worker_parser = partial(make_parser, parser)
    workers = settings["workers"]
    match settings.get("engine", "local"):
        case "local":
            return make_local_engine(make_worker_parser, workers)
        case "ray":
            return make_ray_engine(make_worker_parser, workers, settings.get("ray_address"))
        case unknown:
            raise ValueError(f"params.yaml, seen.engine: {unknown!r}, expected local or ray.")


def make_local_engine(make_parser: MakeParser, workers: int) -> RunShards:
    """Return an engine of ``workers`` processes; one worker runs in the current process."""

    def run_shards(
        search: Search, numbers: Sequence[int], seen: frozenset[int], folder: Path
    ) -> Iterable[int]:
        make_worker = partial(get_shard_worker, search, make_parser)
        return map_in_processes(
            make_worker,
            partial(run_shard, seen=seen, folder=folder),
            numbers,
            min(workers, len(numbers)),
        )

    return run_shards


def make_ray_engine(make_parser: MakeParser, workers: int, address: str | None = None) -> RunShards:
    """Return an engine of ``workers`` Ray actors. Raises ImportError if Ray is not installed."""
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            "params.yaml, seen.engine: ray is not installed. Run `pip install 'ray[data]'`."
        ) from error
    if not ray.is_initialized():
        cpus = None if address else workers
        start_ray(address, num_cpus=cpus, include_dashboard=False, log_to_driver=False)

    def run_shards(
        search: Search, numbers: Sequence[int], seen: frozenset[int], folder: Path
    ) -> Iterator[int]:
        rows = ray.data.from_items(
            [{"number": number} for number in numbers], override_num_blocks=len(numbers)
        )
        finished = rows.map(
            ShardActor,  # pyright: ignore[reportArgumentType]  (the annotation of `map` lacks classes)
            fn_constructor_args=(search, make_parser, seen, folder.absolute()),
            concurrency=min(workers, len(numbers)),
        )
        yield from (row["number"] for row in finished.iter_rows())

    return run_shards


class ShardActor:
    """A Ray actor, which loads a parser once and runs shards."""

    def __init__(
        self, search: Search, make_parser: MakeParser, seen: frozenset[int], folder: Path
    ) -> None:
        self._worker = get_shard_worker(search, make_parser)
        self._seen = seen
        self._folder = folder

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        run_shard(self._worker, int(row["number"]), self._seen, self._folder)
        return row
