import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from evaluators.report.results import Result, Results
from evaluators.report.sections.published import make_section
from evaluators.results import scores as published_scores
from evaluators.results.published import find_scores, get_canonical_name, get_tolerance, match_scores
from evaluators.results.scores import TABLE_SOURCE, PublishedScore, read_columns, read_scores, read_table
from loaders import benchmarks
from tests.evaluators import tiny

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
    assert match_scores([make_result(task, 0.195) | {"synthetic": True}]) == []


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
    assert get_tolerance(swap, 27) == pytest.approx(100 / 27)
    order = PublishedScore(MODEL, "aro_published/coco_order", "recall@1", 46.0, 1, "")
    assert get_tolerance(order, 25_010) == 2.0


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
    published = make_section(Results([Result(Path(), make_result("sugarcrepe/swap_obj", 0.6, rows=245))]))
    assert published is not None
    overview, scores = published.tables
    assert overview.cells.to_dict("records") == [{"Model": MODEL, "sugarcrepe": "0 of 1 ! unknown"}]
    assert scores.cells.iloc[0].tolist()[:7] == [
        MODEL, "sugarcrepe/swap_obj", "recall@1", "245", "60.00", "61.22", "-1.22 !",
    ]  # fmt: skip
    assert published.headline == ["0 of 1 published scores are reproduced within tolerance."]
    assert make_section(Results([Result(Path(), make_result("mine/test", 0.6))])) is None


@pytest.mark.parametrize("name", ["ViT-B-32/openai", MODEL, "transformers:openai/clip-vit-base-patch32"])
def test_validate_finds_results_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)

    def validate(*arguments: str):
        return CliRunner().invoke(app, ["validate", *arguments, "--data", "."])

    def write(share: float) -> None:
        result = make_result("sugarcrepe/swap_obj", share)
        result["model"] |= {"spec": MODEL, "name": MODEL} if name == MODEL else {}
        (tmp_path / "results" / "a.json").write_text(json.dumps(result))

    (tmp_path / "results").mkdir()
    assert "no published scores. Models with published scores: " in validate("mine").stderr
    assert "Import the files with `compeval import`" in validate("ViT-B-16/laion400m_e32").stderr
    write(0.6122)
    agreed = validate(name)
    assert (agreed.exit_code, "yes" in agreed.stdout) == (0, True)
    assert agreed.stderr.startswith("1 of 1 agree; ")
    write(0.5)
    disagreed = validate(name, "--json")
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


