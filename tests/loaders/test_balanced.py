"""Balanced subsets: lists of pairs by the hash of a file, and the task that an import makes of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compeval.base.text_only.baselines import RetrievalSets, score_by_function
from compeval.base.text_only.judges import select_judges
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.validity import balanced_subsets
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import audit_splits, read_files, read_published
from compeval.loaders.importing.write_dataset import import_files
from compeval.loaders.published import balanced


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of SugarCrepe with 40 rows; the caption is the longer text in three quarters of them."""
    monkeypatch.chdir(tmp_path)
    rows = {}
    for row in range(40):
        texts = [f"a big cup {row} there", f"a cup {row}"]
        caption, negative = texts if row % 4 else texts[::-1]
        rows[str(row)] = {
            "filename": f"{row:012d}.jpg",
            "caption": caption,
            "negative_caption": negative,
        }
    path = tmp_path / "swap_att.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_mask_is_stored_as_text() -> None:
    keep = np.random.default_rng(0).random(77) < 0.5
    assert balanced.unpack(balanced.pack(keep), 77).tolist() == keep.tolist()


def test_subset_of_a_file_is_a_task(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = {"longest": lambda sets: score_by_function(sets, len)}
    for name in ("select_judges", "select_untrained", "select_transferable"):
        monkeypatch.setattr(balanced_subsets, name, lambda *groups: longest)
    monkeypatch.setattr(balanced_subsets, "MIN_PAIRS", 20)
    entry = balanced_subsets.balance_file(file)
    assert (entry["pairs"], entry["pairs_kept"], entry["before"]["seen"]["accuracy"]) == (
        40,
        20,
        0.75,
    )
    assert {scores["accuracy"] for scores in entry["after"].values()} == {0.5}
    assert {*entry["after"]} == {"seen", "unseen", "cues", "removed"}
    balanced.write_lists(tmp_path / "data" / balanced.OWN_LISTS, [entry])
    assert [*read_published(identify(file)).splits] == [("swap_att", "test")]
    (read,) = read_files([identify(file)], tmp_path / "data")
    texts = [(row.captions, row.hard_negatives) for row in read.splits["swap_att", "test"]]
    kept = [(row.captions, row.hard_negatives) for row in read.splits["swap_att", "test.balanced"]]
    assert len(kept) == 20
    assert [pair for pair in texts if pair in kept] == kept
    assert list(audit_splits(read.splits)) == ["swap_att/test"]
    (tmp_path / "images").mkdir()
    for row in range(40):
        Image.new("RGB", (8, 8), (row, 0, 0)).save(tmp_path / f"images/{row:012d}.jpg")
    import_files([file], tmp_path / "images", tmp_path / "data")
    assert [task.name for task in discover(tmp_path / "data")] == [
        "sugarcrepe/swap_att",
        "sugarcrepe/swap_att@balanced",
    ]


def test_no_subset_that_a_reader_of_other_texts_solves(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word counts are at chance on the subset; a model of the other file or of a corpus knows that "big" is true."""
    shortest = {"shortest": lambda sets: score_by_function(sets, len, sign=-1)}
    monkeypatch.setattr(balanced_subsets, "select_judges", lambda *groups: shortest)
    monkeypatch.setattr(balanced_subsets, "select_untrained", lambda: shortest)
    words = {"words": select_judges("refining")["words"]}
    monkeypatch.setattr(balanced_subsets, "select_transferable", lambda: words)
    monkeypatch.setattr(balanced_subsets, "MIN_PAIRS", 5)
    rows = {
        str(row): {
            "filename": f"{row:012d}.jpg",
            "caption": f"a cup {row} big",
            "negative_caption": f"a big cup {row}",
        }
        for row in range(40)
    }
    file.write_text(json.dumps(rows), encoding="utf-8")
    other = file.with_name("swap_obj.json")
    texts = {"caption": "a big cup", "negative_caption": "a cup"}
    other.write_text(
        json.dumps({str(n): texts | {"filename": f"{n + 30:012d}.jpg"} for n in range(40)}),
        encoding="utf-8",
    )
    (tmp_path / "corpus.txt").write_text("a cup big\n" * 50, encoding="utf-8")
    siblings, names = balanced_subsets.read_siblings(file, [file, other])
    assert names == ["swap_obj.json"]
    outside = balanced_subsets.Outside(siblings, names, None)
    entry = balanced_subsets.balance_file(file, outside)
    assert entry["sibling_pairs"] == 30  # without the ten images of the file
    corpus = balanced_subsets.read_corpus(str(tmp_path / "*.txt"), 0)
    entry = balanced_subsets.balance_file(file, balanced_subsets.Outside(None, [], corpus))
    assert entry["corpus_captions"] == 50
    assert entry["after"]["corpus"]["accuracy"] == 1
    assert "kept" not in entry
    assert "a cup big" not in json.dumps(entry)


def test_no_subset_of_pairs_that_length_orders(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    length = {"longest": lambda sets: score_by_function(sets, len)}
    monkeypatch.setattr(balanced_subsets, "select_untrained", lambda: length)
    rows = json.loads(file.read_text(encoding="utf-8"))
    # 6 of 40 pairs stay wrong: 85 % are right, and at least 70 % of any half.
    for row in (
        "0",
        "4",
        "8",
        "12",
    ):
        texts = rows[row]["caption"], rows[row]["negative_caption"]
        rows[row] |= {"caption": texts[1], "negative_caption": texts[0]}
    file.write_text(json.dumps(rows), encoding="utf-8")
    entry = balanced_subsets.balance_file(file)
    excluded = entry["excluded_by"]
    assert (excluded["baseline"], excluded["accuracy"], excluded["least"]) == ("longest", 0.85, 0.7)
    assert not {"kept", "after"} & {*entry}


def test_one_pair_of_each_row_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = RetrievalSets([["a", "b", "c", "d"]] * 30, [str(row) for row in range(30)])
    drawn = balanced_subsets.draw_pairs(sets)
    assert (drawn // 3).tolist() == list(range(30))
    assert {*(drawn % 3).tolist()} == {0, 1, 2}
    monkeypatch.setattr(balanced_subsets, "MAX_PAIRS", 7)
    assert len({*(balanced_subsets.draw_pairs(sets) // 3).tolist()}) == 7


def test_a_list_of_another_number_of_pairs_is_refused(file: Path) -> None:
    rows = read_published(identify(file)).splits["swap_att", "test"]
    with pytest.raises(ValueError, match="40 pairs, but its balanced subset is of 41"):
        list(balanced.select_pairs(rows, {"file": "x", "pairs": 41, "kept": ""}))


def test_a_pair_of_several_negatives_keeps_its_row(file: Path) -> None:
    row = (
        read_published(identify(file))
        .splits["swap_att", "test"][0]
        ._replace(hard_negatives=("a", "b", "c"))
    )
    entry = {"file": "x", "pairs": 6, "kept": balanced.pack(np.array([0, 1, 1, 0, 0, 1]))}
    found = [
        (position, pair.hard_negatives)
        for position, pair in balanced.select_pairs([row, row], entry)
    ]
    assert found == [(0, ("b",)), (0, ("c",)), (1, ("c",))]


def test_packaged_lists_are_complete() -> None:
    for entry in balanced.read_lists(balanced.LISTS):
        assert len(entry["sha256"]) == 64
        if "excluded_by" in entry:
            assert entry["excluded_by"]["least"] > 0.5 + balanced_subsets.MARGIN
            continue
        assert entry["pairs_kept"] >= entry["pairs_tried"] / 2
        if "kept" in entry:
            assert entry["pairs_kept"] >= balanced_subsets.MIN_PAIRS
            assert balanced.unpack(entry["kept"], entry["pairs"]).sum() == entry["pairs_kept"]
            assert all(map(balanced_subsets.is_at_chance, entry["after"].values()))
