"""The page of rows that can be filtered."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.report import build
from compeval.evaluators.report.examples import Candidate, Example
from compeval.evaluators.report.rows import ROWS_PER_SCRIPT, allocate, find_changes, write_rows
from tests.evaluators.written import write_result
from tests.rows import toy_dataset

TASK = Task("crepe", "toy_hnatom")


def read_script(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8").partition(" = ")[2].rstrip(";\n"))


@pytest.mark.parametrize(
    ("sizes", "count", "quotas"),
    [
        ({"a": 5, "b": 100, "c": 100}, 25, {"a": 5, "b": 10, "c": 10}),
        ({"a": 5, "b": 100}, 1000, {"a": 5, "b": 100}),
        ({"a": 5, "b": 100}, 0, {"a": 0, "b": 0}),
        ({}, 10, {}),
    ],
)
def test_small_tasks_are_complete(sizes: dict[str, int], count: int, quotas: dict[str, int]):
    assert allocate(sizes, count) == quotas


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return the folder of a report on two models on the dataset that is there, of which one has another task too."""
    (tmp_path / "data").mkdir()
    toy_dataset(tmp_path / "data")
    data = {"fingerprint": load(TASK, tmp_path / "data").fingerprint}
    for model in ("clip", "other"):
        write_result(tmp_path / "results", model, TASK.name, {"recall@1": 1 / 3}, data=data)
    write_result(tmp_path / "results", "clip", "crepe/gone_hnatom", {"recall@1": 1 / 3})
    build([tmp_path / "results"], tmp_path / "report", tmp_path / "data")
    return tmp_path / "report"


def test_rows_have_choices_kinds_and_pictures(report: Path):
    document = read_script(report / "rows.js")
    assert isinstance(document, dict)
    assert document["models"] == ["clip", "other"]
    assert document["tasks"] == ["crepe/gone_hnatom", TASK.name]
    assert document["kinds"] == ["HN-Atom: one atom replaced"]
    captions = ["red ball too", "blue ball", "red kite"]
    # The scores of row 1 are .3, .8 and .1. Only clip has the first task, whose dataset is not here.
    # The words "blue" and "kite" are not those of the true caption.
    changes = [[], [[0, 4]], [[4, 8]]]
    assert document["rows"][1] == [0, 1, captions, [], [1, -1], changes]
    assert document["rows"][4] == [1, 1, captions, [0, 0], [1, 1], changes]
    pictures = read_script(report / "rows" / "0.js")
    assert isinstance(pictures, list)
    assert [str(picture)[:23] for picture in pictures] == ["None"] * 3 + [
        "data:image/jpeg;base64,"
    ] * 3
    assert 'href="rows.html"' in (report / "index.html").read_text(encoding="utf-8")


def test_changes_are_counted_in_the_units_of_javascript():
    """The emoji is one character in Python and two in JavaScript."""
    assert find_changes([("a 🐶 with", False), ("two", True), ("balls", False)]) == [[10, 13]]


def test_without_rows_there_is_no_page(tmp_path: Path):
    write_result(tmp_path / "results", "clip", "crepe/toy_hnatom", {"recall@1": 1 / 3})
    build([tmp_path / "results"], tmp_path / "report", tmp_path, rows=0)
    assert not (tmp_path / "report/rows.html").exists()


@pytest.mark.acceptance
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_20000_rows_are_filtered_in_a_browser(report: Path):
    """The page is opened as a file, with the filters in its address."""
    rows = []
    for number in range(20_000):
        texts = zip((f"caption {number}", "x", "y"), ("", "A", "B"), strict=True)
        candidates = [
            Candidate(
                text,
                not index,
                ["clip"] if index == number % 3 else [],
                kind,
                [(text, index > 0)],
            )
            for index, (text, kind) in enumerate(texts)
        ]
        rows.append(Example("a/b" if number % 2 else "c/d", number, None, candidates))
    write_rows(report, "", rows, ["clip"])
    assert len([*(report / "rows").iterdir()]) == 20_000 // ROWS_PER_SCRIPT
    for address, expected in (
        ("", "20,000 rows, 13,333 with a wrong answer"),
        ("#task=0&answer=wrong", "6,666 rows, 6,666 with a wrong answer"),
        ("#text=caption+1999", "12 rows, 9 with a wrong answer"),
    ):
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
            "--virtual-time-budget=5000",
        ]
        page = (report / "rows.html").as_uri() + address
        shown = subprocess.run(
            ["chromium", *options, page], capture_output=True, text=True, check=True
        ).stdout
        assert expected in shown, address
        assert shown.count('class="example') <= 80, "only the rows in view are part of the page"
        assert "<mark>x</mark>" in shown
