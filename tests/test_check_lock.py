"""tools/check-lock: which differences between two locks of the pipeline it reports."""

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
LOCK = {
    "compprompts": [("compprompts", "aa.dir")],
    "seen@cc12m": [("seen/cc12m.json", "bb")],
    "train@cc12m-0": [("checkpoints/clip-cc12m-s0", "cc.dir")],
}


def check(folder: Path, **changed: list[tuple[str, str]]) -> tuple[int, str]:
    """Compare LOCK with a lock in which some stages have other outputs; an empty list removes the stage."""
    for name, stages in (("old", LOCK), ("new", {**LOCK, **changed})):
        outputs = {
            stage: {
                "cmd": name,
                "outs": [{"path": path, "hash": "md5", "md5": md5} for path, md5 in outs],
            }
            for stage, outs in stages.items()
            if outs
        }
        (folder / name).write_text(
            yaml.safe_dump({"schema": "2.0", "stages": outputs}), encoding="utf-8"
        )
    command = [sys.executable, "tools/check-lock", str(folder / "old"), str(folder / "new")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_equal_outputs_pass_whatever_the_commands_and_inputs(tmp_path: Path):
    assert check(tmp_path) == (
        0,
        "dvc.lock: all 2 outputs of data stages equal the committed ones.\n",
    )


def test_a_changed_output_is_named_with_its_stage_and_the_remedy(tmp_path: Path):
    code, message = check(
        tmp_path, **{"compprompts": [("compprompts", "ff.dir")], "seen@cc12m": []}
    )
    assert code == 1
    assert "outputs of data stages differ from the committed ones (2)" in message
    assert "  stage compprompts, output compprompts: aa.dir -> ff.dir\n" in message
    assert "  stage seen@cc12m, output seen/cc12m.json: bb -> missing\n" in message
    assert "git add dvc.lock data.dvc && git commit" in message


def test_trained_models_may_differ(tmp_path: Path):
    assert check(tmp_path, **{"train@cc12m-0": [("checkpoints/clip-cc12m-s0", "dd.dir")]})[0] == 0


def test_what_depends_on_an_inexact_stage_is_inexact():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    blocks = {name: stage.get("do", stage) for name, stage in stages.items()}
    inexact = {name for name, block in blocks.items() if block.get("meta") == {"exact": False}}
    assert {"train", "evaluate", "report", "text_only"} <= inexact
    assert (
        not {"sources", "regions", "systematicity", "productivity", "crepe", "aro", "retrieval"}
        & inexact
    )
    outputs = {
        (out if isinstance(out, str) else next(iter(out)))
        for name in inexact
        for out in blocks[name]["outs"]
    }
    exact_deps = {
        dep for name, block in blocks.items() if name not in inexact for dep in block["deps"]
    }
    assert not (outputs - {"code_digests"}) & exact_deps
