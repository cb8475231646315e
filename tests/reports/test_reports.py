"""Each report of reports.py, and that there are enough of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.close import assert_close
from tests.reports.bench import Bench
from tests.reports.page import render
from tests.reports.reports import REPORTS, Report

TERMS = 500
"""Terms of all sums on the way through one of the tiny networks of bench.py, rounded up."""
WITHOUT_ENCODING = re.compile(
    r"\.read_text\(\)|\.open\((?:newline=\"\"|\"[rwa]\")\)|(?<!realiser)\.write_text\((?!.*encoding=)."
    r"|(?<!realiser)\.write_text\(\n(?:(?! *\)\n|.*encoding=).*\n)+? *\)\n"
)
"""Calls without an encoding, on one line or on several, as ruff's formatter writes them."""
FOLDERS = (
    *("base", "bench", "compeval", "evaluators", "experiments"),
    *("generators", "loaders", "tests", "tools", "trainers"),
)


def check(result: Any, expected: Any) -> None:
    """Compare values: numbers up to their rounding errors, pixels and everything else exactly."""
    if isinstance(expected, list | tuple) and any(
        isinstance(part, torch.Tensor) for part in expected
    ):
        for part, expected_part in zip(result, expected, strict=True):
            assert torch.equal(part, expected_part)
    elif isinstance(expected, torch.Tensor | np.ndarray) and np.asarray(expected).dtype.kind == "f":
        # The libraries compute in float32, whatever the type that holds the result.
        assert_close(np.asarray(result), np.asarray(expected), summed=TERMS, dtype=np.float32)
    elif isinstance(expected, torch.Tensor | np.ndarray):
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
    else:
        assert_close(result, expected, size=1)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.thread)
def test_report(report: Report, bench: Bench, tmp_path: Path):
    if report.kind == "names: Unicode forms" and sys.getfilesystemencoding() != "utf-8":
        pytest.skip(
            "no file can have such a name where the locale is C and Python's UTF-8 mode off"
        )
    if isinstance(report.expected, re.Pattern):
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            report.run(bench, tmp_path, report.given)
        assert report.expected.search(str(caught.value)), caught.value
        return
    (tmp_path / "expected").mkdir()
    library = (
        report.expected(bench, tmp_path / "expected", report.given)
        if callable(report.expected)
        else None
    )
    check(
        report.run(bench, tmp_path, report.given), report.expected if library is None else library
    )


def test_text_files_have_an_encoding():
    """Without one, it is that of the locale: MemPalace/mempalace#1203."""
    root = Path(__file__).parents[2]
    for call in (
        "path.read_text()\n",
        'path.open(newline="")\n',
        'path.write_text(f"{a(b)}, c")\n',
        "path.write_text(\n    a,\n)\n",
    ):
        assert WITHOUT_ENCODING.search(call)
        assert not WITHOUT_ENCODING.search(
            re.sub(r"\)$", ', encoding="utf-8")', call, flags=re.MULTILINE)
        )
    found = [
        (path, match[0])
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
        if path != Path(__file__)
        for match in WITHOUT_ENCODING.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_the_table():
    threads = [report.thread for report in REPORTS]
    assert len(set(threads)) == len(threads) >= 60
    assert len({report.kind for report in REPORTS}) >= 30
    page = Path(__file__).parents[2] / "docs" / "reports.md"
    assert page.read_text(encoding="utf-8") == render(), (
        "the page is out of date: python -m tests.reports.page"
    )
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in threads)
