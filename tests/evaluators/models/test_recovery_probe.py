"""Compare the analyses of recovery probes with manually derived values."""

import numpy as np
import pandas as pd

from compeval.evaluators.probes.aggregates import average_over_groups, average_published
from compeval.evaluators.probes.analysis import Recovered, compute_conditions, compute_correlation
from compeval.evaluators.protocols import recovery
from compeval.evaluators.report.sections.probes import make_recovery_tables
from tests.close import assert_close


def make_rows(*recovered: tuple[str, str, str]) -> pd.DataFrame:
    """Return rows, given as (cell, prompt, recovered text)."""
    cells, prompts, texts = map(list, zip(*recovered, strict=True))
    hit_N = recovery.exact_match(texts, prompts)
    bleu_N = recovery.bleu4(texts, prompts)
    return pd.DataFrame(
        {"cell": cells, "prompt": prompts, "recovered": texts, "hit": hit_N, "bleu4": bleu_N}
    )


RECOVERED = Recovered(
    "m",
    make_rows(
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
    # Section 3 of the paper prints 48. n-grams of "a reporter on top of a penguin" that are in "a penguin on top of a
    # hill": 6 of 7 words, 4 of 6 bigrams, 2 of 5 trigrams, 1 of 4 four-grams. The lengths are equal, so no penalty:
    # (6/7 * 4/6 * 2/5 * 1/4) ** (1/4) = 0.48892.
    found = recovery.bleu4(["a reporter on top of a penguin"], ["a penguin on top of a hill"])
    assert_close(found[0], (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25)
    assert_close(found[0], 0.489, within=5e-4)


def test_bleu_of_prompts_with_two_words():
    # Two words have no trigrams, but an equal text scores 1. "a dog" has 1 of 2 words and 0 of 1 bigrams, which
    # sacrebleu smooths to 1/2: (1/2 * 1/2) ** (1/2) = 1/2.
    assert_close(recovery.bleu4(["a cat", "a dog"], ["a cat", "a cat"]), [1, 0.5])


def test_shuffled_share():
    # Texts 1 to 3 have the right words, of which 2 and 3 are in wrong order. Text 4 has a wrong word, text 5 an
    # additional word.
    prompts = ["a red cat and a dog"] * 5
    recovered = [
        "a red cat and a dog",
        "a cat and a red dog",
        "a dog and a red cat",
        "a red cat and a pig",
    ]
    assert_close(
        recovery.compute_shuffled_share([*recovered, "a red cat and a a dog"], prompts), 2 / 3
    )
    assert np.isnan(recovery.compute_shuffled_share(["a pig"], ["a cat"]))


def test_means_over_cells_and_over_prompts():
    # Cells of Table 2: obj1 1/2, obj1_spatial 1, obj2_adj (two configs) 1/3, obj2 0, obj2_spatial 1/2; mean 7/15. 4 of
    # 9 prompts are recovered. Multiples belong to Table 3.
    assert_close(RECOVERED.mean_by_cell()["obj2_adj"], 1 / 3)
    assert_close(RECOVERED.cell_mean(), 7 / 15)
    assert_close(RECOVERED.prompt_mean(), 4 / 9)


def test_shuffled_share_uses_prompts_with_two_objects_and_an_attribute():
    # obj2_adj and obj2_spatial have five prompts. Four recovered texts have the right words, two of them in wrong
    # order. obj2 has no attribute and obj1 has one noun, so their prompts do not count.
    assert_close(RECOVERED.shuffled_share(), 2 / 4)


def test_table_4_uses_only_left_and_right():
    assert RECOVERED.exact_match_for("spatial_1") == 1
    assert RECOVERED.exact_match_for("spatial_2") == 0  # "above" does not count
    assert np.isnan(RECOVERED.exact_match_for("verb_2"))


def test_tables_have_the_shape_of_the_papers_tables():
    overall, types, multiples, _ = (table.cells for table in make_recovery_tables([RECOVERED]))
    assert overall.loc[0, ["EM, cell mean", "EM, prompt mean", "Shuffled %"]].tolist() == [
        "46.7",
        "44.4",
        "50.0",
    ]
    assert types.shape == (4, 16)
    assert types.iloc[:, 0].tolist() == ["1 unique object", "m", "2 unique objects", "m"]
    assert types.loc[0, ["0 attributes", "1 2-obj verb"]].tolist() == ["a cat", "-"]
    assert types.loc[3, ["0 attributes", "1 adj.", "1 spatial"]].tolist() == ["0.0", "33.3", "50.0"]
    assert multiples.shape == (2, 5)  # the row of titles and the model; a column has no value
    assert multiples.loc[1, "0 attributes"] == "0.0"


def test_means_over_groups_of_prompt_types():
    means = average_over_groups(RECOVERED.mean_by_cell())
    # Cells: obj1_spatial 1, obj2_spatial 1/2; obj2 0; obj1 1/2; obj2_adj 1/3; multiples_obj1 0.
    assert_close(means["Spatial relations"], 0.75)
    assert_close(means["Spatial relations, 2 objects"], 0.5)
    assert_close(means["Word order matters"], (1 / 2 + 1 / 3) / 2)
    assert means["Multiples"] == 0
    assert np.isnan(means["Negations"])


def test_means_are_over_the_cells_that_have_published_scores():
    names = [
        "negation_obj1_adj",
        "negation_obj2_verb2",
        "multiples_obj1",
        "multiples_obj2_verb2",
        "obj2_own",
    ]
    means = average_over_groups(pd.Series([0.5, 1.0, 0.25, 1.0, 1.0], index=names))
    assert means["Negations"] == 0.5
    assert means["Multiples"] == 0.25
    assert np.isnan(means["2 unique objects"])


def test_published_means_over_groups():
    # Sections 3.2 and 3.3 print 44.8, 34.5 and 91.8; negCLIP is 15.4 points above CLIP ViT-B/32, and 16.3 where word
    # order matters; ViT-L/14 is 20.7 points above ViT-B/32 without spatial relations.
    paper = average_published()
    assert_close(paper["VL models"]["Adjectives"], 0.448)
    assert_close(paper["VL models"]["Intransitive verbs"], 0.345, within=0.002)
    assert_close(paper["SBERT"]["Adjectives"], 0.918)
    small, large, hard = (
        paper[name] for name in ("CLIP ViT-B/32", "CLIP ViT-L/14", "negCLIP ViT-B/32")
    )
    assert_close(hard["Word order matters"] - small["Word order matters"], 0.163, within=0.001)
    name = "Without spatial relations"
    assert_close(large[name] - small[name], 0.207, within=0.002)


def test_conditions():
    # Pairs 0, 1 and 2 are recovered. The image score is zero for 1 of these 3 pairs and for both other pairs; the text
    # score is zero for none of the 3 and for 1 of the 2.
    conditions = compute_conditions(
        np.array([True, True, True, False, False]),
        image_P=np.array([True, False, True, False, False]),
        text_P=np.array([True, True, True, True, False]),
    )
    assert_close(conditions[True], (3, 1 / 3, 0))
    assert_close(conditions[False], (2, 1, 0.5))


def test_correlation():
    # Deviations (-1, 0, 1) and (-1, 1, 0): r = 1 / (sqrt(2) * sqrt(2)) = 0.5. The ranks have the same deviations.
    result = compute_correlation(
        {"a": 0.1, "b": 0.2, "c": 0.3, "d": float("nan")}, {"a": 0, "b": 2, "c": 1, "d": 1}
    )
    assert result is not None
    assert_close((result.points, result.pearson, result.spearman), (3, 0.5, 0.5))
    assert compute_correlation({"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 2, "c": 3}) is None
    assert compute_correlation({"a": 0, "b": 1}, {"a": 1, "b": 2}) is None
