"""Tests of the protocols against values derived by hand."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import open_clip
import pyarrow as pa
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from compeval.evaluators import protocols
from compeval.evaluators.metrics.categories import compute_category_metrics
from compeval.evaluators.protocols import (
    agreement,
    choice,
    classification,
    compound,
    group,
    image_choice,
    paired_questions,
    paraphrase,
    ranking,
    recall,
    recovery,
    sets,
    true_or_false,
    video_choice,
    video_group,
)
from compeval.evaluators.protocols.base import Sample
from compeval.evaluators.protocols.reranking import ReRanking
from compeval.loaders.published.schemas import image_choice_schema, video_group_schema, video_schema
from tests.close import assert_close, count_terms

# Four rows with four captions each. Column 0 is the truth.
#   row 0: .9 is highest                      rank 1
#   row 1: .5 < .8, .5 < .6, .5 > .1          rank 3
#   row 2: .4 = .4 = .4 > .3                  rank 3, since a tie with a wrong caption counts as a loss
#   row 3: .1 is lowest                       rank 4
SCORES = np.array(
    [[0.9, 0.1, 0.2, 0.3], [0.5, 0.8, 0.1, 0.6], [0.4, 0.4, 0.4, 0.3], [0.1, 0.2, 0.3, 0.4]]
)


def test_choice_ranks():
    result = choice.rank_truth(SCORES)
    assert result.rank_N.tolist() == [1, 3, 3, 4]
    assert result.tie_N.tolist() == [False, False, True, False]


def test_summary_of_ranks():
    # R@1 = 1/4, R@3 = 3/4, so Avg R@K = 1/2; ranks 1 3 3 4: mean 11/4, median 3; no R@5 for 4 candidates.
    assert ranking.to_metrics(choice.rank_truth(SCORES)).summarise() == {
        "recall@1": 0.25,
        "recall@3": 0.75,
        "avg_recall": 0.5,
        "mean_rank": 2.75,
        "median_rank": 3.0,
        "floored_median_rank": 3.0,
        "tie_rate": 0.25,
    }


def test_median_rank_is_also_floored_as_in_the_authors_scripts():
    # Ranks 1, 3 and 3, 4: the medians are 2 and 3.5.
    found = [
        ranking.to_metrics(choice.rank_truth(SCORES[rows])).summarise() for rows in ([0, 1], [2, 3])
    ]
    assert [(one["median_rank"], one["floored_median_rank"]) for one in found] == [
        (2.0, 2.0),
        (3.5, 3.0),
    ]
    chance = ranking.compute_chance(5)  # of ranks 1 to 6
    assert (chance["median_rank"], chance["floored_median_rank"]) == (3.5, 3.0)


@pytest.mark.parametrize(
    ("size", "names"),
    [(2, ["recall@1"]), (5, ["recall@1", "recall@3"]), (6, ["recall@1", "recall@3", "recall@5"])],
)
def test_no_recall_at_the_set_size(size: int, names: list[str]):
    assert [name for name in ranking.compute_chance(size - 1) if name.startswith("recall")] == names


def test_chance_equals_the_papers_tables():
    # Tables 9 to 11, row "Random": 9.09 / 27.27 / 18.18, 20 / 60 / 40 and 14.29 / 42.86 / 28.57 percent.
    for size, expected in (
        (11, (9.09, 27.27, 18.18)),
        (5, (20.0, 60.0, 40.0)),
        (7, (14.29, 42.86, 28.57)),
    ):
        chance = ranking.compute_chance(size - 1)
        result = tuple(
            round(100 * chance[name], 2) for name in ("recall@1", "recall@3", "avg_recall")
        )
        assert result == expected


def test_constant_scores_have_recall_0():
    assert ranking.to_metrics(choice.rank_truth(np.ones((6, 5)))).summarise()["recall@1"] == 0.0


def test_error_for_scores_that_are_not_finite():
    scores = SCORES.copy()
    scores[2, 1] = np.nan
    with pytest.raises(ValueError, match="Row 2 has a score that is not a finite number"):
        choice.rank_truth(scores)


@pytest.mark.parametrize(
    ("evaluate", "shape"),
    [
        (choice.evaluate, (1, 1, 3)),
        (video_choice.evaluate, (1, 12, 2)),
        (group.evaluate, (1, 2, 2)),
        (video_group.evaluate, (1, 24, 2)),
        (paraphrase.evaluate, (1, 1, 3)),
        (sets.evaluate, (1, 4, 4)),
        (paired_questions.evaluate, (1, 2, 4)),
        (lambda score: true_or_false.evaluate(score, np.array([1])), (1, 1, 1)),
    ],
)
def test_error_for_scores_of_any_protocol_that_are_not_finite(
    evaluate: Any, shape: tuple[int, ...]
):
    with pytest.raises(ValueError, match="not a finite number"):
        evaluate(np.full(shape, np.nan))


def test_error_without_rows():
    with pytest.raises(ValueError, match="No rows to evaluate"):
        ranking.to_metrics(choice.rank_truth(np.ones((0, 5)))).summarise()


def make_features(angles: Any) -> np.ndarray:
    """Return points on the unit circle, given angles in degrees.

    The score of two points is the cosine of the difference.
    """
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def make_feature_functions(
    image_angles: list[int], text_angles: list[int]
) -> tuple[recall.Features, recall.Features]:
    return make_features(image_angles).__getitem__, make_features(text_angles).__getitem__


def retrieve_pairs(
    query_ND: np.ndarray, item_ND: np.ndarray, query_id_N: np.ndarray, item_id_N: np.ndarray
) -> recall.RetrievalResult:
    """Return the ranks of i2t where row i has query i and item i."""
    features = query_ND.__getitem__, item_ND.__getitem__
    return recall.retrieve_both_directions(query_id_N, item_id_N[:, None], *features)["i2t"]


def test_retrieval_ranks():
    # Items are at 10, 40, 90 and 0 degrees.
    #   query 0 at 0:  the truth is at 10; only 0 is nearer                  rank 2
    #   query 1 at 40: the truth is at 40                                    rank 1
    #   query 2 at 80: the truth is at 90, 10 away                           rank 1
    #   query 3 at 30: the truth is at 0, 30 away; 40 and 10 are nearer      rank 3
    queries, items = make_features([0, 40, 80, 30]), make_features([10, 40, 90, 0])
    distinct_ids = np.arange(4)
    result = retrieve_pairs(queries, items, distinct_ids, distinct_ids)
    assert result.rank_N.tolist() == [2, 1, 1, 3]
    assert result.wrong_N.tolist() == [3, 3, 3, 3]
    # If queries 1 and 3 are the same crop, caption 1 is true for query 3 as well and does not compete with its truth.
    result = retrieve_pairs(queries, items, np.array([0, 1, 2, 1]), distinct_ids)
    assert result.rank_N.tolist() == [2, 1, 1, 2]
    assert result.wrong_N.tolist() == [3, 2, 3, 2]


def test_equal_features_tie_in_all_blocks_of_a_large_fold():
    # 4,099 items are four blocks and an incomplete fifth block. All are equal, so 4,098 wrong items tie with the truth.
    rows = 4099
    feature = np.random.default_rng(0).normal(size=33)
    equal_ND = np.tile((feature / np.linalg.norm(feature)).astype(np.float32), (rows, 1))
    result = retrieve_pairs(equal_ND, equal_ND, np.arange(rows), np.arange(rows))
    assert result.tie_N.all()
    assert (result.rank_N == rows).all()


def test_several_true_captions_per_image():
    # Images are at 0 and 90 degrees. Image 0 has captions at 50 and 10, image 1 has a caption at 60.
    #   i2t, image 0: the best truth is 10 away, the wrong caption 60          rank 1
    #   i2t, image 1: the truth is 30 away, wrong captions are 40 and 80 away  rank 1
    #   t2i, caption at 50: the truth is 50 away, image 1 is 40 away           rank 2
    #   t2i, captions at 10 and 60: the true image is nearer                   rank 1
    # The best wrong caption of image 0 is caption 2, that of image 1 caption 0 (40 away). The wrong image of captions 0
    # and 1 is image 1, that of caption 2 is image 0.
    found = recall.retrieve_both_directions(
        np.array([0, 1]),
        np.array([[0, 1], [2, -1]]),
        *make_feature_functions([0, 90], [50, 10, 60]),
    )
    assert found["i2t"].rank_N.tolist() == [1, 1]
    assert found["i2t"].wrong_N.tolist() == [1, 2]
    assert found["t2i"].rank_N.tolist() == [2, 1, 1]
    assert found["i2t"].best_wrong_N.tolist() == [2, 0]
    assert found["t2i"].best_wrong_N.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("count", "pairs", "i2t", "t2i"),
    [
        # The best of each image: caption 1, caption 2. The best of each caption: images 1, 0, 1. Caption 0 is scored
        # with image 1 for its own sake, so its 5 does not count for image 1, whose truth is the only one re-ranked.
        # Caption 0: image 1 is re-ranked, its truth is not.
        (1, [(0, 1), (1, 0), (1, 2)], [1, 1], [2, 1, 1]),
        # Image 0: captions 1 and 0, both true. Image 1: caption 0 (5) is before the truth, caption 2 (3). Captions:
        # 0: image 1 (5) before image 0 (2). 1: image 0 (7) before image 1 (0). 2: images 0 and 1 tie (3).
        (2, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], [1, 2], [2, 1, 2]),
    ],
)
def test_re_ranking(count: int, pairs: list[tuple[int, int]], i2t: list[int], t2i: list[int]):
    """Images at 0 and 90 degrees; captions 0 and 1 of image 0 at 50 and 10, caption 2 of image 1 at 60."""
    scored: list[tuple[int, int]] = []

    def score(image_P: np.ndarray, text_P: np.ndarray) -> np.ndarray:
        scored.extend(zip(image_P.tolist(), text_P.tolist(), strict=True))
        return np.array([[2.0, 7.0, 3.0], [5.0, 0.0, 3.0]])[image_P, text_P]

    features = make_feature_functions([0, 90], [50, 10, 60])
    directions = recall.retrieve_both_directions(
        np.array([0, 1]), np.array([[0, 1], [2, -1]]), *features, ReRanking(count, score)
    )
    assert scored == pairs
    assert (directions["i2t"].rank_N.tolist(), directions["t2i"].rank_N.tolist()) == (i2t, t2i)


def test_candidates_that_are_not_re_ranked_keep_the_order_of_their_cosines():
    # Image 0 at 0 degrees: caption 1 is nearest and re-ranked; its truth is at 40, before caption 2 at 60: rank 2.
    features = make_feature_functions([0, 10, 60], [40, 10, 60])
    reranking = ReRanking(1, lambda image_P, text_P: np.full(len(image_P), -50.0))
    directions = recall.retrieve_both_directions(
        np.arange(3), np.arange(3)[:, None], *features, reranking
    )
    assert directions["i2t"].rank_N.tolist() == [2, 1, 1]
    assert not directions["i2t"].tie_N.any()


def test_true_captions_do_not_tie_and_equal_captions_are_true_for_both_images():
    # All captions have equal features. The second caption of image 0 is the caption of image 1 (same id).
    directions = recall.retrieve_both_directions(
        np.array([0, 1]),
        np.array([[0, 1], [1, -1]]),
        *make_feature_functions([0, 90], [20, 20, 20]),
    )
    # Image 1: caption 0 is wrong and ties with the truth.
    assert directions["i2t"].rank_N.tolist() == [
        1,
        2,
    ]
    assert directions["i2t"].tie_N.tolist() == [False, True]
    assert directions["t2i"].rank_N.tolist() == [1, 1, 1]
    assert directions["t2i"].wrong_N.tolist() == [1, 0, 0]


def test_a_text_that_is_true_through_another_row_is_not_wrong():
    # Rows: (image 0, caption 0), (image 0, caption 1), (image 2, caption 1). Caption 1 is true of image 0 by the second
    # row, so the third row's copy of it is not wrong for image 0 either.
    directions = recall.retrieve_both_directions(
        np.array([0, 0, 2]),
        np.array([[0], [1], [1]]),
        *make_feature_functions([0, 0, 90], [20, 10, 10]),
    )
    assert directions["i2t"].wrong_N.tolist() == [0, 0, 1]
    assert directions["i2t"].rank_N.tolist() == [1, 1, 2]
    assert directions["t2i"].wrong_N.tolist() == [1, 0, 0]


def make_retrieval_sample(
    image_M: list[int],
    text_MT: list[list[int]],
    image_angles: list[float],
    text_angles: list[float],
) -> Sample:
    """Return a fold whose rows have images and texts by id, given the angle of each id."""
    texts = np.array(text_MT)
    features = make_features(image_angles), make_features(text_angles)
    image_J, text_J = np.array(image_M), texts[texts >= 0]
    none = np.zeros(len(image_M), int)
    index_MT = np.full(texts.shape, -1)
    index_MT[texts >= 0] = text_J
    return Sample(
        image_J[:, None],
        index_MT,
        none,
        np.empty((0, 0), int),
        none,
        lambda index: features[0][index],
        lambda index: features[1][index],
    )


def test_by_index_another_row_s_copy_is_wrong():
    """Images 0 and 1 (at 0 and 10 degrees) have one text, at 4 degrees; image 2 has another one, both at 90.

    i2t: images 0 and 1 find the text of either row, each with the probability 1/2. t2i: the text is nearer to image 0,
    which is right for row 0 only. Chance by index is 1/3. By content, images 0 and 1 have one wrong text (1/2), image 2
    two (1/3).
    """
    sample = make_retrieval_sample([0, 1, 2], [[0], [0], [1]], [0, 10, 90], [4, 90])
    directions = recall.evaluate(sample)
    i2t, t2i = directions["i2t"], directions["t2i"]
    assert i2t.values["recall@1"].tolist() == t2i.values["recall@1"].tolist() == [1, 1, 1]
    assert i2t.values["recall@1_by_index"].tolist() == [0.5, 0.5, 1]
    assert t2i.values["recall@1_by_index"].tolist() == [1, 0, 1]
    assert_close(i2t.chance["recall@1_by_index"], 1 / 3)
    assert_close(i2t.chance["recall@1"], (1 / 2 + 1 / 2 + 1 / 3) / 3)


def test_by_index_equals_by_content_without_copies():
    sample = make_retrieval_sample([0, 1, 2], [[0], [1], [2]], [0, 30, 90], [40, 10, 80])
    for metrics in recall.evaluate(sample).values():
        assert metrics.values["recall@1_by_index"].tolist() == metrics.values["recall@1"].tolist()
        assert_close(metrics.chance["recall@1_by_index"], metrics.chance["recall@1"])


def test_retrieval_by_index_is_shown_on_request():
    result = {
        "main": ["i2t_recall@1"],
        "metrics": {"i2t_recall@1": 1.0, "i2t_recall@1_by_index": 0.5},
        "chance": {"i2t_recall@1": 0.2},
    }
    assert ranking.list_main_metrics(result) == ["i2t_recall@1", "i2t_recall@1_by_index"]
    assert ranking.is_on_request("i2t_recall@1_by_index")
    assert not ranking.is_on_request("i2t_recall@1")


@given(st.data())
def test_by_index_is_the_mean_of_the_authors_score_over_all_orders(data):
    """The authors sort all items of the fold; one of the query's own must be first. Here, all orders are tried."""
    num_rows = data.draw(st.integers(2, 3))
    ids = st.integers(0, 2)
    image_M = data.draw(st.lists(ids, min_size=num_rows, max_size=num_rows))
    text_MT = data.draw(
        st.lists(st.lists(ids, min_size=2, max_size=2), min_size=num_rows, max_size=num_rows)
    )
    assume(recall.is_measurable(np.array(image_M), np.array(text_MT)))
    # No image is equally far from two texts, nor a text from two images.
    image_angles, text_angles = [0.0, 7.0, 19.0], [2.5, 11.3, 23.1]
    sample = make_retrieval_sample(image_M, text_MT, image_angles, text_angles)
    text_J = [text for texts in text_MT for text in texts]
    row_J = [row for row, texts in enumerate(text_MT) for _ in texts]
    distance_NJ = np.array(
        [[abs(image_angles[image] - text_angles[text]) for text in text_J] for image in image_M]
    )

    def expect(distance_J: np.ndarray, own: set[int]) -> float:
        orders = list(permutations(range(len(distance_J))))
        firsts = (min(order, key=lambda item: distance_J[item]) for order in orders)
        return sum(first in own for first in firsts) / len(orders)

    directions = recall.evaluate(sample)
    assert_close(
        directions["i2t"].values["recall@1_by_index"].tolist(),
        [
            expect(distance_NJ[row], {j for j, other in enumerate(row_J) if other == row})
            for row in range(num_rows)
        ],
    )
    assert_close(
        directions["t2i"].values["recall@1_by_index"].tolist(),
        [expect(distance_NJ[:, j], {row_J[j]}) for j in range(len(text_J))],
    )


