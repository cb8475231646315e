"""The strip at the top of the report."""

from pathlib import Path

import pytest

from compeval.evaluators.metrics.intervals import wilson_interval
from compeval.evaluators.report import build
from compeval.evaluators.report.results import read_results
from compeval.evaluators.report.strip import Dot, make_strip
from tests.close import assert_close
from tests.evaluators.written import write_hits, write_result


@pytest.mark.parametrize(
    ("low", "high", "relation"),
    [(21, 40, "above"), (10, 30, "same"), (5, 19, "below"), (20, 30, "same")],
)
def test_colour(low: float, high: float, relation: str):
    assert Dot("clip", 20, low, high, 20, 100).relation == relation


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
    assert dot.text.startswith("60.0 % (50.0 to 70.0), above chance, 33.3 %; ")


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
