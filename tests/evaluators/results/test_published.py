import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from evaluators.report.results import Result, Results
from evaluators.report.sections.published import section
from evaluators.results.published import PublishedScore, matches, read_scores

MODEL = "ViT-B-32-quickgelu/openai"


def result(task: str, value: float, rows: int = 1000, metric: str = "recall@1", limit: int | None = None) -> dict:
    return {
        "schema": 1,
        "task": task,
        "model": {"spec": "ViT-B-32/openai", "name": "ViT-B-32/openai", "effective": MODEL, "contaminated": None},
        "data": {"rows": rows, "limit": limit},
        "metrics": {metric: value},
    }


def test_a_published_number_is_met_within_the_stated_tolerance():
    # CREPE, Table 12: ViT-B-32 of CLIP, n = 8: 18.61.
    task = "crepe_published/prod_hnatom/n8"
    (near,), (far,) = matches([result(task, 0.195)]), matches([result(task, 0.20)])
    assert (near.score.percent, near.score.source, near.tolerance) == (18.61, "CREPE, Table 12", 1.0)
    assert near.difference == pytest.approx(0.89)
    assert (near.agrees, far.agrees) == (True, False)
    assert matches([result(task, 0.195, limit=9)]) == []
    assert matches([result("crepe/prod_hnatom/n8", 0.195)]) == []


def test_raw_pairs_have_a_score_for_either_direction():
    # CREPE, Tables 15 and 16: seven models, three splits or nine complexities, two directions.
    scores = {(one.source, one.model, one.task, one.metric): one.percent for one in read_scores() if "_raw" in one.task}
    assert len(scores) == 7 * 3 * 2 + 7 * 9 * 2
    table, model = "CREPE, Table 15", "ViT-L-14/laion400m_e32"
    found = [scores[table, model, f"crepe_published/laion_{split}_raw", "t2i_recall@1"] for split in ("sc", "uc", "ua")]
    assert found == [38.69, 32.00, 25.61]
    ours = result("crepe_published/prod_raw/n8", 0.30, metric="i2t_recall@1")
    (pair,) = matches([ours | {"model": ours["model"] | {"effective": "ViT-B-32-quickgelu/laion400m_e32"}}])
    assert (pair.score.source, pair.score.percent, pair.agrees) == ("CREPE, Table 16", 29.20, True)


def test_a_row_of_a_small_set_is_worth_more_than_the_tolerance():
    # n = 4 of HN-Swap has 27 rows: 100 / 27 = 3.7 points each.
    swap = PublishedScore(MODEL, "crepe_published/prod_hnswap/n4", "recall@1", 25.93, 1, "")
    assert swap.tolerance(27) == pytest.approx(100 / 27)
    assert PublishedScore(MODEL, "aro_published/coco_order", "recall@1", 46.0, 1, "").tolerance(25_010) == 2.0


def test_a_score_over_nine_complexities_is_their_mean_over_rows():
    tasks = [f"crepe_published/prod_hnneg/n{n}" for n in range(4, 13)]
    results = [
        result(task, 0.5 if task.endswith("n4") else 0.25, rows=900 if task.endswith("n4") else 100) for task in tasks
    ]
    whole = {pair.score.task: pair for pair in matches(results)}["crepe_published/prod_hnneg/n*"]
    # (900 * 50 + 8 * 100 * 25) / 1700
    assert whole.ours == pytest.approx(65_000 / 1700)
    assert "crepe_published/prod_hnneg/n*" not in {pair.score.task for pair in matches(results[1:])}


def test_the_report_prints_them_beside_ours():
    found = section(Results([Result(Path(), result("sugarcrepe/swap_obj", 0.6))]))
    assert found is not None
    assert found.tables[0].cells.iloc[0].tolist()[:7] == [
        MODEL, "sugarcrepe/swap_obj", "recall@1", "1,000", "60.00", "61.22", "-1.22 !",
    ]  # fmt: skip
    assert found.headline == ["0 of 1 published scores are reproduced within tolerance."]
    assert section(Results([Result(Path(), result("mine/test", 0.6))])) is None


def test_validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def validate(*arguments: str):
        return CliRunner().invoke(app, ["validate", *arguments])

    (tmp_path / "results").mkdir()
    assert "no published scores. Models with published scores: " in validate("mine").stderr
    missing = validate("ViT-B-16/laion400m_e32")
    assert "`compeval import` the files" in missing.stderr
    path = tmp_path / "results" / "a.json"
    path.write_text(json.dumps(result("sugarcrepe/swap_obj", 0.6122)))
    agreed = validate("ViT-B-32/openai")
    assert (agreed.exit_code, "yes" in agreed.stdout) == (0, True)
    assert agreed.stderr.startswith("1 of 1 agree; ")
    path.write_text(json.dumps(result("sugarcrepe/swap_obj", 0.5)))
    disagreed = validate("ViT-B-32/openai", "--json")
    assert disagreed.exit_code == 1
    assert json.loads(disagreed.stdout)[0]["agrees"] is False


def test_the_table_of_ten_models_is_entered_whole(real_data: Path):
    scores = {
        (score.model, score.task, score.metric): score.percent for score in read_scores() if "vl_compo" in score.source
    }
    with (real_data / "published" / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(scores) == sum(len(row) - 2 for row in rows) == 170
    vit = next(row for row in rows if (row["arch"], row["pretrained"]) == ("ViT-B-32", "openai"))
    key = (MODEL, "crepe_published/prod_hnneg/n*", "recall@1")
    assert scores[key] == pytest.approx(float(vit["crepe::negate"]), abs=0.005)
    assert scores[MODEL, "winoground/*", "group"] == 8.75