@pytest.mark.parametrize(
    ("wrong", "truths", "k", "missed"),
    [(2, 1, 1, 2 / 3), (2, 1, 2, 1 / 3), (1, 2, 2, 0), (3, 1, 0, 1), (3, 1, -2, 1), (0, 1, 5, 0)],
)
def test_share_of_orders_without_a_truth(wrong: int, truths: int, k: int, missed: float):
    assert_close(
        ranking.compute_missed(np.array([wrong]), np.array([truths]), np.array([k])).item(), missed
    )


@given(st.data())
def test_an_item_is_wrong_unless_a_row_has_it_with_the_query(data):
    num_rows = data.draw(st.integers(2, 8))
    ids = st.lists(st.integers(0, 3), min_size=num_rows, max_size=num_rows)
    image_M, text_M = np.array(data.draw(ids)), np.array(data.draw(ids))
    directions = recall.retrieve_both_directions(
        image_M, text_M[:, None], *make_feature_functions([0] * num_rows, [0] * num_rows)
    )
    true = set(zip(image_M.tolist(), text_M.tolist(), strict=True))
    assert directions["i2t"].wrong_N.tolist() == [
        sum((i, t) not in true for t in text_M) for i in image_M
    ]
    assert directions["t2i"].wrong_N.tolist() == [
        sum((i, t) not in true for i in image_M) for t in text_M
    ]


