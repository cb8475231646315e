import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from evaluators.report.results import Result, Results
from evaluators.report.sections.published import make_section
from evaluators.results.published import (
    PublishedScore,
    find_scores,
    get_canonical_name,
    match_scores,
    read_scores,
)

MODEL = "ViT-B-32-quickgelu/openai"


def make_result(task: str, value: float, rows: int = 1000, metric: str = "recall@1", limit: int | None = None) -> dict:
    return {
        "schema": 1,
        "task": task,
        "model": {"spec": "ViT-B-32/openai", "name": "ViT-B-32/openai", "effective": MODEL, "contaminated": None},
        "data": {"rows": rows, "limit": limit},
        "metrics": {metric: value},
    }


def test_agreement_depends_on_the_tolerance():
    # CREPE, Table 12: CLIP's ViT-B-32 has 18.61 at n = 8.
    task = "crepe_published/prod_hnatom/n8"
    (near,), (far,) = match_scores([make_result(task, 0.195)]), match_scores([make_result(task, 0.20)])
    assert (near.score.percent, near.score.source, near.tolerance) == (18.61, "CREPE, Table 12", 1.0)
    assert near.difference == pytest.approx(0.89)
    assert (near.agrees, far.agrees) == (True, False)
    assert match_scores([make_result(task, 0.195, limit=9)]) == []
    assert match_scores([make_result("crepe/prod_hnatom/n8", 0.195)]) == []


def test_raw_pairs_have_scores_in_both_directions():
    # CREPE, Tables 15 and 16: seven models, three splits or nine complexities, two directions.
    scores = {
        (score.source, score.model, score.task, score.metric): score.percent
        for score in read_scores()
        if "_raw" in score.task
    }
    assert len(scores) == 7 * 3 * 2 + 7 * 9 * 2
    table, model = "CREPE, Table 15", "ViT-L-14/laion400m_e32"
    percents = [
        scores[table, model, f"crepe_published/laion_{split}_raw", "t2i_recall@1"] for split in ("sc", "uc", "ua")
    ]
    assert percents == [38.69, 32.00, 25.61]
    our_result = make_result("crepe_published/prod_raw/n8", 0.30, metric="i2t_recall@1")
    (pair,) = match_scores(
        [our_result | {"model": our_result["model"] | {"effective": "ViT-B-32-quickgelu/laion400m_e32"}}]
    )
    assert (pair.score.source, pair.score.percent, pair.agrees) == ("CREPE, Table 16", 29.20, True)


def test_tolerance_is_at_least_the_weight_of_one_row():
    # HN-Swap at n = 4 has 27 rows, so one row weighs 100 / 27 = 3.7 points.
    swap = PublishedScore(MODEL, "crepe_published/prod_hnswap/n4", "recall@1", 25.93, 1, "")
    assert swap.get_tolerance(27) == pytest.approx(100 / 27)
    assert PublishedScore(MODEL, "aro_published/coco_order", "recall@1", 46.0, 1, "").get_tolerance(25_010) == 2.0


def test_score_over_several_tasks_is_the_mean_over_rows():
    tasks = [f"crepe_published/prod_hnneg/n{n}" for n in range(4, 13)]
    results = [
        make_result(task, 0.5 if task.endswith("n4") else 0.25, rows=900 if task.endswith("n4") else 100)
        for task in tasks
    ]
    match = {pair.score.task: pair for pair in match_scores(results)}["crepe_published/prod_hnneg/n*"]
    # (900 * 50 + 8 * 100 * 25) / 1700
    assert match.ours == pytest.approx(65_000 / 1700)
    assert "crepe_published/prod_hnneg/n*" not in {pair.score.task for pair in match_scores(results[1:])}


def test_report_section_compares_scores():
    published = make_section(Results([Result(Path(), make_result("sugarcrepe/swap_obj", 0.6))]))
    assert published is not None
    assert published.tables[0].cells.iloc[0].tolist()[:7] == [
        MODEL, "sugarcrepe/swap_obj", "recall@1", "1,000", "60.00", "61.22", "-1.22 !",
    ]  # fmt: skip
    assert published.headline == ["0 of 1 published scores are reproduced within tolerance."]
    assert make_section(Results([Result(Path(), make_result("mine/test", 0.6))])) is None


def test_validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def validate(*arguments: str):
        return CliRunner().invoke(app, ["validate", *arguments])

    (tmp_path / "results").mkdir()
    assert "no published scores. Models with published scores: " in validate("mine").stderr
    missing = validate("ViT-B-16/laion400m_e32")
    assert "Import the files with `compeval import`" in missing.stderr
    path = tmp_path / "results" / "a.json"
    path.write_text(json.dumps(make_result("sugarcrepe/swap_obj", 0.6122)))
    agreed = validate("ViT-B-32/openai")
    assert (agreed.exit_code, "yes" in agreed.stdout) == (0, True)
    assert agreed.stderr.startswith("1 of 1 agree; ")
    path.write_text(json.dumps(make_result("sugarcrepe/swap_obj", 0.5)))
    disagreed = validate("ViT-B-32/openai", "--json")
    assert disagreed.exit_code == 1
    assert json.loads(disagreed.stdout)[0]["agrees"] is False


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("ViT-B-32/openai", MODEL),
        (MODEL, MODEL),
        ("transformers:openai/clip-vit-base-patch32", MODEL),
        ("ViT-B-32/laion400m_e32", "ViT-B-32-quickgelu/laion400m_e32"),
        ("ViT-B-32/laion2b_s34b_b79k", "ViT-B-32/laion2b_s34b_b79k"),
        ("local:checkpoints/mine", "local:checkpoints/mine"),
    ],
)
def test_canonical_names(name: str, same: str):
    assert get_canonical_name(name) == same


def test_every_name_of_vl_compos_table_has_its_scores(real_data: Path):
    with (real_data / "published" / "scores.csv").open(newline="") as file:
        names = [
            f"{row['arch']}/{row['pretrained']}" if row["pretrained"] else row["arch"] for row in csv.DictReader(file)
        ]
    missing = [name for name in names if not any("vl_compo" in score.source for score in find_scores(name))]
    assert (len(names), missing) == (10, [])


def test_validate_finds_results_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = make_result("sugarcrepe/swap_obj", 0.6122)
    result["model"] |= {"spec": MODEL, "name": MODEL}
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text(json.dumps(result))
    for name in ("ViT-B-32/openai", MODEL, "transformers:openai/clip-vit-base-patch32"):
        done = CliRunner().invoke(app, ["validate", name])
        assert done.stderr.startswith("1 of 1 agree; "), done.stderr


def test_all_scores_of_vl_compos_table_are_entered(real_data: Path):
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
