"""The protocols against values worked out by hand."""

from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evaluators import protocols
from evaluators.protocols import choice, classification, compound, group, ranking, recall, recovery
from evaluators.protocols.base import Sample
from evaluators.protocols.recall import Side

# Four rows, four captions, the truth in column 0.
#   row 0: .9 beats all                       rank 1
#   row 1: .5 < .8, .5 < .6, .5 > .1          rank 3
#   row 2: .4 = .4 = .4, .3 below             rank 3, a tie with a wrong caption is a loss
#   row 3: .1 below all                       rank 4
SCORES = np.array([[0.9, 0.1, 0.2, 0.3], [0.5, 0.8, 0.1, 0.6], [0.4, 0.4, 0.4, 0.3], [0.1, 0.2, 0.3, 0.4]])


def test_choice_ranks_by_hand():
    found = choice.choice(SCORES)
    assert found.rank_N.tolist() == [1, 3, 3, 4]
    assert found.tie_N.tolist() == [False, False, True, False]


def test_summary_by_hand():
    # R@1 = 1/4, R@3 = 3/4, so Avg R@K = 1/2; ranks 1 3 3 4: mean 11/4, median 3; no R@5 of a set of 4.
    assert ranking.to_metrics(choice.choice(SCORES)).summary() == {
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
    assert [name for name in ranking.chance(size - 1) if name.startswith("recall")] == names


def test_chance_is_that_of_the_papers_tables():
    # Tables 9 to 11, row "Random": 9.09 / 27.27 / 18.18, 20 / 60 / 40 and 14.29 / 42.86 / 28.57 percent.
    for size, expected in ((11, (9.09, 27.27, 18.18)), (5, (20.0, 60.0, 40.0)), (7, (14.29, 42.86, 28.57))):
        chance = ranking.chance(size - 1)
        found = tuple(round(100 * chance[name], 2) for name in ("recall@1", "recall@3", "avg_recall"))
        assert found == expected


def test_a_constant_encoder_never_wins():
    assert ranking.to_metrics(choice.choice(np.ones((6, 5)))).summary()["recall@1"] == 0.0


def test_scores_that_are_no_numbers_are_an_error():
    scores = SCORES.copy()
    scores[2, 1] = np.nan
    with pytest.raises(ValueError, match="Row 2 has a score that is not a finite number"):
        choice.choice(scores)


def test_no_rows_is_an_error():
    with pytest.raises(ValueError, match="No rows to evaluate"):
        ranking.to_metrics(choice.choice(np.ones((0, 5)))).summary()


def plain(angles: Any) -> np.ndarray:
    """Points on the unit circle at angles in degrees; their score is the cosine of the difference."""
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def sides(image_angles: list[int], text_angles: list[int]) -> tuple[recall.Features, recall.Features]:
    return plain(image_angles).__getitem__, plain(text_angles).__getitem__


def pairs(query_ND: np.ndarray, item_ND: np.ndarray, query_id_N: np.ndarray, item_id_N: np.ndarray) -> ranking.Ranks:
    """Query i belongs to item i alone."""
    queries = Side(query_ND.__getitem__, query_id_N, item_id_N[:, None])
    items = Side(item_ND.__getitem__, item_id_N, query_id_N[:, None])
    return recall.retrieve(queries, items, np.arange(len(query_ND))[:, None])


def test_retrieve_by_hand():
    #   query 0 at 0:  items at 10, 40, 90, 0   truth 10, only 0 is nearer    rank 2
    #   query 1 at 40: truth 40                                              rank 1
    #   query 2 at 80: truth 90 (10 off), 40 is 40 off                       rank 1
    #   query 3 at 30: truth 0 (30 off); 40 (10 off), 10 (20 off)            rank 3
    queries, items = plain([0, 40, 80, 30]), plain([10, 40, 90, 0])
    apart = np.arange(4)
    found = pairs(queries, items, apart, apart)
    assert found.rank_N.tolist() == [2, 1, 1, 3]
    assert found.wrong_N.tolist() == [3, 3, 3, 3]
    # If query 3 and query 1 are the same crop, caption 1 is true for query 3 as well: it no longer counts against it.
    found = pairs(queries, items, np.array([0, 1, 2, 1]), apart)
    assert found.rank_N.tolist() == [2, 1, 1, 2]
    assert found.wrong_N.tolist() == [3, 2, 3, 2]


def test_equal_features_tie_in_every_column_of_a_large_fold():
    # 4,099 items are four blocks and a ragged fifth; all are equal, so all 4,098 wrong ones tie with the truth.
    rows = 4099
    feature = np.random.default_rng(0).normal(size=33)
    same = np.tile((feature / np.linalg.norm(feature)).astype(np.float32), (rows, 1))
    found = pairs(same, same, np.arange(rows), np.arange(rows))
    assert found.tie_N.all()
    assert (found.rank_N == rows).all()


def test_several_true_captions_by_hand():
    # Images at 0 and 90. Image 0 has captions at 50 and 10, image 1 has one at 60.
    #   i2t, image 0: best truth 10 off; wrong: 60 off                       rank 1
    #   i2t, image 1: truth 30 off; wrong: 40 and 80 off                     rank 1
    #   t2i, caption at 50: truth 50 off, image 1 is 40 off                  rank 2
    #   t2i, captions at 10 and 60: their own image is nearer                rank 1
    directions = recall.both_directions(np.array([0, 1]), np.array([[0, 1], [2, -1]]), *sides([0, 90], [50, 10, 60]))
    assert directions["i2t"].rank_N.tolist() == [1, 1]
    assert directions["i2t"].wrong_N.tolist() == [1, 2]
    assert directions["t2i"].rank_N.tolist() == [2, 1, 1]


def test_a_tie_of_true_captions_is_none_and_a_shared_caption_is_true_for_both():
    # Both captions of image 0 are alike; the second is word for word the one of image 1.
    directions = recall.both_directions(np.array([0, 1]), np.array([[0, 1], [1, -1]]), *sides([0, 90], [20, 20, 20]))
    assert directions["i2t"].rank_N.tolist() == [1, 2]  # image 1: caption 0 is wrong for it and ties with its own
    assert directions["i2t"].tie_N.tolist() == [False, True]
    assert directions["t2i"].rank_N.tolist() == [1, 1, 1]
    assert directions["t2i"].wrong_N.tolist() == [1, 0, 0]


def test_chance_with_several_truths_by_hand():
    # 2 truths, 3 wrong: first of five true 2/5; none true in three 3/5 * 2/4 * 1/3 = 1/10; mean best rank 1 + 3/3.
    assert ranking.chance(3, 2) == pytest.approx(
        {"recall@1": 0.4, "recall@3": 0.9, "avg_recall": 0.65, "mean_rank": 2.0, "tie_rate": 0.0}
    )


def test_a_shuffled_truth_scores_chance():
    generator = np.random.default_rng(0)
    found = ranking.to_metrics(choice.choice(generator.random((20_000, 7)))).summary()
    # The standard error of a share of 20,000 rows is at most 0.0036, of the mean rank (deviation 2) 0.014.
    for name, expected in ranking.chance(6).items():
        assert found[name] == pytest.approx(expected, abs=0.015 if "recall" in name else 0.06)


def test_folds_are_those_of_appendix_b2():
    # 9 rows, folds of 4: K = floor(9 / 4) = 2 folds of 4 different rows; 100 rows, folds of 2: K = min(20, 50).
    folds = list(recall.folds(9, 4, seed=0))
    assert [len(fold) for fold in folds] == [4, 4]
    assert len(np.unique(np.concatenate(folds))) == 8
    # Together the first eight of the permutation, four by four.
    order = np.random.default_rng(0).permutation(9)
    assert [fold.tolist() for fold in folds] == [sorted(order[:4].tolist()), sorted(order[4:8].tolist())]
    assert len(list(recall.folds(100, 2, seed=0))) == 20
    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in recall.folds(9, 4, seed=0)]


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8))
def test_rank_is_one_plus_the_wrong_captions_that_are_not_worse(rows: list[list[int]]):
    found = choice.choice(np.array(rows, dtype=float))
    assert found.rank_N.tolist() == [1 + sum(other >= truth for other in others) for truth, *others in rows]
    assert found.tie_N.tolist() == [truth in others for truth, *others in rows]


