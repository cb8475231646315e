"""dvc.yaml: each stage depends on the digests of the code that it runs, and on its parameters."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from compeval.base.pipeline.code_digest import list_stage_modules
from compeval.generators.llm.client import Cache

ROOT = Path(__file__).parent.parent
STAGES = {
    name: stage.get("do", stage)
    for file in ("dvc.yaml", "experiments/dvc.yaml")
    for name, stage in yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["stages"].items()
}


@pytest.mark.parametrize("name", sorted(STAGES))
def test_stage_depends_on_the_digests_of_the_code_that_it_runs(name: str):
    command = STAGES[name]["cmd"]
    modules = re.findall(r"python -m (\S+)", command)
    modules += [f"compeval.cli.{name}" for name in re.findall(r"(?:^|&& )compeval (\w+)", command)]
    # compeval.loaders is a link to the folder loaders/, after which the digest is named.
    modules = [re.sub(r"^compeval\.(?!cli\.)", "", module) for module in modules]
    expected = {f"code_digests/{module}.txt" for module in modules if name != "code"}
    assert {dep for dep in STAGES[name]["deps"] if dep.startswith("code_digests/")} == expected
    assert modules
    assert list_stage_modules().keys() >= set(modules)


def test_the_digests_follow_the_code_of_experiments():
    """Their results are in the same folder, so the stage cannot depend on the folder."""
    files = {path.as_posix() for path in Path("experiments").rglob("*.py")}
    assert {dep for dep in STAGES["code"]["deps"] if dep.startswith("experiments")} == files


def test_the_lock_has_the_stages_of_the_pipeline_only():
    """DVC does not remove a stage that was renamed."""
    lock, stages = (
        yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["stages"]
        for name in ("dvc.lock", "dvc.yaml")
    )
    assert not {name.partition("@")[0] for name in lock} - stages.keys()


MACHINE = {"workers", "engine", "ray_address"}
"""Keys of params.yaml that say how a stage runs and not what comes out."""


def test_stages_follow_every_parameter_but_those_of_the_machine():
    """A block that is followed key by key is followed whole; a machine with more cores redoes nothing."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
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
    answers.write_text('{"request": "a", "answer": "a red cup"}\n', encoding="utf-8")
    for _ in range(2):
        subprocess.run(["dvc", "repro", "--quiet", "data.dvc"], cwd=clone, check=True)
        assert answers.read_text(encoding="utf-8") == '{"request": "a", "answer": "a red cup"}\n'
        assert Cache([clone / "data/llm"]).get("a") == "a red cup"
        (clone / "data/llm/model.jsonl").unlink()
