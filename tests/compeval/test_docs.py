"""docs/cli.md is generated from the command line: `make docs` writes it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_page_of_commands_is_up_to_date(tmp_path: Path):
    page = tmp_path / "cli.md"
    command = [sys.executable, "-m", "typer", "compeval.cli", "utils", "docs", "--name", "compeval"]
    subprocess.run([*command, "--title", "The command line", "--output", str(page)], check=True, cwd=ROOT)
    assert page.read_text() == (ROOT / "docs" / "cli.md").read_text(), "the page is out of date: run `make docs`"