def test_chance_with_several_truths():
    # 2 truths and 3 wrong candidates. R@1: 2/5. R@3: 1 - 3/5 * 2/4 * 1/3 = 9/10. Mean best rank: 1 + 3/3.
    assert_close(
        ranking.compute_chance(3, 2),
        {"recall@1": 0.4, "recall@3": 0.9, "avg_recall": 0.65, "mean_rank": 2.0, "tie_rate": 0.0},
    )


def test_random_scores_have_the_chance_level():
    generator = np.random.default_rng(0)
    result = ranking.to_metrics(choice.rank_truth(generator.random((20_000, 7)))).summarise()
    # Standard errors over 20,000 rows: at most 0.0036 for a share, 0.014 for the mean rank (standard deviation 2).
    for name, expected in ranking.compute_chance(6).items():
        assert_close(result[name], expected, within=0.015 if "recall" in name else 0.06)


def test_folds_follow_appendix_b2():
    # 9 rows, folds of 4: K = floor(9 / 4) = 2 folds of 4 different rows; 100 rows, folds of 2: K = min(20, 50).
    folds = list(recall.make_folds(9, 4, seed=0))
    assert [len(fold) for fold in folds] == [4, 4]
    assert len(np.unique(np.concatenate(folds))) == 8
    # The folds are consecutive parts of the permutation.
    order = np.random.default_rng(0).permutation(9)
    assert [fold.tolist() for fold in folds] == [
        sorted(order[:4].tolist()),
        sorted(order[4:8].tolist()),
    ]
    assert len(list(recall.make_folds(100, 2, seed=0))) == 20
    assert [fold.tolist() for fold in folds] == [
        fold.tolist() for fold in recall.make_folds(9, 4, seed=0)
    ]


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8))
def test_rank_is_one_plus_the_number_of_wrong_captions_that_score_at_least_as_high(
    rows: list[list[int]],
):
    result = choice.rank_truth(np.array(rows, dtype=float))
    assert result.rank_N.tolist() == [
        1 + sum(score >= truth for score in wrong) for truth, *wrong in rows
    ]
    assert result.tie_N.tolist() == [truth in wrong for truth, *wrong in rows]


