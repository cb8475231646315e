"""dvc.yaml: DVC follows no imports, so each stage must list every file of ours that its command runs."""

import ast
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from generators.llm.client import Cache

ROOT = Path(__file__).parent.parent
STAGES = {
    name: stage.get("do", stage)
    for file in ("dvc.yaml", "experiments/dvc.yaml")
    for name, stage in yaml.safe_load((ROOT / file).read_text())["stages"].items()
}


def module_file(name: str) -> Path | None:
    """The file of one of our modules, None for anybody else's."""
    path = ROOT / name.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def imported(code: ast.AST) -> set[Path]:
    """The files of ours that some code imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {path for name in names if (path := module_file(name))}


def closure(files: set[Path]) -> set[Path]:
    """Files and all that they import; of a package that finds its modules by their being there, all of these."""
    found, todo = set[Path](), set(files)
    while todo:
        path = todo.pop()
        found.add(path)
        code = path.read_text()
        todo |= imported(ast.parse(code)) - found
        if "iter_modules(" in code:
            todo |= set(path.parent.glob("*.py")) - found
    return {path for path in found if path.stat().st_size}


def entry_points(command: str) -> set[Path]:
    """The files that a stage's command runs: modules of ``python -m``, and the file of a ``compeval`` command."""
    modules = re.findall(r"python -m (\S+)", command)
    modules += [f"compeval.cli.{name}" for name in re.findall(r"(?:^|&& )compeval (\w+)", command)]
    files = {module_file(module) for module in modules}
    assert files, f"{command}: neither python -m nor compeval."
    assert None not in files, command
    return {path for path in files if path}


@pytest.mark.parametrize("name", sorted(STAGES))
def test_stage_lists_the_code_that_it_runs(name: str):
    listed = {ROOT / dep for dep in STAGES[name]["deps"]}
    code = closure(entry_points(STAGES[name]["cmd"]))
    missing = {path.relative_to(ROOT) for path in code if not listed & {path, *path.parents}}
    assert not missing, f"add to the deps of {name} in dvc.yaml: {', '.join(sorted(map(str, missing)))}"


@pytest.mark.parametrize("name", sorted(STAGES))
def test_every_listed_file_of_code_exists(name: str):
    code = ("generators", "loaders", "evaluators", "trainers", "compeval")
    gone = [dep for dep in STAGES[name]["deps"] if dep.split("/")[0] in code and not (ROOT / dep).exists()]
    assert not gone


def test_the_lock_has_the_stages_of_the_pipeline_only():
    """DVC does not remove a stage that was renamed."""
    lock, stages = (yaml.safe_load((ROOT / name).read_text())["stages"] for name in ("dvc.lock", "dvc.yaml"))
    assert not {name.partition("@")[0] for name in lock} - stages.keys()


MACHINE = {"workers", "engine", "ray_address"}
"""Keys of params.yaml that say how a stage runs and not what comes out."""


def test_stages_follow_every_parameter_but_those_of_the_machine():
    """A block that is followed key by key is followed whole; a machine with more cores redoes nothing."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    listed = [param for stage in STAGES.values() for param in stage.get("params", ())]
    followed = {param for param in listed if isinstance(param, str)}
    by_key = {param.split(".")[0] for param in followed if "." in param} - {
        "corpora",
        "retrieval",
        "productivity_variants",
    }
    assert {f"{name}.{key}" for name in by_key for key in params[name]} - followed <= {
        f"{name}.{key}" for name in by_key for key in MACHINE
    }
    whole = [name for name in followed if isinstance(params.get(name), dict)]
    assert not [name for name in whole if MACHINE & params[name].keys()]


@pytest.mark.acceptance
def test_an_answer_that_was_added_survives_dvc_repro(tmp_path: Path):
    """``dvc repro`` makes data/ equal to sample/ again, so what is to stay is written to sample/."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    answers = clone / "sample/llm/model.jsonl"
    answers.write_text('{"request": "a", "answer": "a red cup"}\n')
    for _ in range(2):
        subprocess.run(["dvc", "repro", "--quiet", "data.dvc"], cwd=clone, check=True)
        assert answers.read_text() == '{"request": "a", "answer": "a red cup"}\n'
        assert Cache([clone / "data/llm"]).get("a") == "a red cup"
        (clone / "data/llm/model.jsonl").unlink()
