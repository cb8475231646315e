"""Scores of recovery probes, worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from evaluators.probes.analysis import Recovered, conditions, correlation
from evaluators.protocols import recovery
from evaluators.report import probe_tables


def rows(*found: tuple[str, str, str]) -> pd.DataFrame:
    """Of cell, prompt and what was recovered."""
    cells, prompts, texts = map(list, zip(*found, strict=True))
    hit_N = recovery.exact_match(texts, prompts)
    bleu_N = recovery.bleu4(texts, prompts)
    return pd.DataFrame({"cell": cells, "prompt": prompts, "recovered": texts, "hit": hit_N, "bleu4": bleu_N})


FOUND = Recovered(
    "m",
    rows(
        ("obj1", "a cat", "a cat"),
        ("obj1", "a dog", "a dog in a hand"),
        ("obj1_spatial", "a cat on the left", "a cat on the left"),
        ("obj2_adj_first", "a red cat and a dog", "a red cat and a dog"),
        ("obj2_adj_second", "a cat and a red dog", "a red cat and a dog"),
        ("obj2_adj_second", "an ox and a red dog", "an ox and a red cat"),
        ("obj2", "a cat and a dog", "a dog and a cat"),
        ("obj2_spatial", "a cat above a dog", "a cat above a dog"),
        ("obj2_spatial", "a cat to the left of a dog", "a dog to the left of a cat"),
        ("multiples_obj1", "two cats", "a cat"),
    ),
)


def test_bleu_of_the_papers_example():
    # Section 3 scores it 48. Of "a reporter on top of a penguin", 6 of 7 words are in "a penguin on top of a hill",
    # 4 of 6 pairs (on top, top of, of a, a penguin), 2 of 5 triples (on top of, top of a), 1 of 4 quadruples; as many
    # words, so no penalty: (6/7 * 4/6 * 2/5 * 1/4) ** (1/4) = 0.48892.
    found = recovery.bleu4(["a reporter on top of a penguin"], ["a penguin on top of a hill"])
    assert found[0] == pytest.approx((6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25)
    assert found[0] == pytest.approx(0.489, abs=5e-4)


def test_bleu_of_prompts_of_two_words():
    # No quadruples, not even triples, but right; then one word of two and no pair, which sacrebleu smooths to half
    # a pair of one: (1/2 * 1/2) ** (1/2) = 1/2.
    assert recovery.bleu4(["a cat", "a dog"], ["a cat", "a cat"]) == pytest.approx([1, 0.5])


def test_shuffled_by_hand():
    # Right words: the first, in their order, the second and third, not in theirs. The fourth has another word, the
    # fifth one too many.
    prompts = ["a red cat and a dog"] * 5
    found = ["a red cat and a dog", "a cat and a red dog", "a dog and a red cat", "a red cat and a pig"]
    assert recovery.shuffled([*found, "a red cat and a a dog"], prompts) == pytest.approx(2 / 3)
    assert np.isnan(recovery.shuffled(["a pig"], ["a cat"]))


def test_means_over_cells_and_over_prompts():
    # Cells of Table 2: obj1 1/2, obj1_spatial 1, obj2_adj (both halves) 1/3, obj2 0, obj2_spatial 1/2: 7/3 of 5.
    # Prompts: 5 of 9. Multiples are Table 3's.
    assert FOUND.by_cell()["obj2_adj"] == pytest.approx(1 / 3)
    assert FOUND.cell_mean() == pytest.approx(7 / 15)
    assert FOUND.prompt_mean() == pytest.approx(4 / 9)


def test_shuffled_looks_where_attributes_belong_to_one_of_two_nouns():
    # Of obj2_adj and obj2_spatial five prompts, in four the words are right, in two of these the order is not.
    # "a dog and a cat" is no error of this kind, and "a cat" has one noun.
    assert FOUND.shuffled() == pytest.approx(2 / 4)


def test_table_4_takes_left_and_right_alone():
    assert FOUND.of_type("spatial_1") == 1
    assert FOUND.of_type("spatial_2") == 0  # "above" is left out
    assert np.isnan(FOUND.of_type("verb_2"))


def test_tables_have_the_papers_shape():
    overall = probe_tables.overall([FOUND]).cells
    assert overall.loc[0, ["EM, cell mean", "EM, prompt mean", "Shuffled %"]].tolist() == ["46.7", "44.4", "50.0"]
    types, others = (table.cells for table in probe_tables.by_prompt_type([FOUND]))
    assert types.shape == (4, 16)
    assert types.iloc[:, 0].tolist() == ["1 unique object", "m", "2 unique objects", "m"]
    assert types.loc[0, ["0 attributes", "1 2-obj verb"]].tolist() == ["a cat", "-"]
    assert types.loc[3, ["0 attributes", "1 adj.", "1 spatial"]].tolist() == ["0.0", "33.3", "50.0"]
    assert others.shape == (8, 6)
    assert others.loc[1, "0 attributes"] == "0.0"


def test_recovered_captions_against_scores():
    # Recovered: pairs 0, 1, 2. Image score zero: 1 of these 3, and both of the others; text: 0, and 1 of 2.
    found = conditions(
        np.array([True, True, True, False, False]),
        image_P=np.array([True, False, True, False, False]),
        text_P=np.array([True, True, True, True, False]),
    )
    assert found[True] == pytest.approx((3, 1 / 3, 0))
    assert found[False] == pytest.approx((2, 1, 0.5))


def test_correlation_by_hand():
    # Deviations (-1, 0, 1) and (-1, 1, 0): r = 1 / (sqrt(2) * sqrt(2)) = 0.5, and so the ranks'.
    found = correlation({"a": 0.1, "b": 0.2, "c": 0.3, "d": float("nan")}, {"a": 0, "b": 2, "c": 1, "d": 1})
    assert found is not None
    assert (found.points, found.pearson, found.spearman) == pytest.approx((3, 0.5, 0.5))
    assert correlation({"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 2, "c": 3}) is None
    assert correlation({"a": 0, "b": 1}, {"a": 1, "b": 2}) is None