# Scores of each image with captions 0 and 1.
#   image 0: .9 .1 / image 1: .2 .8    text and image score are hits
#   image 0: .6 .5 / image 1: .7 .8    text is a hit; caption 0 prefers image 1
#   image 0: .6 .7 / image 1: .5 .8    image is a hit; image 0 prefers caption 1
#   image 0: .5 .5 / image 1: .5 .8    image 0 and caption 0 tie, so both scores are losses
GROUPS = np.array(
    [
        [[0.9, 0.1], [0.2, 0.8]],
        [[0.6, 0.5], [0.7, 0.8]],
        [[0.6, 0.7], [0.5, 0.8]],
        [[0.5, 0.5], [0.5, 0.8]],
    ]
)


def test_group_scores():
    result = group.compute_hits(GROUPS)
    assert result["text"].tolist() == [True, True, False, False]
    assert result["image"].tolist() == [True, False, True, False]
    assert result["group"].tolist() == [True, False, False, False]
    directions = group.evaluate(GROUPS)
    assert [directions[name].summarise()["score"] for name in ("text", "image", "group")] == [
        0.5,
        0.5,
        0.25,
    ]
    assert directions["group"].summarise()["tie_rate"] == 0.25


def test_group_chance_equals_winogrounds():
    orders = np.array(list(permutations(range(4))), dtype=float).reshape(-1, 2, 2)
    assert_close(
        {name: hit_N.mean() for name, hit_N in group.compute_hits(orders).items()}, group.CHANCE
    )