#   image 0: .9 .1 / image 1: .2 .8    all right
#   image 0: .6 .5 / image 1: .7 .8    captions chosen rightly; caption 0 takes image 1
#   image 0: .6 .7 / image 1: .5 .8    image 0 takes caption 1; images chosen rightly
#   image 0: .5 .5 / image 1: .5 .8    image 0 and caption 0 tie: both are losses
GROUPS = np.array(
    [[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.5], [0.7, 0.8]], [[0.6, 0.7], [0.5, 0.8]], [[0.5, 0.5], [0.5, 0.8]]]
)


def test_group_by_hand():
    found = group.group(GROUPS)
    assert found["text"].tolist() == [True, True, False, False]
    assert found["image"].tolist() == [True, False, True, False]
    assert found["group"].tolist() == [True, False, False, False]
    directions = group.evaluate(GROUPS)
    assert [directions[name].summary()["score"] for name in ("text", "image", "group")] == [0.5, 0.5, 0.25]
    assert directions["group"].summary()["tie_rate"] == 0.25


def test_chance_of_a_group_is_winogrounds():
    assert group.chance() == pytest.approx({"text": 1 / 4, "image": 1 / 4, "group": 1 / 6})


def test_a_group_score_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match="not a finite number"):
        group.group(np.full((1, 2, 2), np.nan))


