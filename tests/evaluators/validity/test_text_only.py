import json
from pathlib import Path

import pytest

from evaluators.validity.text_only import farthest, groups, measure, page, read, scores
from generators.hard_negatives.text_only_scorers import (
    HELD_OUT_SCORERS,
    REFINEMENT_SCORERS,
    RetrievalSets,
    score_medoid,
)
from tests.rows import toy_dataset

NOUNS = ("cup", "table", "cat", "bus", "lamp", "chair")


def negations() -> RetrievalSets:
    """Thirty sets of three, in which every caption with a negation is a negative."""
    pairs = [(one, other) for one in NOUNS for other in NOUNS if one != other]
    captions = [
        [f"a {one} on a {other}", f"a {one} not on a {other}", f"no {one} on a {other}"] for one, other in pairs
    ]
    return RetrievalSets(captions, [str(place // 3) for place in range(len(pairs))])


def test_a_row_of_several_configs_is_read_once(tmp_path: Path):
    folder = toy_dataset(tmp_path, rows=2)
    sets = read(folder, ["toy_hnatom", "toy_hnatom"])
    assert sets.captions == [("red ball", "blue ball", "red kite")] * 2
    assert sets.images == ["0", "1"]


def test_groups_join_the_corpora_and_leave_raw_sets_out(tmp_path: Path):
    for name in ("laion_sc_hnatom", "yfcc_uc_hnatom", "laion_sc_raw", "prod_hnneg", "prod_hnneg_balanced"):
        (tmp_path / name).mkdir()
    assert groups(tmp_path) == {
        "hnatom": ["laion_sc_hnatom", "yfcc_uc_hnatom"],
        "prod_hnneg": ["prod_hnneg"],
        "prod_hnneg_balanced": ["prod_hnneg_balanced"],
    }


def test_scores_by_hand():
    """The truth has one word less than one negative, as many as the other: half a hit for the tersest, 3 of 4 pairs."""
    found = scores(negations(), {**REFINEMENT_SCORERS, **HELD_OUT_SCORERS})
    assert found["longest"]["recall@1"] == 0
    assert found["tersest"]["recall@1"] == pytest.approx(1 / 2)
    assert found["tersest"]["pairwise_accuracy"] == pytest.approx(3 / 4)
    assert found["tersest"]["interval"] == pytest.approx((1 / 2, 1 / 2))


def test_refinement_does_not_remove_a_cue_of_all_rows():
    found = measure("prod_hnneg", negations(), 0, None)
    assert found["chance"] == 1 / 3
    assert found["held_out"]["form"]["recall@1"] == 1
    assert found["held_out_after"]["form"]["recall@1"] == 1
    assert found["share_kept"] >= 0.5
    assert set(found["held_out"]) == set(HELD_OUT_SCORERS)
    # Random weights that favour long captions: never, since "not" adds a word. Others: where "no" weighs more than "a".
    assert found["random_scorers"] == pytest.approx((0 + 1 / 2) / 2, abs=0.1)
    assert json.loads(json.dumps(found))["by_design"]
    text = page("CREPE", Path("text_only.json"), {"prod_hnneg": found})
    assert "| prod_hnneg | 30 | 33.3% | 100.0%" in text
    assert "holds a negation" in text


def test_farthest_looks_on_both_sides():
    found = {name: {"recall@1": value} for name, value in (("over", 0.3), ("under", 0.05), ("near", 0.2))}
    assert farthest(0.2, found) == "under"


def test_the_caption_that_is_most_like_the_others_is_the_truth():
    star = RetrievalSets([["a b c", "a b d", "a e c"]], ["1"])
    assert scores(star, {"most_alike": score_medoid})["most_alike"]["recall@1"] == 1
