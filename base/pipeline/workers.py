"""Worker processes, which import no module from the current folder, and a map over items in them.

The first entry of Python's path is the current folder in a process that begins with ``-c``, as those of multiprocessing
do, or with ``-m``. A ``multiprocessing.py`` next to a downloaded dataset would run there.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

ITEMS_PER_WORKER = 4
"""Maximum number of submitted items per worker, which keeps all workers busy and limits memory."""
SAFE_PATH = "PYTHONSAFEPATH"
"""Variable of the environment: if it is set, Python does not add the current folder to its path."""
_environment_lock = threading.Lock()
_num_blocks = 0
"""Number of ``safe_path`` blocks that are active in all threads."""


@contextmanager
def safe_path() -> Iterator[None]:
    """Python processes that are started in the block, and their own, do not search the current folder for modules."""
    global _num_blocks
    if SAFE_PATH in os.environ and not _num_blocks:  # set by the user
        yield
        return
    with _environment_lock:
        os.environ[SAFE_PATH] = "1"
        _num_blocks += 1
    try:
        yield
    finally:
        with _environment_lock:
            _num_blocks -= 1
            if not _num_blocks:
                del os.environ[SAFE_PATH]


def start_ray(address: str | None, **options: Any) -> None:
    """Start Ray or connect to a cluster. Its workers do not search the current folder for modules.

    Ray adds the folder in which it is started to the path of its workers: here, one that is empty, and then removed.
    """
    import ray

    folder = Path.cwd()
    with TemporaryDirectory() as empty, safe_path():
        os.chdir(empty)
        try:
            ray.init(address=address, **options)
        finally:
            os.chdir(folder)


class SafePool(ProcessPoolExecutor):
    """Pool of processes that do not search the current folder for modules. They are spawned by default."""

    def __init__(self, workers: int, start_method: str = "spawn", *arguments: Any) -> None:
        with safe_path():  # the locks of its queues start a process, too
            super().__init__(workers, get_context(start_method), *arguments)

    def _spawn_process(self) -> None:
        with safe_path():
            super()._spawn_process()  # pyright: ignore[reportAttributeAccessIssue]


def map_in_processes(
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
    with SafePool(workers, "spawn", _initialize, (make_state, function)) as pool:
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