# Three rows with three images (the first shows the compound) and two prompts each.
#   row 0: means .5, .4, .3: right, margin .1
#   row 1: means .2, .3, .1: wrong, margin -.1
#   row 2: one prompt, .4 = .4: a tie, so wrong
COMPOUNDS = np.array(
    [
        [[0.9, 0.1], [0.2, 0.6], [0.3, 0.3]],
        [[0.1, 0.3], [0.3, 0.3], [0.1, 0.1]],
        [[0.4, np.nan], [0.4, np.nan], [0.1, np.nan]],
    ]
)


def test_compound_ranks_follow_equations_1_and_2():
    # Equation 1, with the first prompt only: .9 is highest; .1 ties with .1 and is below .3; .4 ties.
    assert compound.rank_compound_image(COMPOUNDS[:, :, :1]).rank_N.tolist() == [1, 3, 2]
    assert compound.rank_compound_image(COMPOUNDS).rank_N.tolist() == [1, 2, 2]
    result = compound.evaluate(COMPOUNDS)[""]
    assert_close(result.summarise()["recall@1"], 1 / 3)
    assert_close(result.values["margin"], [0.1, -0.1, 0.0])
    assert_close(result.values["similarity"], [0.5, 0.2, 0.4])
    assert_close(result.chance["recall@1"], 1 / 3)
    # Only row 0 is correct.
    assert_close(result.summarise()["similarity_of_correct"], 0.5)
    assert_close(result.summarise()["margin_of_correct"], 0.1)
    assert "similarity_of_correct" not in result.summarise(np.array([1, 2]))


def test_error_for_a_compound_without_prompts():
    with pytest.raises(ValueError, match="Row 0 has no prompt"):
        compound.rank_compound_image(np.full((1, 3, 2), np.nan))


def make_sample(image_ND: np.ndarray, text_TD: np.ndarray, **arrays: Any) -> Sample:
    empty = np.empty(0, dtype=np.int32)
    all_arrays = {"text_NT": empty, "fold_N": empty, "class_CP": empty, "label_N": empty} | arrays
    return Sample(
        image=lambda index: image_ND[index], text=lambda index: text_TD[index], **all_arrays
    )


def test_compound_ranks_among_all_images():
    # Compound 0 has images at 0, 40, 80; compound 1 has images at 30, 90 and 0 (shared). Prompts are at 10 for compound
    # 0, and at 20 and 40 for compound 1. Compound 0: its image is 10 away, 30 is 20 away: rank 1. Compound 1: the mean
    # direction of the prompts is 30, where its image is: rank 1.
    indices = {"crop_NI": np.array([[0, 1, 2], [3, 4, 0]]), "text_NT": np.array([[0, -1], [1, 2]])}
    result = compound.evaluate_among_all(
        make_sample(make_features([0, 40, 80, 30, 90]), make_features([10, 20, 40]), **indices)
    )["all"]
    assert result.columns["rank"].tolist() == [1, 1]
    assert result.chance["recall@1"] == 1 / 5
    wrong = compound.evaluate_among_all(
        make_sample(make_features([0, 40, 80, 30, 90]), make_features([18, 20, 40]), **indices)
    )["all"]
    # With a prompt at 18, the image at 30 (12 away) is nearer than the true image at 0 (18 away).
    assert wrong.columns["rank"].tolist() == [2, 1]


def test_images_of_the_same_compound_in_other_rows_are_no_candidates():
    # Rows 0 and 1 are two images (at 0 and 20) of the same compound with a prompt at 12. Row 2 is another compound with
    # an image at 50 and a prompt at 40. Constituents are at 80 and 90. Row 0: its image is 12 away; the image at 20 is
    # nearer, but shows the same compound, so 4 candidates remain and the rank is 1. Row 2: 10 away, 5 candidates, rank
    # 1.
    result = compound.evaluate_among_all(
        make_sample(
            make_features([0, 80, 90, 20, 50]),
            make_features([12, 40]),
            crop_NI=np.array([[0, 1, 2], [3, 1, 2], [4, 1, 2]]),
            text_NT=np.array([[0], [0], [1]]),
        )
    )["all"]
    assert result.columns["rank"].tolist() == [1, 1, 1]
    assert_close(result.chance["recall@1"], (1 / 4 + 1 / 4 + 1 / 5) / 3)


