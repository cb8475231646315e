import math

import numpy as np

from evaluators.models.ancestors import attend, prepare


def read(part_P3HD: list, depths: list[int]) -> list:
    """What the positions read (P, H, D)."""
    part = np.array(part_P3HD, dtype=np.float32)
    found = np.full((len(part), *part.shape[2:]), np.nan, dtype=np.float32)
    attend(part, np.array(depths), found)
    return found.tolist()


def test_by_hand():
    # A root, two children of it and another root; one head of one number. Scores are query times key.
    log3 = math.log(3)
    found = read(
        [
            [[[1]], [[0]], [[8]]],  # itself alone
            [[[1]], [[log3]], [[4]]],  # weights 1 and 3 of its parent and itself: (8 + 3 * 4) / 4
            [[[2]], [[0]], [[0]]],  # 1 and 1, its sibling out of sight: (8 + 0) / 2
            [[[5]], [[7]], [[9]]],
        ],
        [0, 1, 1, 0],
    )
    np.testing.assert_allclose(found, [[[8]], [[5]], [[4]], [[9]]], rtol=1e-6)


def test_heads_by_hand():
    # The second position: scores over the root of two are 0 and 0 in the first head, 0 and log 3 in the second.
    found = read(
        [
            [[[0, 0], [0, 0]], [[5, 5], [0, 0]], [[1, 2], [3, 4]]],
            [[[0, 0], [1, 1]], [[7, 7], [math.sqrt(2) * math.log(3), 0]], [[3, 6], [7, 8]]],
        ],
        [0, 1],
    )
    np.testing.assert_allclose(found, [[[1, 2], [3, 4]], [[2, 4], [6, 7]]], rtol=1e-6)


def test_scores_beyond_what_exponentials_hold():
    assert read([[[[1]], [[1000]], [[3]]], [[[1]], [[-1000]], [[5]]]], [0, 1]) == [[[3]], [[3]]]
    assert read([[[[-1]], [[1000]], [[3]]], [[[-1]], [[-1000]], [[5]]]], [0, 1]) == [[[3]], [[5]]]


def test_what_is_no_number_spoils_those_that_see_it_alone():
    found = read([[[[1]], [[1]], [[math.nan]]], [[[1]], [[1]], [[5]]], [[[1]], [[math.nan]], [[7]]]], [0, 0, 1])
    assert np.isnan(found).ravel().tolist() == [True, False, True]


def test_what_was_prepared_is_what_is_called():
    prepare()
    read([[[[1]], [[1]], [[1]]]], [0])
    assert len(attend.signatures) == 1
