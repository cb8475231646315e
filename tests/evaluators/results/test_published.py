import csv
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.sections.published import make_section
from compeval.evaluators.results import scores as scores_module
from compeval.evaluators.results.causes import find_causes
from compeval.evaluators.results.matches import get_tolerance
from compeval.evaluators.results.published import find_scores, get_canonical_name, match_scores
from compeval.evaluators.results.score_tables import list_tables
from compeval.evaluators.results.scores import (
    FIVE_MODELS,
    MEAN,
    RELEASED,
    PublishedScore,
    count_rows,
    describe_missing,
    find_cached_tables,
    find_pulled_scores,
    find_tables,
    has_published_scores,
    read_columns,
    read_means,
    read_models,
    read_scores,
    read_sources,
    read_tables,
    write_scores,
)
from compeval.loaders import benchmarks
from tests.close import assert_close
from tests.evaluators import tiny

TABLE_SOURCE, MTEB = (read_sources()[name]["title"] for name in ("vl_compo", "mteb"))
MODEL = "ViT-B-32-quickgelu/openai"
LAION = "ViT-B-32-quickgelu/laion400m_e32"
ROOT = Path(__file__).parents[3]
TABLE = "benchmarks/published_scores/individual_results.csv"
INDIVIDUAL = "published/scores.csv"
"""Ten models of vl_compo's table, rounded to two decimals."""
with_all_models = pytest.mark.skipif(
    not RELEASED.exists(), reason="the file of all models is not in the package"
)
"""Tests of the numbers of the sources, which only a release contains."""
TOOL = ROOT / "tools" / "published-scores"


def make_result(
    task: str, value: float, rows: int = 1000, metric: str = "recall@1", limit: int | None = None
) -> dict:
    return {
        "schema": 1,
        "task": task,
        "model": {
            "spec": "ViT-B-32/openai",
            "name": "ViT-B-32/openai",
            "effective": MODEL,
            "contaminated": None,
        },
        "data": {"rows": rows, "limit": limit},
        "metrics": {metric: value},
    }


def test_agreement_depends_on_the_tolerance():
    # CREPE, Table 12: CLIP's ViT-B-32 has 18.61 at n = 8.
    task = "crepe_published/prod_hnatom/n8"
    (near,), (far,) = (
        match_scores([make_result(task, 0.195)]),
        match_scores([make_result(task, 0.20)]),
    )
    assert (near.score.percent, near.score.source, near.tolerance) == (
        18.61,
        "CREPE, Table 12",
        1.0,
    )
    assert_close(near.difference, 0.89)
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
        scores[table, model, f"crepe_published/laion_{split}_raw", "t2i_recall@1"]
        for split in ("sc", "uc", "ua")
    ]
    assert percents == [38.69, 32.00, 25.61]
    our_result = make_result("crepe_published/prod_raw/n8", 0.30, metric="i2t_recall@1")
    (pair,) = match_scores(
        [
            our_result
            | {"model": our_result["model"] | {"effective": "ViT-B-32-quickgelu/laion400m_e32"}}
        ]
    )
    assert (pair.score.source, pair.score.percent, pair.agrees) == ("CREPE, Table 16", 29.20, True)


def test_tolerance_is_at_least_the_weight_of_one_row():
    # HN-Swap at n = 4 has 27 rows, so one row weighs 100 / 27 = 3.7 points.
    swap = PublishedScore(MODEL, "crepe_published/prod_hnswap/n4", "recall@1", 25.93, 1, "")
    assert_close(get_tolerance(swap, 27), 100 / 27)
    order = PublishedScore(MODEL, "aro_published/coco_order", "recall@1", 46.0, 1, "")
    assert get_tolerance(order, 25_010) == 2.0


def test_score_over_several_tasks_is_the_mean_over_rows():
    tasks = [f"crepe_published/prod_hnneg/n{n}" for n in range(4, 13)]
    results = [
        make_result(
            task, 0.5 if task.endswith("n4") else 0.25, rows=900 if task.endswith("n4") else 100
        )
        for task in tasks
    ]
    match = {pair.score.task: pair for pair in match_scores(results)}[
        "crepe_published/prod_hnneg/n*"
    ]
    # (900 * 50 + 8 * 100 * 25) / 1700
    assert_close(match.ours, 65_000 / 1700)
    assert "crepe_published/prod_hnneg/n*" not in {
        pair.score.task for pair in match_scores(results[1:])
    }