def test_classification_ranks():
    # Classes are at 0 and 90 (mean of two prompts each). Images are at 10 (class 0), 80 (class 1), 50 (class 0,
    # predicted 1) and 45 (class 1; both classes tie, so the prediction is wrong).
    result = classification.evaluate(
        make_sample(
            make_features([10, 80, 50, 45]),
            make_features([-10, 10, 80, 100]),
            crop_NI=np.arange(4)[:, None],
            class_CP=np.array([[0, 1], [2, 3]]),
            label_N=np.array([0, 1, 0, 1]),
        )
    )[""]
    assert result.columns["rank"].tolist() == [1, 1, 2, 2]
    assert result.columns["predicted"].tolist() == [0, 1, 1, 0]
    assert result.summarise() == {"top1": 0.5, "tie_rate": 0.25}
    assert result.chance == {"top1": 0.5, "tie_rate": 0.0}


def test_class_features_equal_those_of_open_clip():
    torch.manual_seed(0)
    model = open_clip.CLIP(
        embed_dim=8,
        vision_cfg={"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8},  # pyright: ignore
        text_cfg={"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},  # pyright: ignore
    ).eval()
    tokenizer = open_clip.SimpleTokenizer(context_length=16)
    classes = ["cat", "tree house"]
    expected_DC = open_clip.build_zero_shot_classifier(
        model, tokenizer, classes, open_clip.OPENAI_IMAGENET_TEMPLATES
    )
    with torch.no_grad():
        features = [
            model.encode_text(tokenizer(prompts), normalize=True).numpy()
            for prompts in classification.make_prompts(classes)
        ]
    assert_close(
        classification.make_classifier(np.stack(features)),
        expected_DC.T.numpy(),
        summed=count_terms(model),
    )


def test_exact_match():
    result = recovery.exact_match(
        ["a red ball", "a red ball ", "A red ball", ""], ["a red ball"] * 4
    )
    assert result.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ("image crop_id image_id caption hard_negatives categories", "choice"),
        ("image crop_id image_id caption complexity", "recall"),
        ("image crop_id image_id captions", "recall"),
        ("image_0 image_1 crop_id_0 crop_id_1 caption_0 caption_1 image_id", "group"),
        ("image image_n1 image_n2 crop_id crop_id_n1 crop_id_n2 prompts image_id", "compound"),
        ("image crop_id image_id label", "classification"),
        ("prompt categories", "recovery"),
    ],
)
def test_columns_determine_the_protocol(columns: str, name: str):
    assert protocols.find_protocol(columns.split()).name == name


def test_error_for_columns_without_a_protocol():
    with pytest.raises(
        ValueError,
        match=r"No protocol for rows with the columns sound, text\. Required columns: video_group:.*; video_choice:.*;",
    ):
        protocols.find_protocol(["sound", "text"])


# Two true captions and a wrong one. Both have to score higher than the wrong caption.
#   row 0: .9 and .8 > .5                     hit
#   row 1: .9 > .5, .4 < .5                   miss, the caption alone is a hit
#   row 2: .5 = .5, .9 > .5                   miss with a tie, the paraphrase alone is a hit
#   row 3: .1 and .2 < .3                     miss
PARAPHRASES = np.array([[0.9, 0.8, 0.5], [0.9, 0.4, 0.5], [0.5, 0.9, 0.5], [0.1, 0.2, 0.3]])[
    :, None
]


def test_both_true_captions_score_above_the_wrong_one():
    metrics = paraphrase.evaluate(PARAPHRASES)[""]
    assert metrics.columns["hit"].tolist() == [True, False, False, False]
    assert metrics.summarise() == {
        "accuracy": 0.25,
        "tie_rate": 0.25,
        "caption_accuracy": 0.5,
        "paraphrase_accuracy": 0.5,
        "brittleness": 0.25,  # row 1: .4 < .5 < .9
    }
    alone = {"caption_accuracy": 0.5, "paraphrase_accuracy": 0.5}
    assert metrics.chance == {"accuracy": 1 / 3, "tie_rate": 0, **alone, "brittleness": 1 / 3}
    # Two wrong captions: the true ones are the first two of four, 2! 2! / 4! = 1/6.
    assert_close(paraphrase.evaluate(np.zeros((3, 1, 4)))[""].chance["accuracy"], 1 / 6)
    assert paraphrase.evaluate(np.zeros((3, 1, 4)))[""].summarise()["accuracy"] == 0


def test_true_captions_are_more_similar_to_each_other_than_to_the_wrong_one():
    # Angles in degrees of caption, paraphrase and wrong caption.
    #   row 0: 0, 10, 90     10 apart; the wrong one is 90 and 80 away     hit
    #   row 1: 0, 40, 60     40 apart; the wrong one is 60 and 20 away     miss
    #   row 2: 0, 30, 60     30 apart; the wrong one is 60 and 30 away     miss with a tie
    angles = np.deg2rad([[0, 10, 90], [0, 40, 60], [0, 30, 60]])
    features = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 2)
    features[7:] = [[np.cos(np.pi / 6), 0.5], [0.5, np.cos(np.pi / 6)]]
    sample = Sample(
        np.zeros((3, 1), int),
        np.arange(9).reshape(3, 3),
        np.zeros(3, int),
        np.empty((0, 0), int),
        np.zeros(3, int),
        image=lambda index: features[index],
        text=lambda index: features[index],
    )
    metrics = paraphrase.evaluate_texts(sample)["text"]
    assert metrics.columns["hit"].tolist() == [True, False, False]
    assert metrics.columns["tie"].tolist() == [False, False, True]


