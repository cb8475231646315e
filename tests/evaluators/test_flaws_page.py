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
    path.write_text(json.dumps(rows), encoding="utf-8")
    baselines = {
        "longest": lambda sets: score_by_function(sets, len),
        "medoid_of_words": score_medoid_of_words,
    }
    monkeypatch.setattr(page, "select_audited", lambda with_slow: baselines)
    return path


def test_every_cell_by_hand(file: Path, tmp_path: Path) -> None:
    page.main(tmp_path / "flaws.json", [file], "29 November 2026")
    (item,) = json.loads((tmp_path / "flaws.json").read_text(encoding="utf-8")).values()
    counts = {
        name: round(8 * entry["share"]) for name, entry in item["shares"].items() if entry["share"]
    }
    assert counts == {"identical texts": 1, "mangled word": 1, "article": 1}
    assert (item["malformed negatives"], item["findings"]) == (2, {"mangled word": 1, "article": 1})
    assert item["form"] == {"capital": 1, "case": 1}
    assert item["baselines"]["recall@1"] == item["baselines"]["pairwise"]
    best = item["baselines"]["pairwise"]
    assert (best["baseline"], best["share"]) == ("longest", 6 / 8)
    text = (tmp_path / "benchmark-flaws.md").read_text(encoding="utf-8")
    assert "Measured on 29 November 2026." in text
    assert "1 published files with 8 rows" in text
    solved, malformed, form = (
        [cell.strip() for cell in line.split("|")[2:-1]]
        for line in text.splitlines()
        if line.startswith("| SugarCrepe swap_att")
    )
    assert solved == [f"{format_share(best)}<br>longest", "the same", "50.0", "8"]
    assert "of each file (chance 50.0 %)" in text
    shares = [format_share(item["shares"][name]) for name in ("mangled word", "article")]
    assert malformed == ["2", *shares, format_share(item["shares"]["identical texts"])]
    assert form == ["1 of 8", "0 of 8", "0 of 8"]
    assert (tmp_path / "benchmark-flaws.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_negative_with_two_findings_counts_once(file: Path, tmp_path: Path) -> None:
    rows = json.loads(file.read_text(encoding="utf-8"))
    rows["4"]["negative_caption"] = "an cat cat"
    file.write_text(json.dumps(rows), encoding="utf-8")
    page.main(tmp_path / "flaws.json", [file])
    (item,) = json.loads((tmp_path / "flaws.json").read_text(encoding="utf-8")).values()
    assert sum(item["findings"].values()) == 3
    assert item["malformed negatives"] == 2


def test_baselines_are_measured_once_and_texts_each_time(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "flaws.json"
    page.main(output, [file])
    measured = json.loads(output.read_text(encoding="utf-8"))
    ((sha256, item),) = measured.items()
    output.write_text(json.dumps({sha256: item | {"findings": {}}}), encoding="utf-8")
    monkeypatch.setattr(page, "measure_file", lambda path: pytest.fail("measured again"))
    page.main(output, [file])
    assert json.loads(output.read_text(encoding="utf-8")) == measured


def score(accuracy: float) -> dict[str, Any]:
    interval = [accuracy - 0.1, accuracy + 0.1]
    return {"baseline": "a_b", "accuracy": accuracy, "interval": interval}


def test_the_best_baseline_is_the_best_of_all_tables() -> None:
    known = {"share": 0.6, "interval": [0.5, 0.7], "baseline": "c"}
    item = {"candidates": 6, "baselines": {"recall@1": known | {"share": 1.0}, "pairwise": known}}
    entry = {"before": {"seen": score(0.5), "unseen": score(0.8)}}
    assert page.find_best(item, entry, "pairwise")["share"] == 0.8
    assert page.find_best(item, {}, "pairwise") == known
    assert page.find_best(item, entry, "recall@1")["share"] == 1
    two = {"candidates": 2, "baselines": {"recall@1": known, "pairwise": known}}
    assert page.find_best(two, {"excluded_by": score(0.99)}, "recall@1")["share"] == 0.99


def test_balanced_subsets_are_described(file: Path, tmp_path: Path) -> None:
    page.main(tmp_path / "flaws.json", [file])
    measured = json.loads((tmp_path / "flaws.json").read_text(encoding="utf-8"))
    after = {"seen": score(0.5), "siblings": score(0.7)}
    before = {"seen": score(0.8), "unseen": score(0.75)}
    entry = {"file": "set: x.csv", "pairs_tried": 10, "before": before, "after": after}
    excluded = {**entry, "file": "set: y.csv", "excluded_by": score(0.99) | {"least": 0.98}}
    text = page.render(measured, [entry, excluded])
    line = "| x.csv | 80.0 (70.0 to 90.0)<br>a b | 70.0 (60.0 to 80.0)<br>a b |"
    assert f"{line} trained on other files | 10 |" in text
    assert "| y.csv | 99.0 (89.0 to 109.0)<br>a b | at least 98.0 in any half |" in text
    (sha256,) = measured
    named = page.render(measured, [entry | {"sha256": sha256}])
    assert "| SugarCrepe swap_att | 80.0 (70.0 to 90.0)<br>a b |" in named
    assert "None could be made" in text
    assert "1 of 2 files have a subset" in page.render(measured, [entry | {"kept": ""}, excluded])


def test_the_control_is_compared_with_equally_many_published_rows(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caption is the longer text in 6 of 8 published rows, and in all of the unrefined ones."""
    longest, medoid = page.select_audited(with_slow=False), {"medoid": score_medoid_of_words}
    del longest["medoid_of_words"]
    monkeypatch.setattr(
        balanced_subsets,
        "select_judges",
        lambda *groups: longest if groups == ("refining",) else medoid,
    )
    monkeypatch.setattr(balanced_subsets, "select_untrained", lambda: medoid)
    control = tmp_path / "data_unrefined/swap_att.json"
    control.parent.mkdir()
    texts = {"caption": "a red cup", "negative_caption": "a cup"}
    control.write_text(
        json.dumps({str(n): texts | {"filename": f"{n:012d}.jpg"} for n in range(9)}),
        encoding="utf-8",
    )
    page.main(tmp_path / "flaws.json", [file, control])
    text = (tmp_path / "benchmark-flaws.md").read_text(encoding="utf-8")
    assert "1 published files with 8 rows" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| swap_att |")]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells[2] == "8"
    assert [cell.partition(" (")[0] for cell in cells[:2]] == ["75.0", "100.0"]
    assert [cell.rpartition("<br>")[2] for cell in cells[:2]] == ["longest", "longest"]
