"""Measure the peak private memory of evaluating synthetic raw rows: ``python -m tests.evaluators.peak FOLDER ROWS``.

A process of its own for each number of rows, which builds a dataset of that many rows in FOLDER first, in the same way.
Prints the most memory, in bytes, that this process alone had written to while evaluating: its unique set size (USS)
without the pages of libraries, half a gigabyte that counts or not as other processes that load them come and go.
"""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.evaluators import models
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.run import EvaluationOptions, run
from tests.evaluators import tiny

SECONDS_BETWEEN = 0.1


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield rows with different images and captions, so that no feature is shared."""
    for number in range(count):
        color = tuple(number >> shift & 255 for shift in (16, 8, 0))
        yield tiny.row(number, "red", f"ball of kind {number}", None, tiny.plain_picture(color))


def written() -> int:
    """Return the number of bytes of memory that only this process uses and has written to."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


class Peak(threading.Thread):
    """Thread that measures the peak of ``written`` until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        while not self._stop_asked.wait(SECONDS_BETWEEN):
            self.bytes = max(self.bytes, written())

    def stop(self) -> int:
        self._stop_asked.set()
        self.join()
        return self.bytes


def main(folder: Path, count: int) -> None:
    data = tiny.write_dataset(folder / "data", {"laion_uc_raw": {"test": rows(count)}})
    model = models.load_model(f"local:{tiny.write_clip(folder / 'clip')}")
    peak = Peak()
    peak.start()
    run(
        model,
        [Task("crepe", "laion_uc_raw")],
        EvaluationOptions(data_dir=data, output=folder / "results"),
    )
    print(peak.stop())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
