"""The peak private memory of evaluating some synthetic raw rows: ``python -m tests.evaluators.peak FOLDER ROWS``.

A process of its own for each number of rows, which builds a dataset of that many rows in FOLDER first, in the same way.
Prints the largest unique set size (USS: what would be free if the process ended) while evaluating, in bytes.
"""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from evaluators import models
from evaluators.run import run
from evaluators.tasks import Task
from tests.evaluators import tiny

SECONDS_BETWEEN = 0.1


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Rows with pixels and captions of their own, so that nothing is encoded for two of them."""
    for number in range(count):
        color = tuple(number >> shift & 255 for shift in (16, 8, 0))
        yield tiny.row(number, "red", f"ball of kind {number}", None, tiny.plain_picture(color))


class Peak(threading.Thread):
    """Watches this process's USS until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        process = psutil.Process()
        while not self._stop_asked.wait(SECONDS_BETWEEN):
            self.bytes = max(self.bytes, process.memory_full_info().uss)

    def stop(self) -> int:
        self._stop_asked.set()
        self.join()
        return self.bytes


def main(folder: Path, count: int) -> None:
    data = tiny.write_dataset(folder / "data", {"laion_uc_raw": {"test": rows(count)}})
    model = models.resolve(f"local:{tiny.write_clip(folder / 'clip')}")
    peak = Peak()
    peak.start()
    run(model, [Task("crepe", "laion_uc_raw")], data_dir=data, output=folder / "results")
    print(peak.stop())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
