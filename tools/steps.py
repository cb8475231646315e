"""Run commands as numbered steps, one line each; their output goes to a log file. Standard library only."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOG_LINES_SHOWN = 20


@dataclass(frozen=True)
class Step:
    """``seconds`` is the expected duration on two cores, from which the remaining time is estimated."""

    title: str
    command: Sequence[str]
    seconds: float


def run_steps(steps: Sequence[Step], log: Path) -> None:
    """Run the steps in order. If one fails, show the end of its output and exit with its code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    start, expected = time.monotonic(), 0.0
    for number, step in enumerate(steps, 1):
        label = f"[{number}/{len(steps)}] {step.title}"
        left = sum(other.seconds for other in steps[number - 1 :])
        # Machines differ, so the estimates are scaled by how long the finished steps took.
        pace = (time.monotonic() - start) / expected if expected >= 10 else 1.0
        _run(label, step, log, left * pace)
        expected += step.seconds


def _run(label: str, step: Step, log: Path, left: float) -> None:
    start, is_terminal = time.monotonic(), sys.stdout.isatty()
    if not is_terminal:
        print(f"{label:<64}", end="", flush=True)
    with log.open("ab") as file:
        file.write(f"\n=== {label}: {' '.join(step.command)}\n".encode())
        file.flush()
        position = file.tell()
        process = subprocess.Popen(step.command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        try:
            while True:
                elapsed = time.monotonic() - start
                if is_terminal:
                    remaining = f"about {clock(max(left - elapsed, 1))} left"
                    print(f"\r{label:<64}{clock(elapsed):>6}   {remaining:<20}", end="", flush=True)
                try:
                    code = process.wait(timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    continue
        except KeyboardInterrupt:
            process.wait()
            print("\nInterrupted. Finished steps are kept; the same command continues.")
            sys.exit(130)
    finished = f"{clock(time.monotonic() - start):>6}"
    print(f"\r{label:<64}{finished}{'':<24}" if is_terminal else finished, flush=True)
    if code:
        with log.open("rb") as file:
            file.seek(position)
            lines = file.read().decode(errors="replace").replace("\r", "\n").splitlines()
        print("\n".join(lines[-LOG_LINES_SHOWN:]), f"\nThis step failed; its output is in {log}.", file=sys.stderr)
        sys.exit(code)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
