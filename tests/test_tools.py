"""The scripts that make runs: numbered steps, and the reader of Debian's package."""

import io
import re
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import combinations, product
from pathlib import Path
from types import ModuleType

import pytest
import yaml

TOOLS = Path(__file__).parents[1] / "tools"
SAY = [
    sys.executable,
    "-c",
    "import sys; print('one'); print('two\\rthree', flush=True); sys.exit(int(sys.argv[1]))",
]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(TOOLS))

    def load_script(name: str) -> ModuleType:
        loader = SourceFileLoader(name.replace("-", "_").removesuffix(".py"), str(TOOLS / name))
        spec = spec_from_loader(loader.name, loader)
        assert spec
        module = module_from_spec(spec)
        loader.exec_module(module)
        return module

    return load_script


def test_output_goes_to_the_log_and_lines_to_the_callback(
    load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    steps, lines = load("steps.py").Steps([1, 2], tmp_path / "logs" / "log"), []
    steps.begin("First")
    steps.run([*SAY, "0"], lines.append)
    steps.begin("Second")
    steps.finish()
    # A progress bar ends its lines with \r.
    assert [line for line in lines if line] == [
        "one",
        "two",
        "three",
    ]
    assert b"one\ntwo\rthree" in (tmp_path / "logs" / "log").read_bytes()
    shown = capsys.readouterr().out
    assert re.fullmatch(r"\[ 1/2\] First +0:00\n\[ 2/2\] Second +0:00\n", shown), (
        "no output of the command"
    )


def test_a_failed_step_shows_the_end_of_its_output(
    load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    steps = load("steps.py").Steps([1], tmp_path / "log")
    steps.begin("First")
    with pytest.raises(SystemExit) as end:
        steps.run([*SAY, "3"])
    assert end.value.code == 3
    assert re.search(
        rf"one\ntwo\nthree\n.*This step failed; all output is in {tmp_path}/log",
        capsys.readouterr().err,
        re.S,
    )


def test_the_remaining_time_is_scaled_by_the_finished_steps(load, tmp_path: Path):
    steps = load("steps.py").Steps([20, 30, 50], tmp_path / "log")
    # The first step took 40 s instead of 20.
    steps.number, steps.start, steps.step_start = (
        2,
        0.0,
        40.0,
    )
    assert steps.estimate_left(0) == 160  # 2 * (30 + 50)
    assert steps.estimate_left(10) == 150
    # 150 s for steps of 50: 3 times as long, and 3 * 50 are left.
    assert steps.estimate_left(110) == 150


def test_a_member_of_a_debian_package_is_found(load):
    def member(name: bytes, data: bytes) -> bytes:
        return (
            name.ljust(48)
            + str(len(data)).encode().ljust(10)
            + b"`\n"
            + data
            + b"\n" * (len(data) % 2)
        )

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        archive.addfile(tarfile.TarInfo("usr/share/wordnet/data.noun"))
    package = (
        b"!<arch>\n" + member(b"debian-binary", b"2.0") + member(b"data.tar.xz", buffer.getvalue())
    )
    get_wordnet = load("get-wordnet")
    assert get_wordnet.read_member(package, b"data.tar") == buffer.getvalue()
    with pytest.raises(ValueError, match="no member"):
        get_wordnet.read_member(package, b"control.tar")


def test_the_demo_names_every_stage_that_it_runs(load):
    """These are the targets, and the stages whose outputs they, or stages upstream of them, depend on."""
    stages = yaml.safe_load((TOOLS.parent / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    demo = load("demo")
    names = {name.partition("@")[0] for name in demo.TITLES}
    assert names <= stages.keys()
    made_by = {
        output.replace("${item.corpus}", "laion"): name
        for name in stages
        for output in stages[name].get("outs", ())
    }
    needed, found = {name.partition("@")[0] for name in demo.TARGETS}, set()
    while needed:
        name = needed.pop()
        found.add(name)
        for path in stages[name]["deps"]:
            path = path.replace("${item.corpus}", "laion").replace("${source}", "microworld")
            for output, maker in made_by.items():
                if (path == output or path.startswith(f"{output}/")) and maker not in found:
                    needed.add(maker)
    assert found == names


def write_locks(folder: Path, digest: str, output: str) -> str:
    """Write a pipeline of one data stage and its code, and return the lock."""
    (folder / "dvc.yaml").write_text(
        "stages: {code: {meta: {exact: false}}, crepe: {}}", encoding="utf-8"
    )
    stages = {
        "code": {"deps": [{"path": "base", "md5": digest}], "outs": []},
        "crepe": {"outs": [{"path": "crepe", "md5": output}]},
    }
    (folder / "dvc.lock").write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    return (folder / "dvc.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize(("output", "is_kept"), [("aa.dir", True), ("bb.dir", False)])
def test_the_demo_leaves_the_lock_as_it_was_unless_data_change(
    load, tmp_path: Path, output: str, is_kept: bool
):
    before = write_locks(tmp_path, "11.dir", "aa.dir")
    after = write_locks(tmp_path, "22.dir", output)
    load("demo").keep_lock(before, tmp_path.resolve())
    expected = before if is_kept else after
    assert (tmp_path / "dvc.lock").read_text(encoding="utf-8") == expected
    assert list((tmp_path / "build").iterdir()) == []


def test_any_two_settings_of_the_round_meet(load):
    runs = load("test-round").SETTINGS
    first = runs[0]
    values = [sorted({run[place] for run in runs}, key=str) for place in range(len(first))]
    values[1] = ["AVX2", "SSE41"]  # oneDNN's own choice is in the first run only
    for one, other in combinations(range(len(first)), 2):
        met = {(run[one], run[other]) for run in runs}
        assert set(product(values[one], values[other])) <= met


def test_the_table_of_the_round(load, tmp_path: Path):
    tool = load("test-round")
    (tmp_path / "1.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.a.test_b" name="test_one[x]"><failure>no</failure></testcase>'
        '<testcase classname="tests.a.test_b" name="test_two"><skipped/></testcase>'
        '<testcase classname="tests.a.test_b" name="test_three"/>'
        "</testsuite></testsuites>",
        encoding="utf-8",
    )
    outcome = tool.read_outcome(tmp_path / "1.xml")
    row = tool.describe(1, tool.SETTINGS[0], "3.11.7", outcome)
    assert row == (
        "| 1 | unset | unset | 1 | random | C.UTF-8, UTC | 3.11.7 | 1 | 1 | 1 | `test_b::test_one[x]` |"
    )
    assert row.count("|") == tool.HEADER.splitlines()[0].count("|")
    assert "pytest ended early" in tool.describe(1, tool.SETTINGS[0], "3.11.7", None)
