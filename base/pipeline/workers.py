"""Map a function over items in worker processes; each process creates a state once, such as a parser."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

ITEMS_PER_WORKER = 4
"""Maximum number of submitted items per worker, which keeps all workers busy and limits memory."""


def map_with(
    make_state: Callable[[], State],
    function: Callable[[State, Item], Result],
    items: Iterable[Item],
    workers: int,
) -> Iterator[Result]:
    """Yield ``function(state, item)`` for each item, in the order of the items.

    Each process calls ``make_state`` once. With one worker, everything runs in the current process. Raises
    ChildProcessError if a worker process dies.
    """
    if workers == 1:
        state = make_state()
        yield from (function(state, item) for item in items)
        return
    with ProcessPoolExecutor(
        workers, get_context("spawn"), _initialize, (make_state, function)
    ) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(_call, item))
                if len(waiting) >= ITEMS_PER_WORKER * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise ChildProcessError(
                "a worker process died, possibly because it ran out of memory. Run the same command again, with fewer "
                "workers if necessary; stages that save partial results continue from them."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_job: tuple[Callable[[Any, Any], Any], Any] | None = None


def _initialize(make_state: Callable[[], Any], function: Callable[[Any, Any], Any]) -> None:
    global _job
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _job = function, make_state()


def _end_with_parent() -> None:
    """End this worker when its parent process ends; otherwise it would wait for work forever."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _call(item: Any) -> Any:
    assert _job is not None
    function, state = _job
    return function(state, item)