def test_report_section_compares_scores():
    published = make_section(
        Results([Result(Path(), make_result("sugarcrepe/swap_obj", 0.6, rows=245))])
    )
    assert published is not None
    overview, scores = published.tables
    assert overview.cells.to_dict("records") == [{"Model": MODEL, "sugarcrepe": "0 of 1 ! unknown"}]
    assert scores.cells.iloc[0].tolist()[:7] == [
        MODEL, "sugarcrepe/swap_obj", "recall@1", "245", "60.00", "61.22", "-1.22 !",
    ]  # fmt: skip
    assert published.headline == ["0 of 1 published scores are reproduced within tolerance."]
    assert make_section(Results([Result(Path(), make_result("mine/test", 0.6))])) is None


@pytest.mark.parametrize(
    "name", ["ViT-B-32/openai", MODEL, "transformers:openai/clip-vit-base-patch32"]
)
def test_validate_finds_results_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.chdir(tmp_path)

    def validate(*arguments: str):
        return CliRunner().invoke(app, ["validate", *arguments, "--data", "."])

    def write(share: float) -> None:
        result = make_result("sugarcrepe/swap_obj", share, rows=245)
        result["model"] |= {"spec": MODEL, "name": MODEL} if name == MODEL else {}
        (tmp_path / "results" / "a.json").write_text(json.dumps(result), encoding="utf-8")

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
    ("spec", "task", "metrics", "rows"),
    [
        (
            "vlm:llava-hf/llava-1.5-13b-hf",
            "naturalbench/main",
            {"question_accuracy": 0.386, "image_accuracy": 0.435, "group_accuracy": 0.144},
            1900,
        ),
        ("api:gpt-4o-2024-08-06", "naturalbench/main", {"group_accuracy": 0.405}, 1900),
        ("vlm:zhiqiulin/clip-flant5-xl", "winoground/main", {"group_score": 0.348}, 400),
    ],
)
def test_generative_models_have_published_scores(
    spec: str,
    task: str,
    metrics: dict[str, float],
    rows: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """The authors' VQAScore and answers; a result that is five points off disagrees."""
    result = make_result(task, 0.0, rows) | {"metrics": metrics}
    title = spec.rpartition("/")[2]
    result["model"] |= {"spec": spec, "name": title, "effective": title}
    matches = match_scores([result])
    assert {match.score.metric: match.verdict for match in matches} == dict.fromkeys(metrics, "yes")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    first = next(iter(metrics))
    result["metrics"] = {first: metrics[first] + 0.05}
    (tmp_path / "results/a.json").write_text(json.dumps(result), encoding="utf-8")
    done = CliRunner().invoke(app, ["validate", spec, "--no-run", "--json"])
    assert (done.exit_code, [line["verdict"] for line in json.loads(done.stdout)]) == (1, ["no"])


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


def test_the_scores_of_ten_models_of_vl_compos_table_are_entered(real_data: Path):
    scores = {
        (score.model, score.task, score.metric): score.percent
        for score in read_scores()
        if score.source == TABLE_SOURCE and not score.category
    }
    with (real_data / INDIVIDUAL).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(len(row) - 2 for row in rows) == 10 * 17
    for row in rows:
        given = "/".join(filter(None, (row.pop("arch"), row.pop("pretrained"))))
        names = {score.model for score in find_scores(given) if score.source == TABLE_SOURCE}
        if not names:  # of a model that only the file of all models has
            assert find_tables() == FIVE_MODELS
            continue
        for column, percent in row.items():
            measured = read_columns()["vl_compo", column]
            found = [scores[name, measured["task"], measured["metric"]] for name in names]
            nearest = min(found, key=lambda score: abs(score - float(percent)))
            # The file has two decimals.
            assert_close(
                {(given, column): nearest}, {(given, column): float(percent)}, within=0.0051
            )
    assert scores[MODEL, "winoground/main", "group_score"] == 8.75
    # 10 of 135.
    assert scores["ViT-L-14-quickgelu/openai", "mmvp_vlm/main", "group_score"] == 7.4074


def test_the_packaged_scores_are_those_of_the_authors_file(real_data: Path):
    """Five models of the authors' file, with all of its columns."""
    with (real_data / TABLE).open(encoding="utf-8", newline="") as file:
        table = {
            f"{row['arch']}/{row['pretrained']}/{row['family']}": row
            for row in csv.DictReader(file)
        }
    rows = [row for row in read_tables() if row["source"] == "vl_compo"]
    columns = {column for source, column in read_columns() if source == "vl_compo"}
    compared = [row for row in rows if row["name"] in table and row["column"] in table[row["name"]]]
    assert len(compared) == 5 * 115
    assert {row["column"] for row in compared} < columns
    expected = [float(table[row["name"]][row["column"]]) for row in compared]
    assert_close([row["percent"] for row in compared], expected, within=0.50001e-4)  # four decimals


@with_all_models
def test_the_numbers_of_each_source_are_counted():
    """Models, columns and numbers, counted in the sources' files with csv and json alone."""
    rows = read_tables()
    counts = {
        source: (
            len({row["name"] for row in rows if row["source"] == source}),
            len({row["column"] for row in rows if row["source"] == source}),
            sum(row["source"] == source for row in rows),
        )
        for source in ("vl_compo", "mteb", "fsc_clip", "negbench", "predicate_noun")
    }
    assert counts == {
        "vl_compo": (202, 118, 202 * 118),
        "mteb": (49, 9, 434),  # 42 of SugarCrepe, 49 of all others, three each of Winoground
        "fsc_clip": (12, 10, 120),
        "negbench": (10, 8, 2 * 10 + 6 * 8),  # two models have no accuracies by template
        "predicate_noun": (13, 4, 3 * 12 + 1),
    }
    assert len(rows) == 24_390 + 68 + 37
    assert len({(row["source"], row["name"], row["column"]) for row in rows}) == len(rows)


def load_tool() -> ModuleType:
    loader = SourceFileLoader("published_scores", str(TOOL))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    tool = module_from_spec(spec)
    loader.exec_module(tool)
    return tool


def commit(folder: Path, files: Mapping[str, str]) -> str:
    """Make a repository with these files, and return its commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@x")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, dict[str, Path]]:
    """The tool, and small clones of all sources in their formats. The packaged file is one of the test."""
    rows = {
        "vl_compo": {
            "individual_results.csv": "arch,pretrained,family,winoground::group,elevator::other\n"
            "NegCLIP,coco-ft,StructuredCLIP,8.0,1\n"
        },
        "fsc_clip": {
            "assets/extended_results.csv": "CLIP,Pretrained_Finetined,Arch,winoground,spec\n"
            "fsc-clip,openai_coco,ViT-B-32,9.5,34\n"
        },
        "mteb": {
            "results/a/b/model_meta.json": json.dumps({"name": "openai/clip-vit-base-patch32"}),
            "results/a/b/SugarCrepe.json": json.dumps(
                {
                    "task_name": "SugarCrepe",
                    "evaluation_time": 2.5,
                    "scores": {"test": [{"text_acc": 0.75}]},
                }
            ),
        },
        "negbench": {
            file.name: "Model,COCO MCQ Total Accuracy\nCLIP-OpenAI,0.39296584376056815\n"
            for file in list_tables()["negbench"].files
        },
        # Of two pairs, the second is right in both rows. People answered one row.
        "predicate_noun": {
            file.name: "pos,result\nsubject,True\nsubject,False\nobject,True\nobject,True\n"
            for file in list_tables()["predicate_noun"].files
        }
        | {"runs/sentence-semantics/Human/results.csv": "pos,result\nobject,True\n"},
    }
    tool = load_tool()
    folders = {source: tmp_path / source for source in rows}
    commits = {source: {"commit": commit(folders[source], files)} for source, files in rows.items()}
    monkeypatch.setattr(tool, "read_sources", lambda: commits)
    monkeypatch.setattr(tool, "check_means", lambda clone: 0)
    monkeypatch.setattr(scores_module, "RELEASED", tmp_path / "release.parquet")
    monkeypatch.setattr(tool, "RELEASED", tmp_path / "release.parquet")
    return tool, folders


def test_the_tool_writes_and_checks_the_scores(
    clones: tuple[ModuleType, dict[str, Path]], monkeypatch: pytest.MonkeyPatch
):
    """One changed score in the file is one fault, one that it lacks another, and one that the source lacks a third."""
    tool, folders = clones
    assert find_tables() == FIVE_MODELS
    monkeypatch.setattr("sys.argv", ["tool", "write", *map(str, folders.values())])
    assert tool.main() == 0
    assert find_tables() == find_cached_tables()
    rows = pq.read_table(find_tables()).to_pylist()
    assert [
        (row["source"], row["column"], row["percent"], row["seconds"])
        for row in rows
        if row["source"] != "predicate_noun" or row["name"] in ("CLIP", "Human")
    ] == [
        ("fsc_clip", "winoground", 9.5, None),
        ("mteb", "SugarCrepe:text_acc", 75.0, 2.5),
        ("negbench", "COCO MCQ Total Accuracy", 39.2966, None),
        ("predicate_noun", "pairs", 50.0, None),
        ("predicate_noun", "pairs:object", 100.0, None),
        ("predicate_noun", "pairs:subject", 0.0, None),
        ("predicate_noun", "single rows", 100.0, None),
        ("vl_compo", "winoground::group", 8.0, None),
    ]
    assert tool.check(folders) == 0
    rows[0]["percent"] = 9.6
    rows[1]["column"] = (
        "Winoground:accuracy"  # lacks one that the source has, and has one that the source lacks
    )
    write_scores(find_tables(), rows)
    assert tool.check(folders) == 3
    # A release's file comes before the user's.
    monkeypatch.setattr("sys.argv", ["tool", "write", "--package", *map(str, folders.values())])
    assert tool.main() == 0
    assert find_tables() == tool.RELEASED


def test_without_the_file_of_all_models_one_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, made_up_table: Path
):
    monkeypatch.setattr(scores_module, "RELEASED", Path("no release"))
    assert len(read_tables()) == 575
    assert "five models are known here: `compeval results pull scores`" in describe_missing()
    find_cached_tables().parent.mkdir(parents=True)
    find_cached_tables().write_bytes(made_up_table.read_bytes())
    assert (len({row["name"] for row in read_tables()}) > 270, describe_missing()) == (True, "")
    find_cached_tables().write_text("not parquet", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"this version's `compeval results pull scores`\. Run this"
    ):
        read_tables()


@with_all_models
def test_the_mean_over_the_rows_of_sugarcrepe_is_mtebs():
    """vl_compo's columns, weighted by their rows, against MTEB's own evaluation of the same 16 models."""
    scores: dict[str, dict[str, float]] = {}
    for score in read_scores():
        if (score.task, score.metric) == ("sugarcrepe/*", "recall@1"):
            assert (score.tasks, score.rows) == (7, 7511)
            scores.setdefault(score.model, {})[score.source] = score.percent
    both = [by_source for by_source in scores.values() if len(by_source) == 2]
    assert (len(scores), len(both)) == (201 + 42 - 16, 16)
    assert max(abs(item[TABLE_SOURCE] - item[MTEB]) for item in both) < 0.35


@pytest.mark.usefixtures("all_models")
def test_every_column_and_model_of_the_tables_is_described():
    rows = read_tables()
    for source in ("vl_compo", "mteb", "fsc_clip", "negbench", "predicate_noun"):
        columns = {column for origin, column in read_columns() if origin == source}
        models = {name for origin, name in read_models() if origin == source}
        assert {row["column"] for row in rows if row["source"] == source} == columns
        assert {row["name"] for row in rows if row["source"] == source} == models
    assert {part for weights in read_means().values() for part in weights} <= {
        column for _, column in read_columns()
    }
    for weights in read_means().values():
        # Twelve decimals.
        assert_close(float(sum(weights.values())), 1, within=len(weights) * 0.5e-12)
    assert all(source["date"] for source in read_sources().values())


@pytest.mark.usefixtures("all_models")
def test_pulled_scores_replace_packaged_ones(add_scores: Callable[..., None]):
    own = "ViT-B-32/openai/OpenCLIP"
    before = read_tables()
    add_scores(
        (*("mteb", "BAAI/bge-visualized-base"), "Winoground:accuracy", 12.5),
        ("vl_compo", own, "winoground::group", 10.25),  # 8.75 in the package
    )
    rows = read_tables()
    assert len(rows) == len(before)
    assert list(dict.fromkeys(row["source"] for row in rows)) == [
        "vl_compo", "mteb", "fsc_clip", "negbench", "predicate_noun",
    ]  # fmt: skip
    scores = {
        (score.source, score.model): score
        for score in read_scores()
        if score.task == "winoground/main" and "group" in score.metric
    }
    assert (scores[TABLE_SOURCE, MODEL].percent, scores[TABLE_SOURCE, "NegCLIP"].percent) == (
        10.25,
        8.0,
    )
    pulled = scores[MTEB, "BAAI/bge-visualized-base"]
    assert (pulled.percent, pulled.rows, pulled.seconds) == (12.5, 400, 1.5)


@pytest.mark.parametrize("content", ["not parquet", "unknown model", "unknown column"])
def test_pulled_scores_of_another_version_are_refused(
    content: str, add_scores: Callable[..., None]
):
    model = "NegCLIP/coco-ft/StructuredCLIP"
    add_scores(
        ("vl_compo", "nobody" if content == "unknown model" else model, "nothing::here", 1.0)
    )
    if content == "not parquet":
        find_pulled_scores().write_text("source,name,column,percent,seconds\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"mteb_scores\.parquet: not a file of this version.* Delete it and pull again",
    ):
        read_scores()


def test_every_published_score_is_recorded_once_and_is_of_a_declared_config():
    scores = [score for score in read_scores() if score.metric != MEAN]
    keys = [
        (score.model, score.task, score.metric, score.category, score.source) for score in scores
    ]
    assert len(set(keys)) == len(keys)
    declared = {
        benchmark.name: {name.partition("/")[0] for name in benchmark.rows}
        for benchmark in benchmarks.load_all()
    }
    undeclared = {
        "svo_probes",
        "retrieval",
        "classification",
        "crepe_published",
        "aro_published",
        "compun",
        "vl_checklist",
    }
    for score in scores:
        dataset, config, *_ = score.task.split("/")
        assert dataset in undeclared or any(
            fnmatchcase(name, config) for name in declared[dataset]
        ), score.task
    # BiVLC's authors declare theirs in its module: the score of ViT-B/32 is not in vl_compo's table.
    source = "the authors' file of results, computed over all rows"
    assert PublishedScore(MODEL, "bivlc/main", "group_score", 49.06, 1, source, rows=2933) in scores


@pytest.mark.parametrize(
    ("task", "rows", "metrics", "causes"),
    [
        # sugarcrepe/swap_obj has 245 rows; ViT-B-32/openai is published with 61.22.
        ("sugarcrepe/swap_obj", 245, {"recall@1": 0.55}, {}),
        (
            "sugarcrepe/swap_obj",
            245,
            {"recall@1": 0.55, "tie_rate": 0.1},
            {"ties": "10.0% of the queries are ties"},
        ),
        ("sugarcrepe/swap_obj", 245, {"recall@1": 0.55, "tie_rate": 0.01}, {}),
        (
            *("whatsup/controlled_a", 103, {"accuracy": 0.2, "authors_accuracy": 0.3058}),
            {"mean": "authors_accuracy agrees (30.58)"},
        ),
        (
            *("aro_published/vg_relation", 23_937),
            {"recall@1_macro_relation_table_2": 0.5, "recall@1": 0.6, "recall@3": 0.6},
            {"mean": "recall@1 agrees (60.00)"},
        ),
        (
            "aro_published/coco_order",
            25_010,
            {"recall@1": 0.4},
            {"shuffles": "the published shuffles"},
        ),
    ],
)
def test_known_causes_of_a_disagreement(
    task: str, rows: int, metrics: dict[str, float], causes: dict[str, str]
):
    result = make_result(task, 0, rows) | {"metrics": metrics}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert (match.agrees, match.is_on_other_rows) == (False, False)
    assert [cause.kind for cause in match.causes] == list(causes)
    assert all(
        text in cause.text for cause, text in zip(match.causes, causes.values(), strict=True)
    )
    result["model"] |= {"precision": "bf16"}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert match.causes[-1].text == "computed in bf16"
    result["model"] |= {"precision": "fp32", "spec": "transformers:our/clip"}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert match.causes[-1].kind == "crop"
    result["model"] |= {"spec": "transformers:google/siglip-base-patch16-224"}
    match = next(match for match in match_scores([result]) if match.score.source == TABLE_SOURCE)
    assert "crop" not in [cause.kind for cause in match.causes]


def test_perturbed_retrieval_has_other_shuffles_than_the_published_one():
    difference = SimpleNamespace(agrees=False, is_on_other_rows=False, tolerance=1.0, rows=1000)
    for task, kinds in (
        ("retrieval/coco@shuffle_all_words-s*", ["shuffles"]),
        ("retrieval/coco", []),
    ):
        score = PublishedScore(MODEL, task, "recall@1", 50.0, 1, TABLE_SOURCE)
        results = [make_result(task, 0, 1000) | {"metrics": {"recall@1": 0.4}}]
        assert [cause.kind for cause in find_causes(score, MODEL, results, difference)] == kinds  # pyright: ignore


def test_a_published_run_with_another_activation_is_shown_but_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """vl_compo ran ViT-B-32/laion400m_e32 twice: with GELU, and with QuickGELU, as the weights were trained."""
    scores = tuple(
        PublishedScore(model, "sugarcrepe/swap_obj", "recall@1", percent, 1, TABLE_SOURCE)
        for model, percent in (("ViT-B-32/laion400m_e32", 66.94), (LAION, 60.41))
    )
    monkeypatch.setattr("compeval.evaluators.results.published.read_scores", lambda: scores)
    monkeypatch.chdir(tmp_path)
    result = make_result("sugarcrepe/swap_obj", 0.6041, rows=245)
    result["model"] |= dict.fromkeys(("spec", "name", "effective"), LAION)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text(json.dumps(result), encoding="utf-8")
    done = CliRunner().invoke(app, ["validate", "ViT-B-32/laion400m_e32", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("1 of 1 agree; 1 of another activation; 0 more")
    assert "ran with GELU, the weights were trained with QuickGELU" in done.stdout
    section = make_section(Results([Result(Path(), result)]))
    assert section is not None
    assert section.headline == ["1 of 1 published scores are reproduced within tolerance."]
    assert section.tables[0].cells["sugarcrepe"].tolist() == ["1 of 1", "0 of 1 ! activation"]
    assert (
        "Activation: the published model ran with another activation" in section.tables[0].caption
    )


def test_scores_of_a_category_are_compared_with_the_same_rows():
    # vl_compo: ImageCoDe by kind of images, 15.06 for frames of videos and 50.70 for static images.
    result = make_result("imagecode/valid", 0.3, rows=2302)
    result["categories"] = {
        "kind of images": {
            "static": {"rows": 302, "recall@1": 0.507},
            "video": {"rows": 2000, "recall@1": 0.2},
        }
    }
    matches = {match.metric: match for match in match_scores([result])}
    static, video = matches["recall@1 (static)"], matches["recall@1 (video)"]
    assert (static.rows, static.agrees) == (302, True)
    assert (video.rows, video.agrees) == (2000, False)
    assert_close(video.difference, 20 - 15.06, within=0.005)


def test_validate_evaluates_what_is_here_and_lacks_a_result(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    """The tiny CLIP is given a published score on nine rows; the task without a score is not evaluated."""
    provenance = {"source": "coco", "captioner": "published", "seed": 0}
    rows = [row | {"provenance": provenance} for row in tiny.choice_rows(9, 1)]
    tiny.write_dataset(
        here / "data", {name: {"test": rows} for name in ("swap_obj", "add_obj")}, "sugarcrepe"
    )
    tiny.write_clip(here / "clip")
    score = PublishedScore("local:clip", "sugarcrepe/swap_obj", "recall@1", 50.0, 1, "a paper")
    monkeypatch.setattr("compeval.evaluators.results.published.read_scores", lambda: (score,))
    arguments = ["validate", "local:clip", "--data", "data", "--json", "--device", "cpu"]
    refused = CliRunner().invoke(app, ["validate", "local:clip", "--no-run"])
    assert "no result of local:clip on a published dataset" in refused.stderr
    done = CliRunner().invoke(app, arguments)
    (record,) = json.loads(done.stdout)
    assert (record["task"], record["rows"], record["source"]) == (
        "sugarcrepe/swap_obj",
        9,
        "a paper",
    )
    assert [path.stem for path in (here / "results").rglob("*obj*.json")] == ["swap_obj"]
    monkeypatch.setattr(
        "compeval.evaluators.models.load_model", None
    )  # the model is not loaded again
    assert json.loads(CliRunner().invoke(app, arguments).stdout) == [record]


def make_published_results(scores: Sequence[PublishedScore]) -> dict[str, dict[str, Any]]:
    """Return the results of a model that has these scores on the released files, by task.

    Of several scores for one number, it has the first. A mean over tasks is the value of all of them, if it is the only
    score of these tasks.
    """
    results: dict[str, dict[str, Any]] = {}
    whole = sorted(
        (score for score in scores if score.metric != MEAN),
        key=lambda score: score.task.endswith("*"),
    )
    pairs = [(score, task) for score in whole for task in expand(score)]
    for score, task in pairs:
        if (
            score.task.endswith("*")
            and score.metric in results.get(task, {"metrics": {}})["metrics"]
        ):
            continue
        result = results.setdefault(
            task, make_result(task, 0.0, metric="") | {"metrics": {}, "categories": {}}
        )
        result["model"] = dict.fromkeys(("spec", "name", "effective"), score.model) | {
            "contaminated": None
        }
        result["data"]["rows"] = (
            count_rows(task) or (not (score.subset or score.category) and score.rows) or 1000
        )
        part = result["metrics"]
        if score.category:
            part = (
                result["categories"]
                .setdefault(score.by, {})
                .setdefault(score.category, {"rows": score.rows or 100})
            )
        part.setdefault(score.metric, score.percent / 100)
    return results


def expand(score: PublishedScore) -> list[str]:
    """Return the tasks of a score."""
    dataset, _, config = score.task.partition("/")
    if not score.task.endswith("*"):
        return [score.task]
    if dataset == "crepe_published":
        return [score.task.replace("*", str(complexity)) for complexity in range(4, 13)]
    if config == "*":
        return [f"{dataset}/{name}" for name in benchmarks.load(dataset).rows]
    return [score.task.replace("*", str(seed)) for seed in range(3)]


def group_scores(*key: str) -> dict[tuple[str, ...], list[PublishedScore]]:
    groups: dict[tuple[str, ...], list[PublishedScore]] = {}
    for score in read_scores():
        groups.setdefault(tuple(getattr(score, name) for name in key), []).append(score)
    return groups


def get_own_verdict(score: PublishedScore) -> str:
    """Return the verdict on a result with the published value itself."""
    if score.apart:
        return "not comparable"
    return "other rows" if score.subset else "yes"


@pytest.mark.usefixtures("all_models")
def test_no_published_score_is_called_a_disagreement_with_itself():
    """Every source of every model, on the released files: scores on other rows are marked, all others agree."""
    verdicts: Counter[tuple[str, str]] = Counter()
    for (source, model), scores in group_scores("source", "model").items():
        for match in match_scores(list(make_published_results(scores).values())):
            assert match.is_on_other_rows == bool(match.score.subset), match
            if match.score.source == source and match.score.model == model:
                assert match.verdict == get_own_verdict(match.score), match
                verdicts[source, match.verdict] += 1
    crepe, vl_checklist, svo, means = 3, 13, 3, 3
    assert verdicts[TABLE_SOURCE, "other rows"] == 201 * (crepe + vl_checklist + svo + means)
    # ImageCoDe, and ARO's two sets of Visual Genome.
    assert verdicts[MTEB, "not comparable"] == 49 * 3
    assert verdicts[MTEB, "yes"] == 49 * 9 - 49 * 3


@pytest.mark.usefixtures("all_models")
def test_no_published_score_is_called_a_disagreement_with_another_source():
    """Every model with the scores of all sources: where they differ, both are shown."""
    verdicts: Counter[str] = Counter()
    for scores in group_scores("model").values():
        verdicts.update(
            match.verdict for match in match_scores(list(make_published_results(scores).values()))
        )
    expected = {"yes", "not comparable", "other rows", "other source", "other activation"}
    assert verdicts.keys() == expected, verdicts


@pytest.mark.usefixtures("all_models")
@pytest.mark.parametrize(
    ("source", "model", "task", "metric"),
    [
        (TABLE_SOURCE, MODEL, "sugarcrepe/swap_obj", "recall@1"),
        (TABLE_SOURCE, "NegCLIP", "valse/plurals", "recall@1"),
        (MTEB, "BAAI/bge-visualized-base", "winoground/main", "group_score"),
        ("CREPE, Table 9", "ViT-L-14/laion400m_e32", "crepe_published/laion_uc_hnall", "recall@3"),
    ],
)
def test_a_score_that_is_moved_by_two_points_is_one_disagreement(
    source: str,
    model: str,
    task: str,
    metric: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Through `compeval validate`, with the scores of all sources."""
    results = make_published_results(group_scores("model")[model,])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()

    def validate() -> tuple[int, list[dict[str, Any]]]:
        for number, result in enumerate(results.values()):
            (tmp_path / "results" / f"{number}.json").write_text(
                json.dumps(result), encoding="utf-8"
            )
        done = CliRunner().invoke(app, ["validate", model, "--no-run", "--json"])
        return done.exit_code, [line for line in json.loads(done.stdout) if line["verdict"] == "no"]

    assert validate() == (0, [])
    results[task]["metrics"][metric] += 0.02
    status, (wrong,) = validate()
    assert (status, wrong["task"], wrong["metric"], wrong["source"]) == (1, task, metric, source)


@pytest.mark.usefixtures("all_models")
def test_a_marked_score_neither_agrees_nor_disagrees():
    """ImageCoDe with ViT-B-32/openai: (302 * 50.6977 + 2000 * 15.0641) / 2302; MTEB's copy has other labels."""
    result = make_result("imagecode/valid", 0.132, rows=2302)
    matches = {match.score.source: match for match in match_scores([result])}
    mteb, table = matches[MTEB], matches[TABLE_SOURCE]
    assert (mteb.agrees, mteb.verdict) == (True, "not comparable")
    assert mteb.explanation.startswith("MTEB's copy of the data numbers the images of a set anew")
    assert (table.score.percent, table.verdict) == (21.7202, "no")
    section = make_section(Results([Result(Path(), result)]))
    assert section is not None
    (cell,) = section.tables[0].cells["imagecode"]
    assert cell == "0 of 1 ! unknown; 1 not comparable"


@pytest.mark.parametrize(
    ("task", "metric", "rows", "published", "text"),
    [
        (
            "vl_checklist/attribute_color",
            "recall@1_macro_source",
            11_569,
            2000,
            "the first 1,000 rows of each file",
        ),
        ("sugarcrepe/swap_obj", "recall@1", 200, 245, "200 rows here, 245 published"),
    ],
)
def test_a_score_on_other_rows_neither_agrees_nor_disagrees(
    task: str, metric: str, rows: int, published: int, text: str
):
    for value in (0.1, 0.9):
        match, *_ = match_scores([make_result(task, value, rows, metric)])
        assert (match.verdict, match.score.rows, match.is_comparable) == (
            "other rows",
            published,
            False,
        )
        assert text in match.explanation
    section = make_section(Results([Result(Path(), make_result(task, 0.1, rows, metric))]))
    assert section is not None
    assert section.tables[0].cells.iloc[0].tolist() == [MODEL, "1 on other rows"]
    assert section.headline == ["0 of 0 published scores are reproduced within tolerance."]


def test_datasets_with_published_scores_are_named_without_reading_them():
    datasets = {score.task.partition("/")[0] for score in read_scores()}
    assert datasets
    assert all(map(has_published_scores, datasets))
    assert {*scores_module.GENERATED} <= datasets
    assert not has_published_scores("own")
