"""No baseline reads, directly or through a feature, which captions are true in the fold that it scores."""

from random import Random

import numpy as np
import pytest

from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.judges import select_judges
from compeval.base.text_only.ngram import assign_folds
from tests.close import assert_close

pytestmark = pytest.mark.usefixtures("few_trees")
ALL_BASELINES = {
    **select_judges("held_out", "refining", "comparing", "unseen"),
}
ROWS, FOLD = 60, 0
WORDS = ["cup", "hat", "cat", "bus", "box", "map", "pen", "jar"]


@pytest.mark.parametrize("name", ALL_BASELINES)
def test_scores_of_a_fold_do_not_depend_on_what_is_true_in_it(name: str):
    """If a negative of each of its sets becomes the truth, each caption keeps its score."""
    rng = Random(0)
    images = [str(row) for row in range(ROWS)]
    captions = [
        [f"a {word} on a {rng.choice(WORDS)}" for word in rng.sample(WORDS, 4)] for _ in images
    ]
    in_fold_N = np.array([assign_folds(images)[image] == FOLD for image in images])
    assert 10 <= in_fold_N.sum() < ROWS
    swapped = [
        texts[::-1] if inside else texts for texts, inside in zip(captions, in_fold_N, strict=True)
    ]
    score_NK = ALL_BASELINES[name](RetrievalSets(captions, images))
    score_of_swapped_NK = ALL_BASELINES[name](RetrievalSets(swapped, images))
    assert_close(score_of_swapped_NK[in_fold_N, ::-1], score_NK[in_fold_N])