# Three images (the compound first), two prompts.
#   means .5, .4, .3: right, margin .1     means .2, .3, .1: wrong, margin -.1     one prompt, .4 = .4: a tie, wrong
COMPOUNDS = np.array(
    [
        [[0.9, 0.1], [0.2, 0.6], [0.3, 0.3]],
        [[0.1, 0.3], [0.3, 0.3], [0.1, 0.1]],
        [[0.4, np.nan], [0.4, np.nan], [0.1, np.nan]],
    ]
)


def test_equations_1_and_2_of_compun_by_hand():
    # With the first prompt alone (equation 1): .9 beats .2 and .3; .1 loses; .4 ties.
    assert compound.compound(COMPOUNDS[:, :, :1]).rank_N.tolist() == [1, 3, 2]
    assert compound.compound(COMPOUNDS).rank_N.tolist() == [1, 2, 2]
    found = compound.evaluate(COMPOUNDS)[""]
    assert found.summary()["recall@1"] == pytest.approx(1 / 3)
    assert found.values["margin"] == pytest.approx([0.1, -0.1, 0.0])
    assert found.values["similarity"] == pytest.approx([0.5, 0.2, 0.4])
    assert found.chance["recall@1"] == pytest.approx(1 / 3)
    # Only the first is correct.
    assert found.summary()["similarity_of_correct"] == pytest.approx(0.5)
    assert found.summary()["margin_of_correct"] == pytest.approx(0.1)
    assert "similarity_of_correct" not in found.summary(np.array([1, 2]))


def test_a_compound_without_a_prompt_is_an_error():
    with pytest.raises(ValueError, match="A row has no prompt"):
        compound.compound(np.full((1, 3, 2), np.nan))


def sample(image_ND: np.ndarray, text_TD: np.ndarray, **arrays: Any) -> Sample:
    empty = np.empty(0, dtype=np.int32)
    given = {"text_NT": empty, "fold_N": empty, "class_CP": empty, "label_N": empty} | arrays
    return Sample(image=lambda place: image_ND[place], text=lambda place: text_TD[place], **given)