# Four images (rows) and their captions (columns). The hits per image are
#   set 0: 1 1 1 1     set 1: 1 0 1 1 (.9 > .5)     set 2: 0 1 1 0 (a tie of .5 and .5, .4 < .6)
SETS = np.zeros((3, 4, 4))
SETS[:, range(4), range(4)] = 0.5
SETS[1, 1, 3], SETS[2, 0, 1], SETS[2, 3, 0], SETS[2, 3, 3] = 0.9, 0.5, 0.6, 0.4


def test_sets_of_images():
    directions = sets.evaluate(SETS)
    assert directions[""].columns["hit"].reshape(3, 4).tolist() == [
        [1, 1, 1, 1],
        [1, 0, 1, 1],
        [0, 1, 1, 0],
    ]
    assert directions["pair"].columns["hit"].reshape(3, 2).tolist() == [[1, 1], [0, 1], [0, 0]]
    assert directions["set"].columns["hit"].tolist() == [1, 0, 0]
    assert [metrics.summarise()["accuracy"] for metrics in directions.values()] == [
        9 / 12,
        3 / 6,
        1 / 3,
    ]
    assert [metrics.summarise()["tie_rate"] for metrics in directions.values()] == [
        1 / 12,
        1 / 6,
        1 / 3,
    ]
    assert [metrics.chance["accuracy"] for metrics in directions.values()] == [
        1 / 4,
        1 / 16,
        1 / 256,
    ]
    assert sets.evaluate(np.zeros((2, 4, 4)))[""].summarise()["accuracy"] == 0


def test_choice_among_images():
    # Three images and one caption. Row 0: .9 is highest. Row 1: .5 = .5. Row 2: .1 < .2.
    score_N31 = np.array([[0.9, 0.5, 0.1], [0.5, 0.5, 0.1], [0.1, 0.2, 0.0]])[..., None]
    metrics = image_choice.evaluate(score_N31)[""]
    assert metrics.columns["rank"].tolist() == [1, 2, 2]
    assert_close(metrics.summarise()["recall@1"], 1 / 3)
    assert_close(metrics.chance["recall@1"], 1 / 3)


@pytest.mark.parametrize("images", [2, 10])
def test_the_number_of_image_columns_is_the_number_of_images(images: int):
    protocol = protocols.find_protocol(image_choice_schema(images).names)
    assert (protocol.name, len(protocol.images)) == ("image_choice", images)


def test_the_score_of_a_video_is_that_of_the_mean_feature_of_its_frames():
    # Row 0: means .6 > .5, although the wrong caption is higher in two frames. Row 1: means .3 = .3. Row 2: .2 < .4.
    score_N32 = np.array(
        [
            [[1.4, 0.3], [0.2, 0.6], [0.2, 0.6]],
            [[0.3, 0.3]] * 3,
            [[0.1, 0.5], [0.2, 0.2], [0.3, 0.5]],
        ]
    )
    metrics = video_choice.evaluate(score_N32)[""]
    assert metrics.columns["rank"].tolist() == [1, 2, 2]
    assert (metrics.chance["recall@1"], metrics.chance["pairwise"]) == (1 / 2, 1 / 2)
    rng = np.random.default_rng(0)
    frame_NID, text_NKD = rng.normal(size=(50, 12, 8)), rng.normal(size=(50, 3, 8))
    frame_NID /= np.linalg.norm(frame_NID, axis=2, keepdims=True)
    mean_ND = frame_NID.mean(axis=1) / np.linalg.norm(frame_NID.mean(axis=1), axis=1, keepdims=True)
    expected = choice.evaluate(np.einsum("nd,nkd->nk", mean_ND, text_NKD)[:, None])[""]
    found = video_choice.evaluate(np.einsum("nid,nkd->nik", frame_NID, text_NKD))[""]
    assert found.columns["rank"].tolist() == expected.columns["rank"].tolist()


def test_rows_with_frames_and_negatives_are_videos():
    protocol = protocols.find_protocol(video_schema(12).names)
    assert (protocol.name, len(protocol.images)) == ("video_choice", 12)
    protocol = protocols.find_protocol(video_group_schema(12).names)
    assert (protocol.name, len(protocol.images)) == ("video_group", 24)


def test_the_score_of_a_video_of_a_pair_is_the_mean_of_its_frames():
    # GROUPS are the means of .1 more and .1 less.
    score_N42 = np.repeat(GROUPS, 2, axis=1) + np.array([0.1, -0.1, -0.1, 0.1])[:, None]
    directions = video_group.evaluate(score_N42)
    assert [directions[name].summarise()["score"] for name in ("text", "image", "group")] == [
        0.5,
        0.5,
        0.25,
    ]
    assert [directions[name].chance["score"] for name in ("text", "image", "group")] == [
        1 / 4,
        1 / 4,
        1 / 6,
    ]


