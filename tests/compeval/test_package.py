"""The package in other people's repositories: import names, optional packages, clones without symbolic links."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compeval.base.extras import EXTRAS, describe_missing

ROOT = Path(__file__).parents[2]
FOLDERS = ("evaluators", "generators", "loaders", "trainers")
WITHOUT_EXTRAS = """
import sys
from pathlib import Path

modules = {modules}
for module in modules:
    sys.modules[module] = None  # as if it were not installed

import compeval
import compeval.demo
from compeval.cli import app

compeval.demo.write_model(Path("clip"))
data = str(compeval.demo.FOLDER)
task = "crepe/prod_hnatom/n4"
scores = compeval.evaluate("local:clip", tasks=task, data_dir=data, limit=5, device="cpu")
assert scores[task]["data"]["rows"] == 5
for command in (
    ["run", "local:clip", "--data", data, "--task", task, "--limit", "5"],
    ["audit", "crepe", "--data", data],
    ["report", "results", "--data", data],
    ["examples", "lab coat"],
):
    try:
        app(command)
    except SystemExit as done:
        print(command[0], done.code)
assert all(sys.modules[module] is None for module in modules)
"""
"""A program that evaluates, audits and reports as if no extra were installed."""


def run_python(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COMPEVAL_CACHE": str(cwd / "cache")}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_a_repository_may_have_packages_of_the_same_names(tmp_path: Path):
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    shutil.copy(ROOT / "tests/compeval/training_script.py", tmp_path / "train.py")
    done = run_python("train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "step 0: 8 rows\nstep 1: 8 rows\n"), done.stderr


def test_a_clone_without_symbolic_links_can_be_imported(tmp_path: Path):
    package = tmp_path / "compeval"
    package.mkdir()
    shutil.copy(ROOT / "compeval/__init__.py", package)
    for folder in ("base", *FOLDERS):  # what git writes with core.symlinks=false
        (package / folder).write_text(f"../{folder}", encoding="utf-8")
    shutil.copytree(ROOT / "base", tmp_path / "base")
    code = "import compeval.base.texts as texts; print(texts.words('A cat'), texts.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"['a', 'cat'] {tmp_path / 'base/texts.py'}"


def test_the_base_runs_without_any_extra(tmp_path: Path):
    modules = {module for names in EXTRAS.values() for module in names}
    program = tmp_path / "program.py"
    # Matplotlib's.
    program.write_text(WITHOUT_EXTRAS.format(modules=modules - {"fontTools"}), encoding="utf-8")
    done = run_python(program, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith((" 0", " 1", " 2"))] == [
        "run 0",
        "audit 0",
        "report 0",
        "examples 2",
    ], done.stderr
    assert done.returncode == 0, done.stderr
    assert "Not looked for: mangled word" in done.stderr
    assert "is not installed: pip install 'compeval[generate]'." in done.stderr
    assert (tmp_path / "report/index.html").is_file()


def test_extras_are_those_of_pyproject():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {
        extra: {canonicalize_name(Requirement(line).name) for line in lines}
        for extra, lines in declared["optional-dependencies"].items()
    }
    base = {canonicalize_name(Requirement(line).name) for line in declared["dependencies"]}
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        for module in modules:
            names = {canonicalize_name(name) for name in distributions[module]}
            assert names & extras[extra], f"{module} is not installed by the extra {extra}"
            assert not names & base, f"{module} is installed by the base"
    assert {"s3", "train", "all"} == extras.keys() - EXTRAS.keys()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("spacy.tokens", "spacy.tokens is not installed: pip install 'compeval[generate]'."),
        ("openai", "openai is not installed: pip install 'compeval[llm]'."),
        ("somebody", "No module named 'somebody'"),
    ],
)
def test_missing_module(module: str, message: str):
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    assert describe_missing(error) == message
