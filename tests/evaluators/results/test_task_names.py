"""The names of tasks in words."""

import pytest

from compeval.evaluators.results.task_names import describe_set, explain_names


def make_result(dataset: str, config: str, source: str = "coco") -> dict:
    return {"dataset": dataset, "config": config, "source": source}


def test_names_of_crepe_are_explained_splits_first():
    results = [make_result("crepe", "prod_hnneg"), make_result("crepe", "laion_uc_hnatom_balanced")]
    assert explain_names(results) == [
        "uc: unseen compounds, whose atoms are in training captions",
        "hnneg: a part is negated; hnatom: one object, attribute or relation is replaced; "
        "balanced: text-only baselines are near chance",
    ]


def test_names_of_own_data_are_explained_and_those_of_other_sets_are_not():
    own = [make_result("mine", config, "mine") for config in ("sc_swap", "foils_2", "captions")]
    assert explain_names(own) == [
        "sc: seen compounds, all in training captions",
        "swap: words are swapped; foils_2: 2 wrong captions per row, of your table; "
        "captions: retrieval among all images and captions",
    ]
    assert explain_names([make_result("sugarcrepe", "swap_obj")]) == []
    assert explain_names([make_result("other", "foils_2")]) == []


@pytest.mark.parametrize(("config", "words"), [("foils_1", "your table, 1 negative a row")])
def test_a_set_of_the_users_own_negatives_is_named_in_words(config: str, words: str):
    assert describe_set(config) == words
