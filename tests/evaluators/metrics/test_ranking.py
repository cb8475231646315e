import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from compeval.evaluators.metrics import power, ranking
from compeval.evaluators.metrics.statistics import correct_by_holm
from tests.close import assert_close


def make_pair(both: int, only_a: int, only_b: int, none: int) -> np.ndarray:
    return np.array(
        [
            [1] * (both + only_a) + [0] * (only_b + none),
            [1] * both + [0] * only_a + [1] * only_b + [0] * none,
        ]
    )


def test_one_row_per_image_is_mcnemars_test():
    # Agresti, Categorical Data Analysis, section 10.1: approval of the prime minister in two surveys of 1,600 persons:
    # z^2 = (86 - 150)^2 / (86 + 150) = 17.36.
    hits = make_pair(794, 150, 86, 570)
    share_M, p_MM = ranking.compare_all_pairs(hits, np.arange(1600))
    assert_close(share_M, [0.59, 0.55], summed=1600)
    table = [[794, 150], [86, 570]]
    expected = mcnemar(table, exact=False, correction=False)
    assert_close(expected.statistic, 17.36, within=0.005)  # pyright: ignore
    assert p_MM[0, 1] == p_MM[1, 0]  # copied
    # The tail of a normal distribution at z has a relative error of z^2 = 17 times that of z.
    assert_close(p_MM[0, 1], expected.pvalue, summed=17**2)  # pyright: ignore


def test_few_differences_are_tested_exactly():
    hits = make_pair(10, 1, 8, 4)
    assert_close(
        ranking.compare_all_pairs(hits, np.arange(23))[1][0, 1],
        mcnemar([[10, 1], [8, 4]], exact=True).pvalue,
    )


def test_equal_rows_of_an_image_count_once():
    hits = make_pair(20, 30, 60, 10)
    once = ranking.compare_all_pairs(hits, np.arange(120))[1]
    twice = ranking.compare_all_pairs(np.repeat(hits, 2, axis=1), np.repeat(np.arange(120), 2))[1]
    assert_close(twice, once)


def test_holm_and_ranks_of_demsars_example():
    # Demsar 2006 (JMLR 7), section 3.2.2: C4.5 against its variants with m, cf and m+cf: p = 0.019, 0.607, 0.016. Holm
    # compares 0.016, 0.019 and 0.607 with 0.05/3, 0.05/2 and 0.05: the first two are rejected. Mean
    # ranks: 3.143, 2.000, 2.893, 1.964.
    p_MM = np.ones((4, 4))
    p_MM[0, 1:] = p_MM[1:, 0] = 0.019, 0.607, 0.016
    corrected = correct_by_holm([0.019, 0.607, 0.016])
    assert_close(corrected, [0.048, 0.607, 0.048])
    p_MM[0, 1:] = p_MM[1:, 0] = corrected
    # C4.5 is worse than two variants: rank 3. The others are not compared with each other: rank 1.
    assert ranking.make_ranks(-np.array([3.143, 2.0, 2.893, 1.964]), p_MM).tolist() == [3, 1, 1, 1]


def test_correction_is_over_all_pairs():
    p_MM = np.array([[1, 0.01, 0.04], [0.01, 1, 0.03], [0.04, 0.03, 1]])
    # Sorted .01, .03, .04 times 3, 2, 1; then .04 is raised to .06.
    assert_close(ranking.correct_pairs(p_MM)[np.triu_indices(3, 1)], [0.03, 0.06, 0.06])


def test_weights_of_rows():
    # Two tasks of 10 and 90 rows with equal weight: (1 + 0) / 2, not 10 / 100.
    hits = np.array([[1] * 10 + [0] * 90, [0] * 100])
    weight_N = np.repeat([1 / 10, 1 / 90], [10, 90])
    assert_close(ranking.compare_all_pairs(hits, np.arange(100), weight_N)[0], [0.5, 0.0])


def test_power_by_connors_formula():
    # d = 0.05, psi = 0.2: (1.95996 sqrt(.2) + 0.84162 sqrt(.1975))^2 / .0025 = 625.5.
    assert_close(power.count_rows(0.05, 0.2), 625.5, within=0.05)
    assert_close(power.count_rows(0.05, 0.2, design_effect=1.5), 1.5 * 625.5, within=1.5 * 0.05)
    assert_close(power.find_difference(625.5, 0.2), 0.05, within=1e-4)
    assert power.find_difference(3, 0.2) is None
    with pytest.raises(ValueError, match="needs models that disagree on at least as many percent"):
        power.count_rows(0.3, 0.2)


@pytest.mark.acceptance
@pytest.mark.parametrize(("difference", "disagreement"), [(0.05, 0.2), (0.1, 0.15)])
def test_power_against_simulation(difference: float, disagreement: float):
    rows = round(power.count_rows(difference, disagreement))
    generator = np.random.default_rng(0)
    odds = [(disagreement + difference) / 2, (disagreement - difference) / 2, 1 - disagreement]
    tests = []
    for _ in range(1500):
        only_a, only_b, _rest = generator.multinomial(rows, odds)
        tests.append((only_a - only_b) ** 2 / (only_a + only_b) > 1.95996**2)
    assert_close(np.mean(tests), 0.8, within=0.03)


def test_each_pair_of_models_is_compared_as_if_it_were_alone():
    hits = np.random.default_rng(3).integers(0, 2, (4, 90))
    clusters = np.repeat(np.arange(30), 3)
    p_MM = ranking.compare_all_pairs(hits, clusters)[1]
    for first, second in [(0, 1), (0, 3), (1, 2), (2, 3)]:
        alone = ranking.compare_all_pairs(hits[[first, second]], clusters)[1][0, 1]
        assert p_MM[first, second] == p_MM[second, first]  # copied
        assert_close(p_MM[first, second], alone, summed=30)
    assert np.diag(p_MM).tolist() == [1] * 4


@pytest.mark.parametrize(("only_b", "exact"), [(16, True), (17, False)])
def test_the_test_is_exact_below_25_differences(only_b: int, exact: bool):
    p_MM = ranking.compare_all_pairs(make_pair(5, 8, only_b, 5), np.arange(18 + only_b))[1]
    expected = mcnemar([[5, 8], [only_b, 5]], exact=exact, correction=False)
    assert_close(p_MM[0, 1], expected.pvalue, summed=8 + only_b)  # pyright: ignore


def test_equal_models_do_not_differ():
    assert ranking.compare_all_pairs(make_pair(3, 0, 0, 4), np.arange(7))[1].tolist() == [
        [1, 1],
        [1, 1],
    ]
    assert ranking.compare_all_pairs(make_pair(3, 2, 2, 4), np.arange(11))[1][0, 1] == 1


def test_a_model_with_the_same_share_or_without_significance_is_not_better():
    p_MM = np.array([[1, 0.01, 0.06], [0.01, 1, 0.01], [0.06, 0.01, 1]])
    assert ranking.make_ranks(np.array([0.5, 0.5, 0.7]), p_MM).tolist() == [1, 2, 1]
