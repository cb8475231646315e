"""Mapping over items in worker processes, in order."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compeval.base.pipeline.workers import ITEMS_PER_WORKER, SAFE_PATH, map_in_processes, safe_path

CHECKOUT = Path(__file__).parents[3]
TRAP = "open({log!r}, 'a').write(__name__ + '\\n')\nraise ImportError('not the library')\n"
"""A module that a stranger puts next to a dataset."""


def make_state() -> list[int]:
    return [os.getpid()]


def square(state: list[int], item: int) -> tuple[int, int]:
    time.sleep(0.02 * (item % 2))  # even items finish before odd items
    return item * item, state[0]


def die(state: list[int], item: int) -> None:
    os._exit(1)


def test_one_worker_is_this_process_and_lazy() -> None:
    started = []
    results = map_in_processes(make_state, square, (started.append(n) or n for n in range(9)), 1)
    assert next(results) == (0, os.getpid())
    assert len(started) == 1


def test_two_workers_keep_the_order_and_do_not_run_far_ahead() -> None:
    started = []
    results = map_in_processes(make_state, square, (started.append(n) or n for n in range(40)), 2)
    value, process = next(results)
    assert (value, process != os.getpid()) == (0, True)
    assert len(started) == 2 * ITEMS_PER_WORKER
    assert [value for value, _ in results] == [n * n for n in range(1, 40)]


def test_a_dead_worker_raises_a_clear_error() -> None:
    with pytest.raises(
        ChildProcessError, match=r"a worker process died.*Run the same command again"
    ):
        list(map_in_processes(make_state, die, [1], 2))


def write_traps(folder: Path) -> Path:
    """Write a trap for each standard module and some packages. Returns the file that lists those that ran."""
    log = folder / "executed.txt"
    for name in {
        *sys.stdlib_module_names,
        "numpy",
        "scipy",
        "sklearn",
        "PIL",
        "pyarrow",
        "torch",
        "cupy",
    } - {"__main__"}:
        (folder / f"{name}.py").write_text(TRAP.format(log=str(log)), encoding="utf-8")
    return log


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_workers_import_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_method: str
) -> None:
    """A script elsewhere starts a worker in a folder of traps, which imports a library late."""
    script = tmp_path / "script.py"
    script.write_text(
        "from importlib import import_module\n"
        "from compeval.base.pipeline.workers import SafePool\n"
        "if __name__ == '__main__':\n"
        f"    with SafePool(1, {start_method!r}) as pool:\n"
        "        print(pool.submit(import_module, 'colorsys').exception(), pool.submit(len, 'abc').result())\n",
        encoding="utf-8",
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    log = write_traps(folder)
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    environment.pop(SAFE_PATH, None)
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not log.exists(), log.read_text(encoding="utf-8")
    assert re.search(r"3$", done.stdout), done.stderr


def test_the_environment_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SAFE_PATH, raising=False)
    with safe_path(), safe_path():
        assert os.environ[SAFE_PATH] == "1"
    assert SAFE_PATH not in os.environ
    monkeypatch.setenv(SAFE_PATH, "x")
    with safe_path():
        pass
    assert os.environ[SAFE_PATH] == "x"


def test_every_process_of_the_product_is_started_safely() -> None:
    """No module starts processes in another way. The stages that fork run in a checkout only."""
    starts = re.compile(
        r"ProcessPoolExecutor\(|ray\.init\(|subprocess\.(?:run|Popen)\(|multiprocessing import (?!get_context|parent)"
    )
    forks = {"generators/microworld/build.py"}
    owner = {"base/pipeline/workers.py"}
    safe = {"loaders/datasets/revisions.py", "evaluators/engine/workers.py"}  # within safe_path
    found = {
        path.relative_to(CHECKOUT).as_posix()
        for folder in (
            "base",
            "generators",
            "loaders",
            "evaluators",
            "trainers",
            "compeval/cli",
            "compeval/demo",
        )
        for path in (CHECKOUT / folder).rglob("*.py")
        if starts.search(path.read_text(encoding="utf-8"))
    }
    assert found == forks | owner | safe
