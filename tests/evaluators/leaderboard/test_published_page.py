"""The page of the published models alone. The scores are those of tests/evaluators/made_up.py."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.leaderboard import published_page
from compeval.evaluators.leaderboard.published_page import Column, choose_averaged, make_columns
from compeval.evaluators.results.scores import find_cached_tables
from tests.close import assert_close
from tests.evaluators.conftest import forget_scores

pytestmark = pytest.mark.usefixtures("all_models")
OPENAI = "ViT-B-32-quickgelu/openai"


def test_a_column_per_benchmark_of_all_sources():
    columns = {column.name: column for column in make_columns()}
    # vl_compo has 201 models, FSC-CLIP 12 and MTEB 49, of which 16 are vl_compo's.
    assert {name: len(columns[name].scores) for name in ("sugarcrepe", "winoground/main")} == {
        "sugarcrepe": 201 + 12,
        "winoground/main": 246 + 2,  # and two of CLIP-FlanT5's
    }
    assert "sugarcrepe/swap_obj" not in columns
    # MTEB's 49, and the mean over vl_compo's columns; 16 models are in both.
    assert len(columns["sugarcrepe, mean over rows"].scores) == 201 + 49 - 16
    assert columns["vl_checklist"].reasons == ("the first 1,000 rows of each file",)
    assert list(columns)[-2:] == ["retrieval/coco", "retrieval/flickr30k"]  # recognition is last
    assert columns["negbench/coco_mcq"].scores[OPENAI] == 50.0
    assert not any("@" in name for name in columns)


def test_marked_scores_and_those_on_other_rows_have_no_place():
    columns = {column.name: column for column in make_columns()}
    images = columns["imagecode/valid"]
    assert (len(images.scores), len(images.others)) == (213, 49 - 16)
    assert "numbers the images of a set anew" in images.reasons[0]
    assert images.scores[OPENAI] == 21.7202  # of vl_compo, which is not marked
    assert columns["predicate_noun/main text score"].others == {"Human": 50.0}
    models = published_page.make_models(list(columns.values())).set_index("model")
    assert pd.isna(models.loc["Human", "predicate_noun/main text score place"])


def test_the_columns_of_a_benchmark(monkeypatch: pytest.MonkeyPatch):
    columns = make_columns(["sugarcrepe"])
    assert [column.name for column in columns[:2]] == ["sugarcrepe", "sugarcrepe, mean over rows"]
    assert len(columns) == 2 + 7
    models = published_page.make_models(columns).set_index("model")
    places = models["sugarcrepe/swap_obj place"]
    assert (places["NegCLIP"], places[OPENAI], places["ViT-L-14-quickgelu/openai"]) == (1, 86, 101)
    cells = published_page.make_models_table(models.reset_index(), columns).cells.set_index("Model")
    assert cells.loc[OPENAI, "sugarcrepe/swap_obj"] == "61.2 (86 of 201)"
    assert "Mean" not in cells  # its columns overlap
    with pytest.raises(ValueError, match=r"sugarcrep: no published scores\. They are known for "):
        make_columns(["sugarcrep"])


def test_the_mean_is_over_the_columns_with_more_than_half_of_the_models():
    def make(name: str, scores: dict[str, float]) -> Column:
        return Column(name, name, "mean", scores, {}, (), ())

    columns = [
        make("a", {"x": 40.0, "y": 60.0, "z": 10.0}),
        make("b", {"x": 60.0, "y": 70.0}),
        make("c", {"x": 1.0}),
        make("retrieval", {"x": 1.0, "y": 1.0, "z": 1.0}),
    ]
    assert [column.name for column in choose_averaged(columns)] == ["a", "b"]
    models = published_page.make_models(columns)
    assert models["model"].tolist() == ["y", "x", "z"]
    assert_close(models["mean"].tolist()[:2], [0.65, 0.5])
    assert pd.isna(models["mean"][2])
    assert models["a place"].tolist() == [1, 2, 3]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    arguments = ["leaderboard", "--published", "--output", "out"]
    done = CliRunner().invoke(app, arguments)  # there is no folder of results
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert 'src="http' not in page
    assert "274 published models" in body
    for name in ("benchmark", "size", "year", "training_data", "search"):
        assert f'name="{name}"' in body
    assert 'name="own"' not in body
    assert "<option>sugarcrepe</option>" in body
    assert len(pd.read_parquet(tmp_path / "out/leaderboard.parquet")) == 274
    chosen = CliRunner().invoke(app, [*arguments, "--benchmark", "winoground"])
    assert chosen.exit_code == 0, chosen.output
    table = pd.read_csv(tmp_path / "out/leaderboard.csv")
    assert "winoground/main image score place" in table
    refused = CliRunner().invoke(app, ["leaderboard", "--benchmark", "winoground"])
    assert "--benchmark has no effect without --published" in " ".join(refused.stderr.split())


def test_with_five_models_the_page_says_how_to_get_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    find_cached_tables().unlink()
    forget_scores()
    done = CliRunner().invoke(app, ["leaderboard", "--published", "--output", "out"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert "five models are known here: <code>compeval results pull scores</code>" in page
    models = pd.read_parquet(tmp_path / "out/leaderboard.parquet").set_index("model")
    # 61.2 of five: NegCLIP has 75.9, ViT-L-14/laion400m_e32 62.9.
    assert make_columns(["sugarcrepe"])[0].scores.keys() < set(models.index)
    assert models.loc[OPENAI, "sugarcrepe place"] in range(1, 6)
    swap = {column.name: column for column in make_columns(["sugarcrepe"])}["sugarcrepe/swap_obj"]
    assert sorted(swap.scores.values()) == [60.4082, 60.4082, 61.2245, 62.8571, 75.9184]
