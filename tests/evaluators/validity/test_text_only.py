import json
import shutil
from pathlib import Path

import pytest

from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.judges import select_judges
from compeval.evaluators.validity import text_only
from compeval.evaluators.validity.text_only import (
    group_configs,
    measure,
    measure_all,
    measure_baselines,
    read,
    read_groups,
    render_page,
    sample,
)
from tests.close import assert_close
from tests.rows import toy_dataset

pytestmark = pytest.mark.usefixtures("few_trees")
NOUNS = ("cup", "table", "cat", "bus", "lamp", "chair")


def make_negations() -> RetrievalSets:
    """Return 30 sets of three captions, in which exactly the negatives contain a negation."""
    captions = [
        [f"a {first} on a {second}", f"a {first} not on a {second}", f"no {first} on a {second}"]
        for first in NOUNS
        for second in NOUNS
        if first != second
    ]
    return RetrievalSets(captions, [str(index // 3) for index in range(len(captions))])


def test_a_row_of_several_configs_is_read_once(tmp_path: Path):
    folder = toy_dataset(tmp_path, rows=2)
    sets = read(2 * sorted((folder / "toy_hnatom").glob("*.parquet")))
    assert sets.captions == [("red ball", "blue ball", "red kite")] * 2
    assert sets.images == ["0", "1"]


def test_groups_join_the_corpora_and_omit_raw_configs(tmp_path: Path):
    for name in (
        "laion_sc_hnatom",
        "yfcc_uc_hnatom",
        "laion_sc_raw",
        "prod_hnneg",
        "prod_hnneg_balanced",
    ):
        (tmp_path / name).mkdir()
    assert group_configs(tmp_path) == {
        "hnatom": ["laion_sc_hnatom", "yfcc_uc_hnatom"],
        "prod_hnneg": ["prod_hnneg"],
        "prod_hnneg_balanced": ["prod_hnneg_balanced"],
    }


def test_only_the_sets_of_the_paper_are_sampled(tmp_path: Path):
    folder = toy_dataset(tmp_path, rows=5)
    (folder / "toy_hnatom").rename(folder / "toy_uc_hnatom")
    shutil.copytree(folder / "toy_uc_hnatom", folder / "toy_uc_hnatom_balanced")
    groups = read_groups(folder, max_rows=3)
    assert {name: len(sets) for name, sets in groups.items()} == {
        "hnatom": 3,
        "toy_uc_hnatom_balanced": 5,
    }
    assert set(groups["hnatom"].images) < set(groups["toy_uc_hnatom_balanced"].images)


def test_scores_by_hand():
    """The truth has one word less than the first negative and as many words as the second.

    So the tersest baseline ties with the second negative: half a hit, and 1.5 of 2 pairs.
    """
    results = measure_baselines(make_negations(), select_judges("refining", "held_out"))
    assert results["longest"]["recall@1"] == 0
    assert_close(results["tersest"]["recall@1"], 1 / 2)
    assert_close(results["tersest"]["pairwise_accuracy"], 3 / 4)
    assert_close(results["tersest"]["interval"], (0.2366, 0.7634), within=5e-5)  # Wilson, 5 of 10


def test_groups_keep_their_order_and_empty_ones_are_left_out(monkeypatch: pytest.MonkeyPatch):
    """The largest group is measured first, and the results are in the order of the groups."""
    measured = []
    monkeypatch.setattr(text_only, "WORKERS", 1)
    monkeypatch.setattr(
        text_only,
        "measure",
        lambda held_out, group: measured.append(group[0]) or {"rows": len(group[1])},
    )
    sets = make_negations()
    groups = {"small": sample(sets, 2), "none": sample(sets, 0), "all": sample(sets, 99)}
    assert list(measure_all(groups, None).items()) == [
        ("small", {"rows": 2}),
        ("all", {"rows": 30}),
    ]
    assert measured == ["all", "small"]
    assert measure_all({}, None) == {}


def test_a_sample_keeps_the_order():
    sets = make_negations()
    few = sample(sets, 5)
    positions = [sets.captions.index(captions) for captions in few.captions]
    assert len(few) == 5
    assert positions == sorted(positions)
    assert few.images == [sets.images[position] for position in positions]
    assert sample(sets, 30).captions == sets.captions


def test_all_baselines_of_a_group_are_measured():
    results = measure(select_judges("held_out"), ("prod_hnneg", make_negations()))
    assert results["chance"] == 1 / 3
    assert results["held_out"]["form"]["recall@1"] == 1
    assert set(results["refining"]) == set(select_judges("refining"))
    assert set(results["held_out"]) == set(select_judges("held_out"))
    assert results["comparing"]["learned"]["recall@1"] == 1
    # Half of the random baselines favour long captions and never select the truth, since "not" adds a word. The others
    # select the truth if "no" weighs more than "a", which is true half of the time.
    assert_close(results["random_scorers"], (0 + 1 / 2) / 2, within=0.1)
    assert json.loads(json.dumps(results))["by_design"]
    text = render_page("CREPE", Path("text_only.json"), {"prod_hnneg": results})
    assert "| prod_hnneg | 30 | 33.3% | 100.0%" in text
    assert "contains a negation" in text
