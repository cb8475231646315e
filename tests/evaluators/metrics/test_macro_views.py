"""Tests of the macro means of the ARO paper."""

import numpy as np
import pyarrow as pa

from compeval.evaluators.metrics import categories
from compeval.evaluators.metrics.macro_views import (
    RELATIONS,
    select_frequent,
    select_table_2_relations,
)
from compeval.evaluators.protocols.base import QueryMetrics
from tests.close import assert_close

TABLE_2 = tuple(RELATIONS)


def compute_macro_means(names: list[str], hits: list[int], by: str) -> dict[str, float]:
    """Return the macro means of rows with one category each and different images."""
    column = pa.array([[{"by": by, "name": name}] for name in names])
    metrics = QueryMetrics("recall@1", {}, {"recall@1": np.array(hits, dtype=float)}, {})
    _, macro = categories.compute_category_metrics(
        {"": metrics}, pa.table({"categories": column}), np.arange(len(names)).astype(str)
    )
    return {key: mean for key, (mean, _) in macro.items()}


def test_categories_of_the_paper() -> None:
    assert len(TABLE_2) == 45
    assert select_table_2_relations(dict.fromkeys(TABLE_2, 1)) == list(TABLE_2)
    assert select_table_2_relations(dict.fromkeys(TABLE_2[1:], 1)) == []
    assert select_frequent("attribute pair", {"red, blue": 25, "blue, red": 24}) == ["red, blue"]
    # "near" is symmetric; "standing by" is too, but the paper counts it.
    rows = {"on": 10, "in": 9, "near": 50, "standing by": 10}
    assert select_frequent("relation", rows) == ["on", "standing by"]
    assert select_frequent("relation", RELATIONS) == list(RELATIONS)


def test_macro_mean_of_the_paper_is_unweighted_and_over_its_45_relations() -> None:
    # "above" has two rows, one of which is right. The other 44 relations have one row each, which is right. "with" is
    # not in Table 2 and has ten wrong rows. Mean over Table 2: (44 + 1/2) / 45; mean over all 46: (44 + 1/2) / 46.
    names = [*TABLE_2, "above", *["with"] * 10]
    hits = [*[1] * 45, 0, *[0] * 10]
    macro = compute_macro_means(names, hits, "relation")
    assert_close(macro["recall@1_macro_relation_table_2"], 44.5 / 45)
    assert_close(macro["recall@1_macro_relation"], 44.5 / 46)


def test_pairs_with_few_rows_are_excluded() -> None:
    # "red, blue" has 25 rows, of which five are right. "blue, red" is a different pair with 24 rows, all right.
    macro = compute_macro_means(
        ["red, blue"] * 25 + ["blue, red"] * 24, [1] * 5 + [0] * 20 + [1] * 24, "attribute pair"
    )
    assert_close(macro["recall@1_macro_attribute_pair_from_25_rows"], 1 / 5)
    assert_close(macro["recall@1_macro_attribute_pair"], (1 / 5 + 1) / 2)


def test_no_macro_mean_of_the_paper_if_relations_are_missing() -> None:
    assert compute_macro_means(["above", "on"], [1, 0], "relation").keys() == {
        "recall@1_macro_relation"
    }


def test_a_relation_with_one_row_does_not_count_like_one_with_a_thousand() -> None:
    # "on" has ten rows, of which four are right; "above" has one row, which is right.
    macro = compute_macro_means([*["on"] * 10, "above"], [*[1] * 4, *[0] * 6, 1], "relation")
    assert_close(macro["recall@1_macro_relation_from_10_rows"], 0.4)
    assert_close(macro["recall@1_macro_relation"], 0.7)
