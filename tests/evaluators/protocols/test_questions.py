"""Protocols of questions and of single captions, against values derived by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compeval.evaluators.protocols import find_protocol, paired_questions, true_or_false
from compeval.loaders.benchmarks import mmvp_vlm
from compeval.loaders.published.declaration import hit_with_ties
from compeval.loaders.published.schemas import QUESTIONS_SCHEMA, TRUTH_SCHEMA
from tests.close import assert_close

# Rows: images 0 and 1. Columns: question 0 with the answer for image 0, for image 1; question 1 likewise.
#   group 0: image 0 .9 > .1, .8 > .2; image 1 .7 > .3, .6 > .4                      all four correct
#   group 1: image 0 .9 > .1, .8 > .2; image 1 .3 < .7, .6 > .4      question 1 and image 0 correct, three answers
#   group 2: image 0 .5 = .5, .8 > .2; image 1 .7 > .3, .6 > .4      a tie: question 1 and image 1, three answers
QUESTIONS = np.array(
    [
        [[0.9, 0.1, 0.8, 0.2], [0.3, 0.7, 0.4, 0.6]],
        [[0.9, 0.1, 0.8, 0.2], [0.7, 0.3, 0.4, 0.6]],
        [[0.5, 0.5, 0.8, 0.2], [0.3, 0.7, 0.4, 0.6]],
    ]
)


def test_paired_questions():
    expected = {
        "group_accuracy": 1 / 3,
        "question_accuracy": 2 / 3,
        "image_accuracy": 2 / 3,
        "accuracy": 10 / 12,
        "tie_rate": 1 / 3,
    }
    assert_close(paired_questions.evaluate(QUESTIONS)[""].summarise(), expected)
    assert paired_questions.find_correct(QUESTIONS)[1].tolist() == [[True, True], [False, True]]
    assert paired_questions.evaluate(np.zeros((2, 2, 4)))[""].summarise()["accuracy"] == 0


def test_the_columns_select_the_protocol():
    assert find_protocol(QUESTIONS_SCHEMA.names).name == "paired_questions"
    assert find_protocol(TRUTH_SCHEMA.names).name == "true_or_false"


# Three of five captions are true, so the threshold is between the third and the fourth highest score: (.6 + .4) / 2.
#   true: .9 and .6 above it, .3 below; false: .7 above it, .4 below             accuracy 3/5
#   pairs: .9 > .7, .9 > .4, .6 > .4 of six                                      auc 3/6
SCORES, LABELS = np.array([0.9, 0.6, 0.3, 0.7, 0.4]), np.array([1, 1, 1, 0, 0])


def test_true_or_false():
    (metrics,) = true_or_false.evaluate(SCORES[:, None, None], LABELS).values()
    assert_close(true_or_false.find_threshold(SCORES, 3), 0.5)
    assert_close(metrics.summarise(), {"accuracy": 3 / 5, "tie_rate": 0, "auc": 1 / 2})
    assert_close(metrics.chance["accuracy"], 0.6**2 + 0.4**2)
    constant = true_or_false.evaluate(np.ones((4, 1, 1)), np.array([1, 0, 1, 0]))[""].summarise()
    assert constant == {"accuracy": 0, "tie_rate": 1, "auc": 0}
    for label in (0, 1):
        (only,) = true_or_false.evaluate(np.ones((3, 1, 1)), np.full(3, label)).values()
        assert only.summarise() == {"accuracy": 1, "tie_rate": 0}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=2, max_size=40))
def test_auc_is_the_share_of_pairs(rows: list[tuple[int, int]]):
    scores, labels = (
        np.array([score for score, _ in rows], float),
        np.array([label for _, label in rows]),
    )
    true, false = scores[labels == 1], scores[labels == 0]
    if not len(true) or not len(false):
        return
    wins = true_or_false.compute_wins(scores, labels)
    share = (true[:, None] > false).mean()
    assert_close(
        [wins.mean(), wins[labels == 1].mean(), wins[labels == 0].mean()], [share] * 3, summed=40
    )


def test_authors_rules():
    # MMVP: statement 0 prefers image 0 (.9 > .1), statement 1 is a tie, which chooses image 1: a hit of the authors.
    # Second pair: statement 0 is a tie, which chooses image 1: a miss. Third pair: both are clear.
    pairs = np.array([[[0.9, 0.5], [0.1, 0.5]], [[0.5, 0.1], [0.5, 0.9]], [[0.9, 0.1], [0.1, 0.9]]])
    assert mmvp_vlm.find_author_hits(pairs)[""].tolist() == [True, False, True]
    # NegBench: the first of the highest scores wins, and the truth is the first.
    options = np.array([[[0.5, 0.5, 0.1, 0.2]], [[0.5, 0.6, 0.1, 0.2]], [[0.0, 0.0, 0.0, 0.0]]])
    assert hit_with_ties(options)[""].tolist() == [True, False, True]