def make_videos(frame_angles: list[list[int]], caption_angles: list[int]) -> Sample:
    """Return one pair of videos, with a frame and a caption at each angle."""
    angles = [angle for frames in frame_angles for angle in frames]
    image, text = make_feature_functions(angles, caption_angles)
    none = np.zeros(1, int)
    crop_NI, text_NT = np.arange(len(angles))[None], np.arange(len(caption_angles))[None]
    return Sample(crop_NI, text_NT, none, np.empty((0, 0), int), none, image, text)


@pytest.mark.parametrize(
    ("videos", "captions", "hits"),
    [
        # The means are at 0 and 40 degrees. Captions at 0 and 40: each is closest to its video. At 5 and 10: each video
        # is closer to its caption (5 < 10 and 30 < 35 degrees), and both captions are closer to video 0.
        ([[-60, 60], [20, 60]], [0, 40], [1, 1, 1]),
        ([[-60, 60], [20, 60]], [5, 10], [1, 0, 0]),
    ],
)
def test_the_feature_of_a_video_is_the_mean_of_its_frames_with_unit_length(
    videos: list[list[int]], captions: list[int], hits: list[int]
):
    """The mean of the first video has length 1/2: mean scores would be .5 and .5 cos 40 for it."""
    directions = video_group.evaluate_features(make_videos(videos, captions))
    assert [directions[name].summarise()["score"] for name in ("text", "image", "group")] == hits


def test_a_video_whose_frames_cancel_out_has_equal_scores():
    sample = make_videos([[0, 0], [20, 60]], [0, 40])
    opposite_ID = np.array([[1, 0], [-1, 0], [1, 0], [1, 0]], dtype=float)
    directions = video_group.evaluate_features(replace(sample, image=opposite_ID.__getitem__))
    assert (
        directions["text"].summarise()["score"],
        directions["text"].summarise()["tie_rate"],
    ) == (0, 1)


def test_accuracy_on_pairs_of_ten_rows_against_brute_force():
    """Two scores have the values 0, 1 and 2 only, so that many pairs are ties, which are wrong."""
    score_NK = np.random.default_rng(0).integers(0, 3, (10, 4)).astype(float)
    by_row = [sum(row[0] > wrong for wrong in row[1:]) / 3 for row in score_NK.tolist()]
    metrics = choice.evaluate(score_NK[:, None])[""]
    assert_close(metrics.values["pairwise"].tolist(), by_row)
    assert_close(metrics.summarise()["pairwise"], sum(by_row) / 10)
    assert metrics.chance["pairwise"] == 0.5
    assert_close(
        image_choice.evaluate(score_NK[:, :, None])[""].values["pairwise"].tolist(), by_row
    )
    two = choice.evaluate(score_NK[:, None, :2])[""]  # with one wrong candidate, it is Recall@1
    assert two.values["pairwise"].tolist() == two.values["recall@1"].tolist()
    described = {"metrics": two.summarise(), "chance": two.chance}
    assert not ranking.has_pairs(described)
    assert ranking.has_pairs({"metrics": metrics.summarise(), "chance": metrics.chance})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(2, 6)), min_size=2, max_size=40))
def test_agreement_with_ratings_is_scipys(pairs: list[tuple[int, int]]):
    score_N, rating_N = np.array(pairs).T
    metrics = agreement.evaluate(score_N[:, None, None] / 8, rating_N)[""]
    summary = metrics.summarise()
    is_constant = np.ptp(score_N) == 0 or np.ptp(rating_N) == 0
    for name, function in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        expected = 0.0 if is_constant else function(score_N, rating_N).statistic
        assert_close(summary[name], expected, summed=40, size=1)
    assert metrics.columns["hit"].dtype == bool


def test_agreement_counts_ratings_above_the_median_as_true():
    # Ratings 2, 4, 6, 8, median 5: rows 2 and 3 are true. Row 2 has the lowest score: one true row is found, and
    # of the four pairs of a true and a false row, those of row 3 are ordered rightly.
    metrics = agreement.evaluate(
        np.array([0.5, 0.6, 0.1, 0.9])[:, None, None], np.array([2, 4, 6, 8])
    )[""]
    assert [metrics.summarise()[name] for name in ("accuracy", "auc")] == [0.5, 0.5]
    assert metrics.unbounded >= {"spearman", "kendall"}


def test_agreement_of_a_category_has_no_correlation():
    """It is a mean over pairs of all rows, which no category has."""
    score_N, rating_N = np.array([0.1, 0.2, 0.8, 0.9]), np.array([2, 3, 8, 9])
    metrics = agreement.evaluate(score_N[:, None, None], rating_N)
    column = [[{"by": "model", "name": name}] for name in "aabb"]
    tables, _ = compute_category_metrics(
        metrics, pa.table({"categories": column}), np.arange(4).astype(str)
    )
    assert "accuracy" in tables["model"]["a"]
    assert not {"spearman", "kendall"} & tables["model"]["a"].keys()


def test_agreement_if_most_ratings_are_the_highest():
    """The highest rating is true then, so that a constant scorer is not right everywhere."""
    metrics = agreement.evaluate(np.full((10, 1, 1), 0.5), np.array([15] * 6 + [3, 4, 5, 6]))[""]
    assert metrics.chance["accuracy"] < 1
    assert metrics.summarise()["accuracy"] < 1
