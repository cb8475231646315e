import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators import protocols

# Four rows, four captions, the truth in column 0.
#   row 0: .9 beats all                       rank 1
#   row 1: .5 < .8, .5 < .6, .5 > .1          rank 3
#   row 2: .4 = .4 = .4, .3 below             rank 3, a tie with a wrong caption is a loss
#   row 3: .1 below all                       rank 4
SCORES = np.array([[0.9, 0.1, 0.2, 0.3], [0.5, 0.8, 0.1, 0.6], [0.4, 0.4, 0.4, 0.3], [0.1, 0.2, 0.3, 0.4]])


def test_choice_ranks_by_hand():
    found = protocols.choice(SCORES)
    assert found.rank_N.tolist() == [1, 3, 3, 4]
    assert found.tie_N.tolist() == [False, False, True, False]


def test_summary_by_hand():
    # R@1 = 1/4, R@3 = 3/4, so Avg R@K = 1/2; ranks 1 3 3 4: mean 11/4, median 3; no R@5 of a set of 4.
    assert protocols.summary(protocols.choice(SCORES), 4) == {
        "recall@1": 0.25,
        "recall@3": 0.75,
        "avg_recall": 0.5,
        "mean_rank": 2.75,
        "median_rank": 3.0,
        "tie_rate": 0.25,
    }


@pytest.mark.parametrize(
    ("size", "names"), [(2, ["recall@1"]), (5, ["recall@1", "recall@3"]), (6, ["recall@1", "recall@3", "recall@5"])]
)
def test_no_recall_at_the_set_size(size: int, names: list[str]):
    assert [name for name in protocols.chance(size) if name.startswith("recall")] == names


def test_chance_is_that_of_the_papers_tables():
    # Tables 9 to 11, row "Random": 9.09 / 27.27 / 18.18, 20 / 60 / 40 and 14.29 / 42.86 / 28.57 percent.
    for size, expected in ((11, (9.09, 27.27, 18.18)), (5, (20.0, 60.0, 40.0)), (7, (14.29, 42.86, 28.57))):
        chance = protocols.chance(size)
        found = tuple(round(100 * chance[name], 2) for name in ("recall@1", "recall@3", "avg_recall"))
        assert found == expected


def test_a_constant_encoder_never_wins():
    assert protocols.summary(protocols.choice(np.ones((6, 5))), 5)["recall@1"] == 0.0


def test_scores_that_are_no_numbers_are_an_error():
    scores = SCORES.copy()
    scores[2, 1] = np.nan
    with pytest.raises(ValueError, match="Row 2 has a score that is not a finite number"):
        protocols.choice(scores)


def test_no_rows_is_an_error():
    with pytest.raises(ValueError, match="No rows to evaluate"):
        protocols.summary(protocols.choice(np.ones((0, 5))), 5)


def test_retrieve_by_hand():
    # Queries and items on the unit circle, as angles in degrees; the score is the cosine of their difference.
    #   query 0 at 0:  items at 10, 40, 90, 0   truth 10, only 0 is nearer    rank 2
    #   query 1 at 40: truth 40                                              rank 1
    #   query 2 at 80: truth 90 (10 off), 40 is 40 off                       rank 1
    #   query 3 at 30: truth 0 (30 off); 40 (10 off), 10 (20 off)            rank 3
    queries, items = (np.radians(angles) for angles in ([0, 40, 80, 30], [10, 40, 90, 0]))
    as_points = lambda angle: np.stack([np.cos(angle), np.sin(angle)], axis=1)  # noqa: E731
    apart = np.arange(4)
    found = protocols.retrieve(as_points(queries), as_points(items), apart, apart)
    assert found.rank_N.tolist() == [2, 1, 1, 3]
    # If query 3 and query 1 are the same crop, caption 1 is true for query 3 as well: it no longer counts against it.
    found = protocols.retrieve(as_points(queries), as_points(items), np.array([0, 1, 2, 1]), apart)
    assert found.rank_N.tolist() == [2, 1, 1, 2]


def test_equal_features_tie_in_every_column_of_a_large_fold():
    # 4,099 items are four blocks and a ragged fifth; all are equal, so all 4,098 wrong ones tie with the truth.
    rows = 4099
    feature = np.random.default_rng(0).normal(size=33)
    same = np.tile((feature / np.linalg.norm(feature)).astype(np.float32), (rows, 1))
    found = protocols.retrieve(same, same, np.arange(rows), np.arange(rows))
    assert found.tie_N.all()
    assert (found.rank_N == rows).all()


def test_folds_are_those_of_appendix_b2():
    # 9 rows, folds of 4: K = floor(9 / 4) = 2 folds of 4 different rows; 100 rows, folds of 2: K = min(20, 50).
    folds = list(protocols.folds(9, 4, seed=0))
    assert [len(fold) for fold in folds] == [4, 4]
    assert len(np.unique(np.concatenate(folds))) == 8
    assert len(list(protocols.folds(100, 2, seed=0))) == 20
    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in protocols.folds(9, 4, seed=0)]


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8))
def test_rank_is_one_plus_the_wrong_captions_that_are_not_worse(rows: list[list[int]]):
    found = protocols.choice(np.array(rows, dtype=float))
    assert found.rank_N.tolist() == [1 + sum(other >= truth for other in others) for truth, *others in rows]
    assert found.tie_N.tolist() == [truth in others for truth, *others in rows]
