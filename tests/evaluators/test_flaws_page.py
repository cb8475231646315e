"""The page about published benchmarks: every cell by hand, from a file of eight rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from compeval.base.text_only.baselines import score_by_function
from compeval.base.text_only.relative_baselines import score_medoid_of_words
from compeval.evaluators.flaws import page
from compeval.evaluators.validity import balanced_subsets


def format_share(entry: dict[str, Any]) -> str:
    low, high = entry["interval"]
    return f"{100 * entry['share']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Row 1 repeats row 0, row 2 has its caption as negative, row 3 a mangled word, row 4 a wrong article."""
    texts = [
        ("a red cup", "a cup"),
        ("a red cup", "a cup"),
        ("a hat", "A  hat"),
        ("a person on a mat", "a persinside inside a mat"),
    ]
    texts += [
        ("a cat and a dog", "an cat"),
        ("a pen and a box", "a pen"),
        ("a jar and a map", "a jar"),
        ("a bus and a car", "a bus"),
    ]
    rows = {
        str(index): {
            "filename": f"{max(index, 1):012d}.jpg",
            "caption": caption,
            "negative_caption": negative,
        }
        for index, (caption, negative) in enumerate(texts)
    }
    path = tmp_path / "data/swap_att.json"
    path.parent.mkdir()
    path.write_text(json.dumps(rows))
    baselines = {
        "longest": lambda sets: score_by_function(sets, len),
        "medoid_of_words": score_medoid_of_words,
    }
    monkeypatch.setattr(page, "FAST_BASELINES", baselines)
    return path


def test_every_cell_by_hand(file: Path, tmp_path: Path) -> None:
    item = page.measure_file(file)
    counts = {
        name: round(8 * entry["share"]) for name, entry in item["shares"].items() if entry["share"]
    }
    assert counts == {"repeated rows": 2, "identical texts": 1, "mangled word": 1, "article": 1}
    assert item["negatives"] == {"mangled word": 1, "article": 1}
    assert item["baselines"]["recall@1"] == item["baselines"]["pairwise"]
    assert (item["baselines"]["pairwise"]["baseline"], item["baselines"]["pairwise"]["share"]) == (
        "longest",
        6 / 8,
    )
    assert item["baselines"]["medoid on pairs"]["share"] == 0.5
    page.main(tmp_path / "flaws.json", [file])
    text = (tmp_path / "benchmark-flaws.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("| sugarcrepe / swap_att")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[1:4] == ["8", f"{format_share(item['baselines']['recall@1'])}, longest", "50.0"]
    assert cells[8:10] == ["2", format_share(item["shares"]["repeated rows"])]
    assert (tmp_path / "benchmark-flaws.svg").read_text().startswith("<svg")


def test_a_measured_file_is_not_measured_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.main(tmp_path / "flaws.json", [file])
    monkeypatch.setattr(page, "measure_file", lambda path: pytest.fail("measured again"))
    page.main(tmp_path / "flaws.json", [file])


def test_balanced_subsets_are_described() -> None:
    scores = {
        name: {"baseline": "a_b", "accuracy": 0.7, "interval": [0.6, 0.8]}
        for name in ("seen", "unseen")
    }
    entry = {
        "file": "set: x.csv",
        "pairs": 20,
        "pairs_tried": 10,
        "pairs_kept": 5,
        "before": scores,
        "after": scores,
    }
    excluded = {"baseline": "a_b", "accuracy": 0.99, "interval": [0.9, 1.0], "least": 0.98}
    text = page.render({}, [entry, entry | {"kept": ""}, entry | {"excluded_by": excluded}])
    lines = [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if line.startswith("| set | x.csv")
    ]
    start, named = ["set", "x.csv", "20", "10"], ["70.0 (60.0 to 80.0), a b"] * 4
    assert lines[:2] == [[*start, "none", *named], [*start, "5", *named]]
    assert " | ".join([*start, "none: a b orders 99.0 |  |  |  |  |"]) in text


def test_the_control_is_compared_with_equally_many_published_rows(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caption is the longer text in 6 of 8 published rows, and in all of the unrefined ones."""
    monkeypatch.setattr(
        balanced_subsets, "REFINEMENT_BASELINES", {"longest": page.FAST_BASELINES["longest"]}
    )
    for name in ("HELD_OUT_BASELINES", "UNSEEN_BASELINES"):
        monkeypatch.setattr(balanced_subsets, name, {"medoid": score_medoid_of_words})
    control = tmp_path / "data_unrefined/swap_att.json"
    control.parent.mkdir()
    texts = {"caption": "a red cup", "negative_caption": "a cup"}
    control.write_text(
        json.dumps({str(n): texts | {"filename": f"{n:012d}.jpg"} for n in range(9)})
    )
    page.main(tmp_path / "flaws.json", [file, control])
    text = (tmp_path / "benchmark-flaws.md").read_text()
    assert "1 published files, 8 rows" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| swap_att |")]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells[0] == "8"
    assert [cell.partition(" (")[0] for cell in cells[1:]] == ["75.0", "100.0", "50.0", "50.0"]
    assert [cell.rpartition(", ")[2] for cell in cells[1:]] == [
        "longest",
        "longest",
        "medoid",
        "medoid",
    ]
