"""Attacks on balanced sets: what judges are trained on, how results are pooled, and what worlds must have in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.balanced_leaks import (
    COLUMNS,
    Best,
    Case,
    Pool,
    format_table,
    list_cases,
    measure,
    name_kind,
    pool_results,
    read_builds,
    score_other_sets,
    share_images,
)
from compeval.base.text_only.baselines import RetrievalSets
from compeval.evaluators.metrics.intervals import compute_share_interval
from tests.close import assert_close

WORDS = ("hat", "cup", "bus", "pen", "map")


def write_config(folder: Path, images: range, truth: str = "") -> None:
    """Write rows of HN-Atom with one of five words, or always ``truth``. The box has the size of its word's index."""
    rows = []
    for image in images:
        word = truth or WORDS[image % 5]
        others = [of for of in WORDS if of != word]
        size = float(10 * (WORDS.index(word) + 1))
        rows.append([str(image), f"a {word}", [f"a {of}" for of in others], 0.0, 0.0, size, size])
    folder.mkdir(parents=True)
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    pq.write_table(
        pa.table({name: list(values) for name, values in columns.items()}), folder / "t.parquet"
    )


@pytest.fixture
def builds(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Refined and unrefined folders of two worlds with SC and UC HN-Atom: 20 rows, of which the first 15 are kept."""
    refined, unrefined = ([tmp_path / f"{kind}{world}" for world in (0, 1)] for kind in "ru")
    for config in ("laion_sc_hnatom_balanced", "laion_uc_hnatom_balanced"):
        for world in (0, 1):
            write_config(refined[world] / config, range(15))
            write_config(unrefined[world] / config, range(20))
    return refined, unrefined


def test_cases_have_what_a_reader_may_be_trained_on(builds: tuple[list[Path], list[Path]]):
    cases = [*list_cases(read_builds(*builds))]
    assert len(cases) == 8
    after = next(case for case in cases if (case.world, case.state) == (1, "after"))
    assert (after.config, len(after.sets)) == ("laion_sc_hnatom_balanced", 15)
    assert after.sets.images[0] == "1 0"
    assert (after.kept_N.sum(), len(after.unrefined)) == (15, 20)
    assert len(after.siblings) == 15
    assert {image[0] for image in after.other_worlds.images} == {"0"}
    assert len(after.other_worlds) == 20
    before = next(case for case in cases if (case.world, case.state) == (1, "before"))
    assert (len(before.sets), len(before.siblings), before.kept_N.all()) == (20, 20, True)


def test_the_box_and_the_other_sets_solve_what_words_do_not(builds: tuple[list[Path], list[Path]]):
    """Each word is true equally often, the box shows its index, and UC has the words of SC for the same images."""
    case = next(of for of in list_cases(read_builds(*builds)) if of.state == "after")
    hits = measure(case, {}, Path("no folder with regions"))
    assert {*hits} == {
        "within", "removed", "unrefined", "siblings", "transfer", "crop box", "sets of the corpus", "sets of the build",
        "control",
    }  # fmt: skip
    assert hits["crop box"]["transfer: naive Bayes of bins"].mean() == 1
    assert hits["crop box"]["within: logit of pairs of bins"].mean() > 0.8
    assert_close(hits["transfer"]["naive_bayes"].mean(), 0.2)
    of_corpus = hits["sets of the corpus"]["n-grams of the image"]
    assert_close(of_corpus.mean(), 0.2)  # all candidates have the same words
    assert all(len(hit_N) == 15 for of_kind in hits.values() for hit_N in of_kind.values())


def test_equal_boxes_are_not_judged(tmp_path: Path):
    """The box has the size of its word, of which there is one."""
    for kind in "ru":
        write_config(tmp_path / kind / "laion_sc_hnatom_balanced", range(10), truth="pen")
    cases = [*list_cases(read_builds([tmp_path / "r"], [tmp_path / "u"]))]
    assert [case.box_cases for case in cases] == [{}, {}]


def test_other_sets_state_the_truth_of_an_image():
    """The first image has "red" in another set, the second one a whole caption. The third one is in no other set."""
    captions = [["a red hat", "a blue hat"]] * 3
    other = RetrievalSets([["a red cup", "a red pen"], ["a blue hat", "a cup"]], ["1", "2"])
    score_NK = score_other_sets(RetrievalSets(captions, ["1", "2", "3"]), [other])
    # "red" and "a red" twice; "blue", "a blue", "blue hat" and "a blue hat", and the text itself
    assert score_NK.tolist() == [[4, 0], [0, 1004], [0, 0]]


def test_folders_of_different_worlds_are_an_error(builds: tuple[list[Path], list[Path]]):
    refined, unrefined = builds
    with pytest.raises(ValueError, match=r"1 folders, expected 2, one of each world"):
        read_builds(refined, unrefined[:1])
    write_config(refined[0] / "laion_sc_hncomp_balanced", range(3))
    write_config(unrefined[0] / "laion_sc_hncomp_balanced", range(4), truth="pen")
    with pytest.raises(ValueError, match=r"hncomp_balanced: 3 rows are not in .* Build both with"):
        read_builds(refined, unrefined)


def make_case(config: str, images: list[str]) -> Case:
    sets = RetrievalSets([WORDS] * len(images), images)
    empty = RetrievalSets([], [])
    return Case(0, config, "after", sets, sets, np.ones(len(images), bool), empty, empty, [], [])


def test_the_best_judge_is_chosen_over_all_corpora_and_images_are_clusters():
    """Of 20 rows, "one" has 2 + 8 hits and "two" 9 + 0. Both corpora have the same ten images."""
    images = [str(image) for image in range(10)]
    cases = [make_case(f"{name}_sc_hnatom_balanced", images) for name in ("laion", "yfcc")]
    two, eight, nine, none = (np.arange(10) < hits for hits in (2, 8, 9, 0))
    results = [
        {"within": {"one": two.astype(float), "two": nine.astype(float)}},
        {
            "within": {"one": eight.astype(float), "two": none.astype(float)},
            "removed": {"one": two * 1.0},
        },
    ]
    pools = pool_results(cases, results)
    best = pools["sc hnatom", "after"].choose_best("within")
    assert best is not None
    assert (best.name, best.share, best.chance) == ("one", 0.5, 0.2)
    hit_N = np.concatenate([two, eight]).astype(float)
    assert (best.low, best.high) == compute_share_interval(hit_N, [*images, *images])
    assert pools["sc hnatom", "after"].choose_best("removed") is None  # one set has no removed rows
    lines = [*format_table(pools)]
    assert lines[2].startswith(f"| sc hnatom | after | 20 | 20.0 | {best} |  | ")
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|")


def test_cells_are_bold_if_the_whole_interval_is_above_the_target():
    assert str(Best("words", 0.25, 0.24, 0.26, 0.2)) == "**25.0 (24.0 to 26.0)**"
    assert str(Best("words", 0.25, 0.229, 0.27, 0.2)) == "25.0 (22.9 to 27.0)"
    assert Pool(0.2).choose_best("within") is None


def test_kinds_have_no_corpus():
    assert name_kind("cc12m_uc_hncomp_balanced") == "uc hncomp"
    assert name_kind("prod_hnneg_balanced") == "prod hnneg"


@pytest.mark.parametrize(
    ("images", "share"),
    [
        ((["1", "2"], ["3"]), 1),  # no image in common
        ((["1", "2"], ["1", "2"]), 0.5),
        ((["1"], ["1"], ["1"], ["1"]), 0.25),
        # 3 (1 - s) + 1 = 4 s, where the second set gets the share s of image 1.
        (
            (["1", "1", "1", "2"], ["1"]),
            4 / 7,
        ),
    ],
)
def test_share_of_rows_if_sets_share_no_image(images: tuple[list[str], ...], share: float):
    sets = [RetrievalSets([WORDS] * len(of), of) for of in images]
    assert_close(share_images(sets), share)
