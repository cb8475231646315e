"""docs/cli.md and docs/benchmarks.md are generated: `make docs` writes them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_page_of_commands_is_up_to_date(tmp_path: Path):
    page = tmp_path / "cli.md"
    command = [sys.executable, "-m", "typer", "compeval.cli", "utils", "docs", "--name", "compeval"]
    subprocess.run([*command, "--title", "The command line", "--output", str(page)], check=True, cwd=ROOT)
    assert page.read_text() == (ROOT / "docs" / "cli.md").read_text(), "the page is out of date: run `make docs`"


def test_the_page_of_benchmarks_is_up_to_date(tmp_path: Path):
    page = tmp_path / "benchmarks.md"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, ROOT / "tools/list-benchmarks", page], check=True, env=environment)
    assert page.read_text() == (ROOT / "docs" / "benchmarks.md").read_text(), "the page is out of date: run `make docs`"
