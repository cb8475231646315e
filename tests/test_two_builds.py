"""Two builds of all data stages on a small world, under unlike settings of the machine, have equal hashes.

pytest -m acceptance -s tests/test_two_builds.py        # prints the table of stages and hashes
"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unlike_settings import ONE, OTHER

ROOT = Path(__file__).parent.parent
SMALL = {
    "microworld": {"test_images": 40, "train_images": 60},
    "crepe_productivity": {"rows": 2},
    "classification": {"images": 1},
    "compun": {"renderings": 1},
    "controlledimcaps": {"pairs": 3},
}
STAGES = (
    "crepe",
    "aro",
    "retrieval",
    "classification",
    "compprompts",
    "compun",
    "controlledimcaps",
)
"""The last data stages; all other data stages are built before them."""


def build(folder: Path, settings: dict[str, str], workers: int) -> Path:
    """Clone the repository, build the data of a small world, and return the lock."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    params: dict[str, Any] = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    for block, values in SMALL.items():
        params[block] |= values
    for block in ("seen", "crepe_systematicity", "crepe_productivity"):
        params[block]["workers"] = workers
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    environment = os.environ | settings | {"PYTHONPATH": str(folder), "HOME": str(folder.parent)}
    subprocess.run(["dvc", "repro", "--quiet", *STAGES], cwd=folder, env=environment, check=True)
    return folder / "dvc.lock"


SAMPLE = """
import hashlib
from compeval.generators.microworld.build import render_full_size
from compeval.generators.microworld.scenes.splits import TEST_IDS, sample_test_scene
from compeval.generators.parser.rule_parser import RuleParser

scenes = [sample_test_scene(0, image_id) for image_id in TEST_IDS[:3]]
print(*(hashlib.sha256(render_full_size(scene)).hexdigest() for scene in scenes))
captions = ("a red cup next to two dogs", "the vase that the man holds isn't blue", "Kids play in front of a house")
print(*RuleParser().parse(captions))
"""


@pytest.mark.acceptance
def test_pixels_and_parses_do_not_depend_on_the_settings_of_the_machine():
    """The floating-point work of the data stages: Skia, libjpeg-turbo, NumPy and spaCy's neural tagger."""
    one, other = (
        subprocess.run(
            [sys.executable, "-c", SAMPLE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for environment in (
            os.environ | settings | {"PYTHONPATH": str(ROOT)} for settings in (ONE, OTHER)
        )
    )
    assert one == other
    assert len(one.splitlines()) == 2


@pytest.mark.acceptance
def test_hashes_do_not_depend_on_the_settings_of_the_machine(tmp_path: Path):
    loader = importlib.machinery.SourceFileLoader("check_lock", str(ROOT / "tools/check-lock"))
    spec = importlib.util.spec_from_loader("check_lock", loader)
    assert spec is not None
    check_lock = importlib.util.module_from_spec(spec)
    loader.exec_module(check_lock)
    one, other = (
        check_lock.read_outputs(
            build(tmp_path / name, settings, workers).read_text(encoding="utf-8"), set()
        )
        for name, settings, workers in (("one", ONE, 1), ("other", OTHER, 2))
    )
    for (stage, path), md5 in sorted(one.items()):
        print(f"{stage:24} {path:36} {md5[:12]} {other.get((stage, path), 'missing')[:12]}")
    assert one == other
