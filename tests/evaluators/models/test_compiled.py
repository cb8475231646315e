import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from evaluators.models import parts
if "nothing" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
parts.prepare()
part, gelu = np.zeros((2, 1, 2, 1), dtype=np.uint16)
parts.take_apart(np.ones((1, 1), dtype=np.float32), part)
parts.take_gelu_apart(np.full((1, 1), 10, dtype=np.float32), np.full(1, -9, dtype=np.float32), gelu)
print(part.tolist(), gelu.tolist())
"""
SAID = "[[[16256], [0]]] [[[16215], [15045]]]\n"
"""What it prints: 1 + 0, and 0.83984375 + 0.00150299072265625, which is GELU of 1 (0.8413447...) to sixteen bits."""


def check_in_a_process_that_may_keep(cache: Path, what: str) -> None:
    """A process with this cache compiles, takes 1 and GELU of 1 apart and says nothing else."""
    environment = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", SCRIPT, what]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == (SAID, "")


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path):
    check_in_a_process_that_may_keep(tmp_path, "nothing")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]


@pytest.mark.parametrize("length", [0, 100])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_what_was_kept_and_is_cut_off_is_made_anew(ending: str, length: int, tmp_path: Path):
    check_in_a_process_that_may_keep(tmp_path, "all")
    kept = {path: path.stat().st_size for path in tmp_path.rglob(f"*.{ending}")}
    assert len(kept) == 2  # of each function
    for path in kept:
        path.write_bytes(path.read_bytes()[:length])
    check_in_a_process_that_may_keep(tmp_path, "all")
    for path, whole in kept.items():
        assert path.stat().st_size == pytest.approx(whole, rel=0.01)  # numbers in its names may have more digits


def test_where_what_was_kept_cannot_be_read_it_is_compiled_all_the_same(tmp_path: Path):
    check_in_a_process_that_may_keep(tmp_path, "all")
    for path in [*tmp_path.rglob("*.nbi")]:
        path.unlink()
        path.mkdir()
    check_in_a_process_that_may_keep(tmp_path, "all")
