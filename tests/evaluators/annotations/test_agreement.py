import numpy as np
import pytest

from compeval.evaluators.annotations.agreement import (
    PUBLISHED,
    compute_alpha,
    compute_pairwise_agreement,
    make_report,
)
from compeval.evaluators.annotations.items import CAPTION, Item, get_type
from tests.close import assert_close

NAN = np.nan


def make_item(
    number: int, kind: str = "prod_hnatom", complexity: int = 4, image: str | None = None
) -> Item:
    return Item(f"i{number}", "c", "s", number, "", image or str(number), kind, complexity, "")


def test_accuracy_and_agreement_of_two_annotators_with_known_errors():
    """Ten negatives. Anna is wrong on one, Ben on two others: accuracies 0.9 and 0.8, mean 0.85, deviation 0.05.

    They agree on the 7 items on which both are right: 0.7.
    """
    items = [make_item(n) for n in range(10)]
    anna = {f"i{n}": "true" if n == 0 else "false" for n in range(10)}
    ben = {f"i{n}": "cannot tell" if n in (1, 2) else "false" for n in range(10)}
    overall, by_number = make_report(items, {"anna": anna, "ben": ben})
    assert (overall.type, overall.complexity, by_number.complexity) == ("prod_hnatom", None, 4)
    assert (overall.items, overall.annotators) == (10, 2)
    assert_close(overall.accuracy, 0.85)
    assert_close(overall.deviation, 0.05)
    assert_close(overall.agreement, 0.7)
    # Coincidence matrix: 7 pairs false-false count 14; each of the 3 other pairs counts once per order. n = 20, n_false
    # = 17, n_true = 1, n_cannot_tell = 2. Observed disagreement 6/20; expected (20^2 - 17^2 - 1 - 4) / (20 * 19) =
    # 106/380.
    assert_close(overall.alpha, 1 - (6 / 20) / (106 / 380))
    low, high = overall.interval
    assert 0.5 < low < 0.85 < high <= 1.0


def test_the_types_of_a_dataset_have_a_line_together_with_the_published_one():
    """One of three HN-Atoms and one of two HN-Swaps is true: 3 of 5 are genuine. CREPE, section 4.3: 83.7 %."""
    items = [make_item(n, "prod_hnatom" if n < 3 else "prod_hnswap") for n in range(5)]
    *_, pooled = make_report(
        items, {"anna": {f"i{n}": "true" if n in (0, 4) else "false" for n in range(5)}}
    )
    assert (pooled.type, pooled.complexity, pooled.items, pooled.accuracy) == (
        "productivity",
        None,
        5,
        0.6,
    )
    assert PUBLISHED["productivity", None] == (83.7, None, 84.3)


def test_systematicity_has_a_line_together():
    """The types of items are configs without the corpus (items.get_type)."""
    kinds = ("sc_hnatom", "uc_hnatom", "sc_hncomp", "uc_hncomp")
    items = [make_item(n, get_type(f"laion_{kind}")) for n, kind in enumerate(kinds)]
    *_, pooled = make_report(items, {"anna": {f"i{n}": "false" for n in range(4)}})
    assert (pooled.type, pooled.items, pooled.accuracy) == ("systematicity", 4, 1.0)
    assert PUBLISHED["systematicity", None] == (86.0, None, 83.7)


def test_interval_of_annotators_with_very_different_numbers_of_items_contains_their_mean():
    # Anna is right on 190 of 200 items. Ben answers 20 of them and is right on 9. Their mean accuracy is
    # (0.95 + 0.45) / 2 = 0.7, though 199 of 220 answers are right.
    items = [make_item(n) for n in range(200)]
    anna = {f"i{n}": "true" if n < 10 else "false" for n in range(200)}
    ben = {f"i{n}": "true" if n < 111 else "false" for n in range(100, 120)}
    overall, _ = make_report(items, {"anna": anna, "ben": ben})
    assert_close(overall.accuracy, 0.7)
    low, high = overall.interval
    # The standard error is about half of Ben's, sqrt(0.45 * 0.55 / 20) / 2 = 0.056.
    assert 0.55 < low < 0.63
    assert 0.77 < high < 0.85


def test_lines_are_per_type_and_complexity():
    items = [make_item(0, CAPTION, 7), make_item(1, CAPTION, 8), make_item(2, "sc_hnatom", 2)]
    answers = {"anna": {"i0": "true", "i1": "false", "i2": "false"}}
    lines = {(line.type, line.complexity): line for line in make_report(items, answers)}
    accuracies = {key: (line.items, line.accuracy) for key, line in lines.items()}
    assert accuracies == {
        ("caption", None): (2, 0.5),
        ("caption", 7): (1, 1.0),
        ("caption", 8): (1, 0.0),
        ("sc_hnatom", None): (1, 1.0),
        ("sc_hnatom", 2): (1, 1.0),
    }
    assert lines["caption", None].agreement is None
    assert lines["caption", None].alpha is None


def test_agreement_uses_items_that_both_annotators_answered():
    # Pairs: (0, 1) agree on 1 of 2; (0, 2) on 1 of 1; (1, 2) have no item in common.
    answer_AI = np.array([[0, 0, 1, NAN], [0, 1, NAN, NAN], [NAN, NAN, 1, NAN]], dtype=float)
    assert_close(compute_pairwise_agreement(answer_AI), 0.75)
    assert compute_pairwise_agreement(answer_AI[:1]) is None


def test_alpha_of_krippendorffs_example():
    """Krippendorff 2011, Computing Krippendorff's alpha-reliability, section C: four observers, missing values."""
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3]
    c = [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN]
    assert_close(compute_alpha(np.array([a, b, c, d])), 0.743, within=5e-4)


def test_alpha_is_none_without_different_answers():
    assert compute_alpha(np.array([[0.0, 0.0], [0.0, 0.0]])) is None
    assert compute_alpha(np.array([[0.0, 1.0]])) is None


def test_error_for_a_sample_without_answers():
    with pytest.raises(
        ValueError, match=r"No item of the sample has an answer\. .*`compeval annotate import`"
    ):
        make_report([make_item(0)], {})
