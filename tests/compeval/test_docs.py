"""docs/cli.md and docs/benchmarks.md are generated: `make docs` writes them."""

import ast
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
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "cli.md").read_text(
        encoding="utf-8"
    ), "the page is out of date: run `make docs`"


def test_the_page_of_benchmarks_is_up_to_date(tmp_path: Path):
    page = tmp_path / "benchmarks.md"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, ROOT / "tools/list-benchmarks", page], check=True, env=environment
    )
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "benchmarks.md").read_text(
        encoding="utf-8"
    ), "the page is out of date: run `make docs`"


PAPERS = ("CREPE", "ARO and NegCLIP", "Recovery probes and CompPrompts", "Compun")
"""Sections of docs/papers.md with a table of procedures."""


def read_procedures() -> list[list[str]]:
    """Return the cells of the rows of all tables of procedures."""
    rows: list[list[str]] = []
    for section in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").split("\n## "):
        if section.splitlines()[0] in PAPERS:
            table = [line for line in section.splitlines() if line.startswith("| ")]
            rows += [line.strip("| ").split(" | ") for line in table[2:]]
    return rows


def list_definitions(path: Path) -> set[str]:
    """Return the functions, classes, methods and constants of a file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_the_tables_of_the_papers_name_code_that_exists():
    """The last cell of a row has `path:name`, and further names of the same file; every file is read."""
    references, path = 0, ROOT
    for row in read_procedures():
        for reference in re.findall(r"`([^`]+)`", row[-1]):
            file, _, names = reference.rpartition(":") if ":" in reference else (reference, "", "")
            if "/" in reference:
                path = ROOT / file
                assert path.is_file(), f"docs/papers.md: {reference}"
                references += 1
            else:
                names = reference
            if path.suffix == ".py" and names:
                missing = {*names.split(".")} - list_definitions(path)
                assert not missing, f"docs/papers.md: {reference}"
    assert references > 130


def test_each_procedure_says_what_became_of_it():
    rows = read_procedures()
    assert len(rows) >= 136
    for row in rows:
        status = re.match(r"(same|deviates|missing)\b(.*)", row[1])
        assert status, f"docs/papers.md: {row[0]}: {row[1]}"
        assert status[1] == "same" or status[2].startswith(": "), f"{row[0]}: no reason"