def test_all_scores_of_vl_compos_table_are_entered(real_data: Path):
    scores = {
        (score.model, score.task, score.metric): score.percent
        for score in read_scores()
        if score.source == TABLE_SOURCE and not score.category
    }
    with (real_data / "published" / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(len(row) - 2 for row in rows) == 170
    for row in rows:
        given = "/".join(filter(None, (row.pop("arch"), row.pop("pretrained"))))
        assert any("vl_compo" in score.source for score in find_scores(given))
        name = get_canonical_name(given)
        for column, percent in row.items():
            measured = read_columns()[column]
            score = scores[name, measured["task"], measured["metric"]]
            assert score == pytest.approx(float(percent), abs=0.0051), (name, column)
    assert scores[MODEL, "winoground/main", "group_score"] == 8.75
    assert scores["ViT-L-14-quickgelu/openai", "mmvp_vlm/main", "group_score"] == 7.41  # 10 of 135


def test_the_whole_table_replaces_the_entered_scores(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = real_data / "benchmarks" / "published_scores" / "individual_results.csv"
    entered = set(read_scores())
    table = read_table(source)
    # Five models: 117 columns of the benchmarks here, and the three means of MMVP-VLM's nine patterns.
    assert len(table) == 5 * (115 + 3) == len(set(table))
    assert set(table) <= entered
    assert {score.task.split("/")[0] for score in table} >= {
        *("aro_published", "colorswap", "crepe_published", "eqben", "imagecode", "mmvp_vlm"),
        *("sugarcrepe", "svo_probes", "valse", "vl_checklist", "whatsup", "winoground"),
    }
    folder = tmp_path / published_scores.TABLE.parent
    folder.mkdir(parents=True)
    (folder / source.name).write_bytes(source.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(published_scores, "read_scores", published_scores.read_scores.__wrapped__)
    used = published_scores.read_scores()
    assert {score for score in used if score.source == TABLE_SOURCE} == set(table)
    assert {score for score in used if score.source != TABLE_SOURCE} == {
        score for score in entered if score.source != TABLE_SOURCE
    }
    (folder / source.name).write_text("arch,other\n1,2\n")
    with pytest.raises(ValueError, match=r"individual_results\.csv: not vl_compo's"):
        published_scores.read_scores()


def test_names_of_models_in_the_table(tmp_path: Path):
    path = tmp_path / "individual_results.csv"
    path.write_text(
        "arch,pretrained,family,sugarcrepe::swap_obj\nRN101,openai,OpenCLIP,56.7\nRN101-quickgelu,openai,OpenCLIP,56.7\n"
        "CLIP_ViT-B-16,cc12m,LaCLIP,50\nCLIP_ViT-B-16,cc12m,SynthCLIP,51\nDAC-LLM,cc3m-ft,StructuredCLIP,\n"
    )
    assert [(score.model, score.percent) for score in read_table(path)] == [
        ("RN101-quickgelu/openai", 56.7),
        ("LaCLIP/CLIP_ViT-B-16/cc12m", 50),
        ("SynthCLIP/CLIP_ViT-B-16/cc12m", 51),
    ]


def test_every_published_score_is_recorded_once_and_is_of_a_declared_config():
    scores = read_scores()
    keys = [(score.model, score.task, score.metric, score.category, score.source) for score in scores]
    assert len(set(keys)) == len(keys)
    declared = {
        benchmark.name: {name.partition("/")[0] for name in benchmark.rows} for benchmark in benchmarks.load_all()
    }
    undeclared = {"svo_probes", "retrieval", "classification", "crepe_published", "aro_published"}
    for score in scores:
        dataset, config, *_ = score.task.split("/")
        assert dataset in undeclared or config in declared[dataset], score.task
    # BiVLC's authors declare theirs in its module: the score of ViT-B/32 is not in vl_compo's table.
    assert (
        PublishedScore(
            MODEL, "bivlc/main", "group_score", 49.06, 1, "the authors' file of results, computed over all rows"
        )
        in scores
    )


LAION = "ViT-B-32-quickgelu/laion400m_e32"


@pytest.mark.parametrize(
    ("task", "rows", "metrics", "causes"),
    [
        # sugarcrepe/swap_obj has 245 rows; ViT-B-32/openai is published with 61.22.
        ("sugarcrepe/swap_obj", 245, {"recall@1": 0.55}, {}),
        ("sugarcrepe/swap_obj", 200, {"recall@1": 0.55}, {"rows": "200 rows here, 245 published"}),
        ("sugarcrepe/swap_obj", 245, {"recall@1": 0.55, "tie_rate": 0.1}, {"ties": "10.0% of the queries are ties"}),
        ("sugarcrepe/swap_obj", 245, {"recall@1": 0.55, "tie_rate": 0.01}, {}),
        (
            *("whatsup/controlled_a", 103, {"accuracy": 0.2, "authors_accuracy": 0.3058}),
            {"mean": "authors_accuracy agrees (30.58)"},
        ),
        (
            *("aro_published/vg_relation", 23_937),
            {"recall@1_macro_relation": 0.5, "recall@1": 0.6, "recall@3": 0.6},
            {"mean": "recall@1 agrees (60.00)"},
        ),
        ("aro_published/coco_order", 25_010, {"recall@1": 0.4}, {"shuffles": "the published shuffles"}),
    ],
)
def test_known_causes_of_a_disagreement(task: str, rows: int, metrics: dict[str, float], causes: dict[str, str]):
    result = make_result(task, 0, rows) | {"metrics": metrics}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert not match.agrees
    assert match.is_comparable
    assert [cause.kind for cause in match.causes] == list(causes)
    assert all(text in cause.text for cause, text in zip(match.causes, causes.values(), strict=True))
    result["model"] |= {"precision": "bf16"}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert match.causes[-1].text == "computed in bf16"
    result["model"] |= {"precision": "fp32", "spec": "transformers:our/clip"}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert match.causes[-1].kind == "crop"


def test_a_published_run_with_another_activation_is_shown_but_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """vl_compo ran ViT-B-32/laion400m_e32 twice: with GELU, and with QuickGELU, as the weights were trained."""
    scores = tuple(
        PublishedScore(model, "sugarcrepe/swap_obj", "recall@1", percent, 1, TABLE_SOURCE)
        for model, percent in (("ViT-B-32/laion400m_e32", 66.94), (LAION, 60.41))
    )
    monkeypatch.setattr("evaluators.results.published.read_scores", lambda: scores)
    monkeypatch.chdir(tmp_path)
    result = make_result("sugarcrepe/swap_obj", 0.6041, rows=245)
    result["model"] |= dict.fromkeys(("spec", "name", "effective"), LAION)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text(json.dumps(result))
    done = CliRunner().invoke(app, ["validate", "ViT-B-32/laion400m_e32", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("1 of 1 agree; 1 of another activation; 0 more")
    assert "ran with GELU, the weights were trained with QuickGELU" in done.stdout
    section = make_section(Results([Result(Path(), result)]))
    assert section is not None
    assert section.headline == ["1 of 1 published scores are reproduced within tolerance."]
    assert section.tables[0].cells["sugarcrepe"].tolist() == ["1 of 1", "0 of 1 ! activation"]
    assert "Activation: the published model ran with another activation" in section.tables[0].caption


def test_scores_of_a_category_are_compared_with_the_same_rows():
    # vl_compo: ImageCoDe by kind of images, 15.06 for frames of videos and 50.70 for static images.
    result = make_result("imagecode/valid", 0.3, rows=2302)
    result["categories"] = {
        "kind of images": {"static": {"rows": 302, "recall@1": 0.507}, "video": {"rows": 2000, "recall@1": 0.2}}
    }
    matches = {match.metric: match for match in match_scores([result])}
    static, video = matches["recall@1 (static)"], matches["recall@1 (video)"]
    assert (static.rows, static.agrees) == (302, True)
    assert (video.rows, video.agrees, video.difference) == (2000, False, pytest.approx(20 - 15.06))


def test_validate_evaluates_what_is_here_and_lacks_a_result(here: Path, monkeypatch: pytest.MonkeyPatch):
    """The tiny CLIP is given a published score on nine rows; the task without a score is not evaluated."""
    provenance = {"source": "coco", "captioner": "published", "seed": 0}
    rows = [row | {"provenance": provenance} for row in tiny.choice_rows(9, 1)]
    tiny.write_dataset(here / "data", {name: {"test": rows} for name in ("swap_obj", "add_obj")}, "sugarcrepe")
    tiny.write_clip(here / "clip")
    score = PublishedScore("local:clip", "sugarcrepe/swap_obj", "recall@1", 50.0, 1, "a paper")
    monkeypatch.setattr("evaluators.results.published.read_scores", lambda: (score,))
    arguments = ["validate", "local:clip", "--data", "data", "--json", "--device", "cpu"]
    refused = CliRunner().invoke(app, [*arguments, "--no-run"])
    assert "no result of local:clip on a published dataset" in refused.stderr
    done = CliRunner().invoke(app, arguments)
    (record,) = json.loads(done.stdout)
    assert (record["task"], record["rows"], record["source"]) == ("sugarcrepe/swap_obj", 9, "a paper")
    assert [path.stem for path in (here / "results").rglob("*obj*.json")] == ["swap_obj"]
    monkeypatch.setattr("evaluators.models.resolve", None)  # the model is not loaded again
    assert json.loads(CliRunner().invoke(app, arguments).stdout) == [record]
