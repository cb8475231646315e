"""Baselines that are trained elsewhere than on the sets that they score."""

from dataclasses import replace

import numpy as np
import pytest

from compeval.base.text_only.baselines import RetrievalSets, recall_at_1
from compeval.base.text_only.judges import JUDGES, select_transferable
from compeval.base.text_only.transfer import (
    score_by_corpus,
    score_by_siblings,
    score_removed,
    score_transferred,
    train_corpus_models,
)


def make_sets(true: str, false: str, rows: int, first: int = 0) -> RetrievalSets:
    captions = [[f"a {true} cup {n}", f"a {false} cup {n}"] for n in range(first, first + rows)]
    return RetrievalSets(captions, [str(n) for n in range(first, first + rows)])


@pytest.mark.parametrize("name", ["words", "naive_bayes", "ngram_contrast", "conditional_logit"])
def test_a_cue_of_other_sets_is_used_and_not_that_of_the_scored_ones(name: str):
    """ "red" is true in the other sets, and false in those that are scored."""
    scored, other = make_sets("blue", "red", 20), make_sets("red", "blue", 20, first=50)
    assert recall_at_1(score_transferred(scored, JUDGES[name].score, other)).sum() == 0
    assert recall_at_1(JUDGES[name].score(scored)).sum() == 20


@pytest.mark.parametrize("name", [*select_transferable()])
def test_every_transferable_judge_scores_other_sets(name: str):
    scored, other = make_sets("blue", "red", 6), make_sets("red", "blue", 9, first=50)
    score_NK = score_transferred(scored, select_transferable()[name], other)
    assert score_NK.shape == (6, 2)
    assert np.isfinite(score_NK).all()


def test_removed_sets_of_other_images_are_the_training_data():
    """ "red" is true in the removed half, "blue" in the kept one; each image has a set in both."""
    kept, removed = make_sets("blue", "red", 20), make_sets("red", "blue", 20)
    sets = RetrievalSets([*kept.captions, *removed.captions], [*kept.images, *removed.images])
    masked = replace(sets, trainable_N=np.arange(40) < 20)
    hit_N = recall_at_1(score_removed(masked, JUDGES["words"].score))
    assert hit_N[:20].sum() == 0
    assert hit_N[20:].sum() == 20
    assert not score_removed(sets, JUDGES["words"].score).any()


def test_siblings_of_other_images_are_the_training_data():
    """ "red" is true in the siblings of nine images, and in a set of the tenth one, whose own sibling says "blue"."""
    scored = make_sets("red", "blue", 10)
    most, last = make_sets("red", "blue", 9), make_sets("blue", "red", 1, first=9)
    siblings = RetrievalSets([*most.captions, *last.captions], [*most.images, *last.images])
    assert recall_at_1(score_by_siblings(scored, JUDGES["words"].score, siblings)).sum() == 10
    only_own = RetrievalSets(last.captions, last.images)
    (score_K,) = score_by_siblings(scored.take(np.array([9])), JUDGES["words"].score, only_own)
    assert score_K.tolist() == [0, 0]


def test_a_corpus_knows_which_words_follow_each_other():
    sets = RetrievalSets([["a cup on a mat", "a mat a on cup"]] * 3, list("abc"))
    models = train_corpus_models(["a cup on a table", "a dog on a mat"] * 5, (1, 2))
    assert [*models] == ["unigram model", "bigram model"]
    assert recall_at_1(score_by_corpus(sets, models["bigram model"])).tolist() == [1] * 3
    assert recall_at_1(score_by_corpus(sets, models["unigram model"])).tolist() == [0.5] * 3
