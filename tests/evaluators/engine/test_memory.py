"""The evaluation of a raw set needs nearly the same memory for any number of rows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def peak(folder: Path, rows: int) -> int:
    """Return the peak private memory in bytes of a process that evaluates a number of rows."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.evaluators.peak", str(folder), str(rows)],
        cwd=ROOT,
        env=os.environ | {"COMPEVAL_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(told.stdout.split()[-1])


@pytest.mark.acceptance
def test_ten_times_the_rows_take_less_than_300_mb_more(tmp_path: Path):
    small, large = (peak(tmp_path / str(rows), rows) for rows in (20_000, 200_000))
    assert abs(large - small) < 300e6, f"{small / 1e6:.0f} and {large / 1e6:.0f} MB"