def test_compounds_among_all_images_by_hand():
    # Two compounds with images at 0, 40, 80 and 30, 90, 0 (the first's crop). Prompts at 10, and at 20 and 40.
    # The first: 10 off; 30 is 20 off, so right. The second: mean direction 30, right on its image.
    places = {"crop_NI": np.array([[0, 1, 2], [3, 4, 0]]), "text_NT": np.array([[0, -1], [1, 2]])}
    found = compound.among_all(sample(plain([0, 40, 80, 30, 90]), plain([10, 20, 40]), **places))["all"]
    assert found.columns["rank"].tolist() == [1, 1]
    assert found.chance["recall@1"] == 1 / 5
    wrong = compound.among_all(sample(plain([0, 40, 80, 30, 90]), plain([18, 20, 40]), **places))["all"]
    # A prompt at 18: the image at 30 is 12 off, the own one at 0 is 18 off, that at 40 is 22 off.
    assert wrong.columns["rank"].tolist() == [2, 1]


def test_other_renderings_of_a_compound_are_neither_right_nor_wrong():
    # Two renderings of one compound, at 0 and 20, and another compound at 50; constituents at 80 and 90.
    # The prompts are at 12, 12 and 40. Row 0: its image is 12 off, the other rendering at 20 is nearer but counts for
    # neither side, so it is first among its own and three wrong ones. Row 2: 10 off, first among its own and four.
    found = compound.among_all(
        sample(
            plain([0, 80, 90, 20, 50]),
            plain([12, 40]),
            crop_NI=np.array([[0, 1, 2], [3, 1, 2], [4, 1, 2]]),
            text_NT=np.array([[0], [0], [1]]),
        )
    )["all"]
    assert found.columns["rank"].tolist() == [1, 1, 1]
    assert found.chance["recall@1"] == pytest.approx((1 / 4 + 1 / 4 + 1 / 5) / 3)


def test_classification_by_hand():
    # Classes at 0 and 90 (two prompts each, 10 to either side), images at 10 (class 0), 80 (class 1),
    # 50 (class 0: wrong), 45 (class 1: both equally far, a loss).
    found = classification.evaluate(
        sample(
            plain([10, 80, 50, 45]),
            plain([-10, 10, 80, 100]),
            crop_NI=np.arange(4)[:, None],
            class_CP=np.array([[0, 1], [2, 3]]),
            label_N=np.array([0, 1, 0, 1]),
        )
    )[""]
    assert found.columns["rank"].tolist() == [1, 1, 2, 2]
    assert found.columns["predicted"].tolist() == [0, 1, 1, 0]
    assert found.summary() == {"top1": 0.5, "tie_rate": 0.25}
    assert found.chance == {"top1": 0.5, "tie_rate": 0.0}


def test_the_classifier_is_that_of_open_clip():
    torch.manual_seed(0)
    model = open_clip.CLIP(
        embed_dim=8,
        vision_cfg={"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8},  # pyright: ignore
        text_cfg={"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},  # pyright: ignore
    ).eval()
    tokenizer = open_clip.SimpleTokenizer(context_length=16)
    classes = ["cat", "tree house"]
    theirs = open_clip.build_zero_shot_classifier(model, tokenizer, classes, open_clip.OPENAI_IMAGENET_TEMPLATES)
    with torch.no_grad():
        features = [
            model.encode_text(tokenizer(prompts), normalize=True).numpy() for prompts in classification.prompts(classes)
        ]
    np.testing.assert_allclose(classification.classifier(np.stack(features)), theirs.T.numpy(), atol=1e-6)


def test_exact_match_by_hand():
    found = recovery.exact_match(["a red ball", "a red ball ", "A red ball", ""], ["a red ball"] * 4)
    assert found.tolist() == [True, True, False, False]


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
def test_columns_say_the_protocol(columns: str, name: str):
    assert protocols.find(columns.split()).name == name


def test_columns_of_no_protocol_are_an_error():
    with pytest.raises(
        ValueError, match=r"No protocol for rows with the columns sound, text\. Columns needed for compound:"
    ):
        protocols.find(["sound", "text"])
