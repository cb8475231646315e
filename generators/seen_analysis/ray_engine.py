"""The seen analysis on Ray Data: the same shard function as on one machine, spread over a cluster.

``engine: ray`` with ``ray_address: auto`` (a started cluster), ``ray://HOST:10001`` (an addressed one) or nothing (one
is started here). All nodes need this project installed, and the corpus and the folder ``seen/`` on a file system that
they share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from generators.seen_analysis.seen import Language, Search, do_shard, shard_worker


class RayEngine:
    """Runs shards in ``workers`` actors, each with a parser of its own; ImportError with the remedy without Ray."""

    def __init__(self, make_language: Callable[[], Language], workers: int, address: str | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError(
                "engine: ray was asked for, but Ray is not installed. Run `pip install 'ray[data]'`."
            ) from error
        self._make_language, self._workers = make_language, workers
        if not ray.is_initialized():
            ray.init(
                address=address, num_cpus=None if address else workers, include_dashboard=False, log_to_driver=False
            )

    def __call__(self, search: Search, numbers: Sequence[int], found: frozenset[int], folder: Path) -> Iterator[int]:
        import ray

        if not numbers:
            return
        rows = ray.data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers))
        done = rows.map(
            ShardActor,  # pyright: ignore[reportArgumentType]  (the hint leaves out classes)
            fn_constructor_args=(search, self._make_language, found, folder.absolute()),
            concurrency=min(self._workers, len(numbers)),
        )
        yield from (row["number"] for row in done.iter_rows())


class ShardActor:
    def __init__(
        self, search: Search, make_language: Callable[[], Language], found: frozenset[int], folder: Path
    ) -> None:
        self._worker, self._found, self._folder = shard_worker(search, make_language), found, folder

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        do_shard(self._worker, int(row["number"]), self._found, self._folder)
        return row
