"""Run commands as numbered steps, one line each; their output goes to a log file. Standard library only."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

LOG_LINES_SHOWN = 20
WIDTH = 60


class Steps:
    """Prints the current step with its time and, on a terminal, the time that is left.

    ``seconds`` are the expected durations of the steps on two cores. Machines differ, so the rest is scaled by how long
    the finished steps took.
    """

    def __init__(self, seconds: Sequence[float], log: Path) -> None:
        self.seconds = seconds
        self.log = log
        self.number = 0
        self.label = ""
        self.start = self.step_start = time.monotonic()
        self.is_terminal = sys.stdout.isatty()
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")

    def begin(self, title: str) -> None:
        """Finish the current step and begin the next one."""
        self.finish()
        self.number += 1
        self.label = f"[{self.number:>2}/{len(self.seconds)}] {title}"
        self.step_start = time.monotonic()
        if not self.is_terminal:
            print(f"{self.label:<{WIDTH}}", end="", flush=True)

    def finish(self) -> None:
        """Print the duration of the current step, if there is one."""
        if self.label:
            finished = f"{clock(time.monotonic() - self.step_start):>6}"
            print(
                f"\r{self.label:<{WIDTH}}{finished}{'':<22}" if self.is_terminal else finished,
                flush=True,
            )
            self.label = ""

    def tick(self) -> None:
        """Update the line of the current step."""
        if self.is_terminal and self.label:
            elapsed = time.monotonic() - self.step_start
            left = f"about {clock(self.estimate_left(elapsed))} left"
            print(f"\r{self.label:<{WIDTH}}{clock(elapsed):>6}   {left:<19}", end="", flush=True)

    def estimate_left(self, elapsed: float) -> float:
        """Return the remaining seconds, if the current step has run for ``elapsed`` seconds."""
        before = sum(self.seconds[: self.number - 1])
        current = self.seconds[self.number - 1]
        after = sum(self.seconds[self.number :])
        spent = self.step_start - self.start
        pace = max(spent / before if before >= 10 else 1.0, (spent + elapsed) / (before + current))
        return pace * after + max(pace * current - elapsed, 0)

    def run(
        self, command: Sequence[str], on_line: Callable[[str], None] = lambda line: None
    ) -> None:
        """Run a command and pass each line of its output to ``on_line``.

        If the command fails, show the end of its output and exit with its code.
        """
        lines: list[str] = []
        with self.log.open("ab") as log:
            log.write(f"\n=== {' '.join(command)}\n".encode())
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            try:
                for line in self._read_lines(process, log.write):
                    lines.append(line)
                    on_line(line)
                code = process.wait()
            except KeyboardInterrupt:
                process.wait()
                print("\nInterrupted. Finished steps are kept; the same command continues.")
                sys.exit(130)
        if code:
            self.finish()
            print(
                "\n".join(lines[-LOG_LINES_SHOWN:]),
                f"\nThis step failed; all output is in {self.log}.",
                file=sys.stderr,
            )
            sys.exit(code)

    def _read_lines(self, process: subprocess.Popen[bytes], write: Callable[[bytes], object]):
        assert process.stdout is not None
        rest = b""
        output = process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while True:
                self.tick()
                if not selector.select(timeout=0.5):
                    continue
                data = os.read(output, 65536)
                write(data)
                *complete, rest = (rest + data).replace(b"\r", b"\n").split(b"\n")
                yield from (line.decode(errors="replace") for line in complete)
                if not data:
                    yield rest.decode(errors="replace")
                    return


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
