"""The strip at the top of the report."""

from pathlib import Path

import pytest

from compeval.evaluators.metrics.intervals import wilson_interval
from compeval.evaluators.report import build
from compeval.evaluators.report.headlines import compare_with_chance
from compeval.evaluators.report.results import read_results
from compeval.evaluators.report.strip import Dot, make_strip
from compeval.evaluators.validity.best_baselines import find_best_of_results
from compeval.loaders.datasets.stats import read_version
from tests.close import assert_close
from tests.evaluators import tiny
from tests.evaluators.written import write_hits, write_result


@pytest.mark.parametrize(
    ("low", "high", "baseline", "relation"),
    [
        (21, 40, 20.5, "above"),
        (21, 40, 21, "solved"),  # the baseline is as good as the end of the interval
        (85, 95, 100, "solved"),
        (21, 40, None, "unmeasured"),
        (10, 30, 100, "same"),
        (5, 19, 5, "below"),
        (20, 30, 10, "same"),
    ],
)
def test_colour(low: float, high: float, baseline: float | None, relation: str):
    assert Dot("clip", 20, low, high, 20, 100, baseline).relation == relation


def test_without_texts_to_choose_from_no_baseline_is_needed():
    assert Dot("clip", 30, 25, 40, 20, 100, None, has_text_cues=False).relation == "above"


def test_what_a_text_alone_does_is_not_green(tmp_path: Path):
    """A set of own data whose negatives have one more word each: *fewest words* selects all true captions."""
    rows = [
        row | {"caption": f"ball {number}", "hard_negatives": [f"big ball {number}"]}
        for number, row in enumerate(tiny.choice_rows(60, 1))
    ]
    tiny.write_dataset(tmp_path, {"atom": {"test": rows}}, "mine")
    folder = tmp_path / "results"
    data = {"version": read_version(tmp_path / "mine")}
    own = {"source": "mine", "synthetic": False, "chance": 0.5, "data": data}
    write_hits(folder, "clip", "mine/atom", 57, **own)
    headline = build([folder], tmp_path / "report", tmp_path)
    assert headline == (
        "clip, 1 task with hard negatives: 1 above chance, but not above the best text-only baseline (95 % intervals). "
        'Without the image, the text-only baseline "fewest words" selects 100.0% of the true captions of mine/atom.'
    )
    page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert '<div class="lane solved"' in page
    assert '<div class="lane above"' not in page
    assert '<i class="baseline" style="left:100.00%">' in page
    assert ".headline li { background: var(--wash); border-left: 4px solid var(--soft)" in page
    csv = (tmp_path / "report/tables/own_mine.csv").read_text(encoding="utf-8")
    assert ',50.0,"100.0 [' in csv
    assert "100.0] fewest words" in csv


def test_baselines_of_another_version_are_not_shown(tmp_path: Path):
    rows = [row | {"hard_negatives": ["a big ball"]} for row in tiny.choice_rows(12, 1)]
    tiny.write_dataset(tmp_path, {"atom": {"test": rows}}, "mine")
    document = {"protocol": "choice", "dataset": "mine", "task": "mine/atom"}
    versions = {read_version(tmp_path / "mine"): ["mine/atom"], "of last week": []}
    for version, tasks in versions.items():
        found = find_best_of_results([document | {"data": {"version": version}}], tmp_path)
        assert list(found) == tasks


def test_tests_are_configs_of_the_models_own_corpus(tmp_path: Path):
    folder = tmp_path / "results"
    for name, recall in {
        "laion_sc_hnatom": 0.6,
        "yfcc_sc_hnatom": 0.9,
        "laion_sc_hnall": 0.3,
        "x_hnatom": 0.5,
    }.items():
        write_result(folder, "clip-laion", f"crepe/{name}", {"recall@1": recall}, corpus="laion")
    write_result(folder, "other", "crepe/x_hnatom", {"recall@1": 0.25})
    strip = make_strip(read_results([folder]))
    assert [(test.title, [(dot.model, dot.share) for dot in test.dots]) for test in strip] == [
        ("Seen compounds, one atom replaced", [("clip-laion", 60.0)]),
        ("crepe/x_hnatom", [("clip-laion", 50.0), ("other", 25.0)]),
    ]
    dot = strip[0].dots[0]
    assert_close((dot.low, dot.high), (50, 70))
    assert dot.text.startswith("60.0 % (50.0 to 70.0), above chance (text-only baselines")
    assert dot.text.endswith("not measured); chance 33.3 %; 30 rows")


def test_a_few_rows_are_last_and_not_compared_with_chance(tmp_path: Path):
    """The interval of one right answer among five captions is above chance: it begins at 20.7 %."""
    for config, rows in (("a", 1), ("b", 30)):
        name = f"sugarcrepe/{config}"
        write_hits(tmp_path / "results", "clip", name, hits=rows, rows=rows, chance=1 / 5)
    results = read_results([tmp_path / "results"])
    large, small = make_strip(results)
    assert [large.dots[0].relation, small.dots[0].relation] == ["unmeasured", "few"]
    assert (small.title, small.rows) == ("sugarcrepe/a", 1)
    (sentence,) = compare_with_chance(results)
    assert "1 above chance (text-only baselines not measured), 1 on fewer than 10 rows" in sentence


def test_own_sets_have_titles_in_words(tmp_path: Path):
    write_result(tmp_path / "r", "clip", "mine/uc_atom", {"recall@1": 0.5}, source="mine")
    (test,) = make_strip(read_results([tmp_path / "r"]))
    assert test.title == "mine: atom, unseen compounds"


def test_splits_of_a_test_are_one_dot(tmp_path: Path):
    """40 and 20 hits among 60 rows each, of 120 images: Wilson's interval of 50 % of 120 rows."""
    for split, hits in (("n4", 40), ("n12", 20)):
        write_hits(tmp_path / "results", "clip", f"crepe/prod_hnatom/{split}", hits)
    (test,) = make_strip(read_results([tmp_path / "results"]))
    (dot,) = test.dots
    low, high = wilson_interval(0.5, 120)
    assert (dot.model, dot.rows) == ("clip", 120)
    assert_close((dot.share, dot.low, dot.high, dot.chance), (50, 100 * low, 100 * high, 100 / 6))


def test_title_date_and_fold_of_one_model(tmp_path: Path):
    for split in ("n4", "n12"):
        write_result(tmp_path / "results", "clip", f"crepe/prod_hnatom/{split}", {"recall@1": 0.5})
    side_file = next((tmp_path / "results").rglob("clip")).with_name("clip.run.json")
    for finished, text in (("2026-11-27T14:10:35Z", "evaluated on 2026-11-27."), ("", "")):
        side_file.write_text(f'{{"finished": "{finished}"}}', encoding="utf-8")
        build([tmp_path / "results"], tmp_path / "report")
        page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
        assert text in page
        assert ("evaluated on" in page) == bool(text)
    assert "<h1>Composition: clip</h1>" in page
    assert '<details class="fold"><summary>The numbers of the figure' in page
