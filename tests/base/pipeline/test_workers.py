"""Mapping over items in worker processes, in order."""

import os
import time

import pytest

from compeval.base.pipeline.workers import ITEMS_PER_WORKER, map_with


def make_state() -> list[int]:
    return [os.getpid()]


def square(state: list[int], item: int) -> tuple[int, int]:
    time.sleep(0.02 * (item % 2))  # even items finish before odd items
    return item * item, state[0]


def die(state: list[int], item: int) -> None:
    os._exit(1)


def test_one_worker_is_this_process_and_lazy() -> None:
    started = []
    results = map_with(make_state, square, (started.append(n) or n for n in range(9)), 1)
    assert next(results) == (0, os.getpid())
    assert len(started) == 1


def test_two_workers_keep_the_order_and_do_not_run_far_ahead() -> None:
    started = []
    results = map_with(make_state, square, (started.append(n) or n for n in range(40)), 2)
    value, process = next(results)
    assert (value, process != os.getpid()) == (0, True)
    assert len(started) == 2 * ITEMS_PER_WORKER
    assert [value for value, _ in results] == [n * n for n in range(1, 40)]


def test_a_dead_worker_raises_a_clear_error() -> None:
    with pytest.raises(
        ChildProcessError, match=r"a worker process died.*Run the same command again"
    ):
        list(map_with(make_state, die, [1], 2))
