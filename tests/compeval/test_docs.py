"""docs/cli.md and docs/benchmarks.md are generated: `make docs` writes them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_page_of_commands_is_up_to_date(tmp_path: Path):
    page = tmp_path / "cli.md"
    command = [sys.executable, "-m", "typer", "compeval.cli", "utils", "docs", "--name", "compeval"]
    subprocess.run(
        [*command, "--title", "The command line", "--output", str(page)], check=True, cwd=ROOT
    )
    assert page.read_text() == (ROOT / "docs" / "cli.md").read_text(), (
        "the page is out of date: run `make docs`"
    )


def test_the_page_of_benchmarks_is_up_to_date(tmp_path: Path):
    page = tmp_path / "benchmarks.md"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, ROOT / "tools/list-benchmarks", page], check=True, env=environment
    )
    assert page.read_text() == (ROOT / "docs" / "benchmarks.md").read_text(), (
        "the page is out of date: run `make docs`"
    )


def test_the_table_of_the_papers_names_code_that_exists():
    """The last cell of a row has `path:name`, and further names of the same file."""
    references, path = 0, ROOT
    for line in (ROOT / "docs" / "papers.md").read_text().splitlines():
        for reference in re.findall(
            r"`([^`]+)`", line.rstrip(" |").rpartition("|")[2] if line.startswith("|") else ""
        ):
            if re.match(r"\w+/", reference):
                path, references = ROOT / reference.partition(":")[0], references + 1
                assert path.is_file(), f"docs/papers.md: {reference}"
            for name in (
                reference.rpartition(":")[2] if "/" not in reference.rpartition(":")[2] else ""
            ).split("."):
                assert name in path.read_text(), f"docs/papers.md: {reference}"
    assert references > 50
