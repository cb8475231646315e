import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compeval.cli.test_cli import call, run_toy
from tests.evaluators import tiny
from tests.evaluators.written import EXAMPLES, write_result


@pytest.fixture(scope="module")
def results(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of three models, which tests must not change."""
    root = tmp_path_factory.mktemp("toy_results")
    (root / "toy_models.py").write_text(tiny.MODELS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.syspath_prepend(str(root))
        for name, options in (("Knows", ()), ("Constant", ()), ("Knows", ("--name", "Knows2"))):
            assert run_toy(data, name, *options).exit_code == 0
    return root / "results"


@pytest.fixture
def folders(here: Path, results: Path) -> list[str]:
    return [str(results / "microworld" / name) for name in ("Knows", "Constant", "Knows2")]


def test_ranking_of_three_models(folders: list[str]):
    shown = call("compare", *folders)
    assert "Holm-corrected over all pairs" in shown.stderr
    lines = list(csv.DictReader(call("compare", *folders, "--format", "csv").stdout.splitlines()))
    assert [line["model"] for line in lines[:3]] == ["Knows", "Knows2", "Constant"]
    assert json.loads(call("compare", *folders, "--json").stdout)[0]["p"].keys() == {
        "Knows2",
        "Constant",
    }


def test_both_models_are_named_in_every_format(folders: list[str]):
    command = ("compare", *folders[:2])
    for text in (call(*command, "--format", name).stdout for name in ("table", "md", "latex")):
        assert all(name in text for name in ("A: Knows", "B: Constant", "B - A")), text
    latex = call(*command, "--format", "latex").stdout
    assert latex.startswith("\\begin{tabular}{lr")
    assert "crepe/prod\\_hnatom/n4 &" in latex
    assert "mean over 2 tasks" in latex
    (line, *_) = csv.DictReader(call(*command, "--format", "csv").stdout.splitlines())
    (record, *_) = json.loads(call(*command, "--json").stdout)
    assert (
        (line["model_a"], line["model_b"])
        == (record["model_a"], record["model_b"])
        == ("Knows", "Constant")
    )


def test_page_of_disagreements(folders: list[str], data: Path):
    shown = call("compare", *folders[:2], "--disagreements", "page", "--data", data)
    assert "The page: page/index.html" in shown.stderr
    page = Path("page/index.html").read_text(encoding="utf-8")
    assert "crepe/prod_hnatom/n4: only Knows is right (5 of 5 rows)" in page
    assert page.count("data:image/jpeg;base64,") == 9
    assert (
        "no rows with hard negatives"
        in call("compare", folders[0], folders[2], "--disagreements", "page").stderr
    )


def test_power():
    for as_json in (["--json"], ["--format", "json"], ["--json", "--format", "csv"]):
        (record,) = json.loads(
            call("power", "--agreement", "80", "--difference", "5", *as_json).stdout
        )
        assert record["rows"] == 626
    shown = call("power", "--agreement", "80", "--rows", "626")
    assert "5.0" in shown.stdout


def test_power_of_two_results(folders: list[str]):
    lines = json.loads(call("power", *folders[:2], "--json").stdout)
    assert [line["disagreement"] for line in lines] == [1.0, 1.0]


ESCAPES = "\x1b]52;c;aGk=\x07\x1b[2Jclear\x9b31m\x85\x08\x7f\r"
"""Writes to the clipboard, clears the screen and colours the text, by C0 and C1 characters."""


def test_no_text_of_a_result_controls_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Names and categories of foreign results, in all commands that print them and in all formats."""
    if sys.getfilesystemencoding() != "utf-8":
        pytest.skip(
            "no folder can have such a name: the locale is C and Python's UTF-8 mode is off"
        )
    monkeypatch.chdir(tmp_path)
    row = [{"by": "relation", "name": f"on{ESCAPES}"}]
    for model in (f"one{ESCAPES}", f"two{ESCAPES}"):
        folder = tmp_path / "results" / model[:3]
        examples = EXAMPLES | {"categories": [row] * 3, "rank": [1, 2, 1 + (model[:3] == "one")]}
        changes: Any = {
            "warnings": [f"warned{ESCAPES}"],
            "about": {"contaminated": f"yes{ESCAPES}"},
        }
        write_result(folder, model, "crepe/toy_hnatom", {"recall@1": 1 / 3}, examples, **changes)
    one, two = (next((tmp_path / "results" / name).rglob("*.json")) for name in ("one", "two"))
    commands = [["show", "results"], ["compare", one, two], ["compare", one, two, "--by-category"]]
    for command in commands:
        for output_format in ("table", "csv", "md", "latex", "json"):
            shown = call(*map(str, command), "--format", output_format)
            assert shown.exit_code == 0, shown.output
            assert re.sub(r"[\n\t]", "", shown.output).isprintable(), (command, output_format)
    assert json.loads(call("show", "results", "--json").stdout)[0]["model"]["name"].startswith(
        f"one{ESCAPES}"[:6]
    )
    odd = tmp_path / f"odd{ESCAPES}.json"
    odd.write_text("[]", encoding="utf-8")
    for command in (["import", odd], ["show", odd], ["inspect", odd], ["audit", odd, "nothing"]):
        shown = call(*map(str, command))
        assert shown.exit_code
        assert re.sub(r"[\n\t]", "", shown.output).isprintable(), command
