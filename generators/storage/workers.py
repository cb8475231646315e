"""An ordered map over processes that each hold something slow to make, such as a parser."""

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
"""Items under way per worker: enough to keep all busy, few enough to bound memory."""


def map_with(
    make_state: Callable[[], State],
    function: Callable[[State, Item], Result],
    items: Iterable[Item],
    workers: int,
) -> Iterator[Result]:
    """``function(state, item)`` for each item, in their order, whatever the number of processes.

    Each process calls ``make_state`` once; with one worker that is this process. ChildProcessError where a worker dies.
    """
    if workers == 1:
        state = make_state()
        yield from (function(state, item) for item in items)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, (make_state, function)) as pool:
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
                "a worker process died (out of memory?). What it had finished is kept where the stage keeps parts; "
                "run the same command again, with fewer workers if need be."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_job: tuple[Callable[[Any, Any], Any], Any] | None = None


def _start(make_state: Callable[[], Any], function: Callable[[Any, Any], Any]) -> None:
    global _job
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _job = function, make_state()


def _end_with_parent() -> None:
    """A pool's workers outlive a parent that was killed, waiting for work for ever; so they watch it."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _call(item: Any) -> Any:
    assert _job is not None
    function, state = _job
    return function(state, item)
