"""Macro means as the ARO paper prints them."""

import numpy as np
import pyarrow as pa
import pytest

from evaluators.metrics import categories
from evaluators.metrics.macro_views import RELATIONS, frequent_pairs, relations_of_table_2
from evaluators.protocols.base import QueryMetrics

TABLE_2 = tuple(RELATIONS)


def of_rows(names: list[str], hits: list[int], by: str) -> dict[str, float]:
    """The macro means of rows with a category each, all of different images."""
    column = pa.array([[{"by": by, "name": name}] for name in names])
    metrics = QueryMetrics("recall@1", {}, {"recall@1": np.array(hits, dtype=float)}, {})
    _, macro = categories.of_table({"": metrics}, pa.table({"categories": column}), np.arange(len(names)).astype(str))
    return {key: mean for key, (mean, _) in macro.items()}


def test_the_papers_relations() -> None:
    assert len(TABLE_2) == 45
    assert relations_of_table_2(dict.fromkeys(TABLE_2, 1)) == list(TABLE_2)
    assert relations_of_table_2(dict.fromkeys(TABLE_2[1:], 1)) == []
    assert frequent_pairs({"red, blue": 25, "blue, red": 24}) == ["red, blue"]


def test_the_mean_is_over_the_papers_relations_alone_and_unweighted() -> None:
    # Of "above" two rows, one of them right; of all other 44 relations one row, right; of "with", which Table 2 lacks,
    # ten rows, all wrong. The paper's: (44 + 1/2) / 45. Over all 46: (44 + 1/2) / 46.
    names = [*TABLE_2, "above", *["with"] * 10]
    hits = [*[1] * 45, 0, *[0] * 10]
    found = of_rows(names, hits, "relation")
    assert found["recall@1_macro_relation_table_2"] == pytest.approx(44.5 / 45)
    assert found["recall@1_macro_relation"] == pytest.approx(44.5 / 46)


def test_pairs_with_few_rows_do_not_count() -> None:
    # "red, blue": 25 rows, five right; "blue, red" is another pair, of 24 rows, all right.
    found = of_rows(["red, blue"] * 25 + ["blue, red"] * 24, [1] * 5 + [0] * 20 + [1] * 24, "attribute pair")
    assert found["recall@1_macro_attribute_pair_from_25_rows"] == pytest.approx(1 / 5)
    assert found["recall@1_macro_attribute_pair"] == pytest.approx((1 / 5 + 1) / 2)


def test_a_mean_over_fewer_relations_is_not_shown() -> None:
    assert of_rows(["above", "on"], [1, 0], "relation").keys() == {"recall@1_macro_relation"}
