"""Publish results to, and pull them from, a local server that imitates the endpoints of the Hub."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.results import hub
from tests.evaluators.written import write_hits
from tests.hub_server import Repositories

ROWS = 40


def write(root: Path, model: str, task: str, hits: int, **changes: object) -> None:
    defaults = {
        "chance": 0.5,
        "synthetic": False,
        "source": "coco",
        "code": {"version": "0", "fingerprint": "0"},
        "about": {"fingerprint": "w"},
    }
    write_hits(root, model, task, hits, ROWS, **defaults | changes)


def call(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


def write_results(root: Path, **changes: object) -> Path:
    intervals = {"recall@1": [0.8, 0.95]}
    write(root, "ViT/x", "sugarcrepe/swap_obj", 36, **{"intervals": intervals} | changes)
    return root


PAGE = ("--model-repo", "their/model", "--benchmark", "sugarcrepe=their/sugarcrepe")


def test_dry_run_prints_all_files_and_uploads_nothing(hub_server: Repositories, tmp_path: Path):
    folder = write_results(tmp_path / "r")
    write(
        folder / "few", "ViT/x", "other/test", 40, data={"rows": 5, "limit": 5, "fingerprint": "f"}
    )
    shown = call("publish", folder, "--to", "me/results", *PAGE, "--dry-run")
    assert shown.exit_code == 0, shown.output
    names = [line.split("\t")[0] for line in shown.stdout.splitlines() if line.endswith(" bytes")]
    # Every Eval Ever.
    assert names.pop(2).startswith("datasets/me/results/data/compeval/open_clip/ViT--x/")
    assert names == [
        "datasets/me/results/coco/ViT--x/sugarcrepe/swap_obj.json",
        "datasets/me/results/coco/ViT--x/sugarcrepe/swap_obj.parquet",
        "datasets/me/results/README.md",
        "their/model/.eval_results/compeval.yaml",
    ]
    assert hub_server.files == {}


def test_eval_results_are_valid_for_huggingface_hubs_own_classes(tmp_path: Path):
    publication = hub.prepare(
        [write_results(tmp_path)], "me/results", "their/model", {"sugarcrepe": "their/sugarcrepe"}
    )
    (entry,) = parse_eval_result_entries(yaml.safe_load(publication.model_files[hub.EVAL_RESULTS]))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("their/sugarcrepe", "swap_obj", 90.0)
    assert (entry.source_url, entry.source_name) == (
        "https://huggingface.co/datasets/me/results",
        "CompEval",
    )
    assert entry.notes == (
        "recall@1 in percent; 95 % interval over images 80.0 to 95.0; chance 50.0; 40 rows; fp32, CompEval 0"
    )


def test_pulled_results_equal_the_published_results(hub_server: Repositories, tmp_path: Path):
    folder = write_results(tmp_path / "r")
    done = call("publish", folder, "--to", "me/results", "--private")
    assert done.exit_code == 0, done.output
    assert hub_server.private == {"me/results": True}
    pulled = call("results", "pull", "me/results", "--output", tmp_path / "pulled")
    assert pulled.stdout == f"{tmp_path}/pulled/me--results/coco/ViT--x\n"
    for suffix in ("json", "parquet"):
        (there,) = (tmp_path / "pulled").rglob(f"*.{suffix}")
        (here,) = folder.rglob(f"*.{suffix}")
        assert there.read_bytes() == here.read_bytes()
    write(tmp_path / "mine", "Mine/x", "sugarcrepe/swap_obj", 10)
    ranked = call(
        "results",
        "pull",
        "me/results",
        "--output",
        tmp_path / "pulled",
        "--compare",
        tmp_path / "mine",
    )
    assert "Mine/x" in ranked.stdout
    card = yaml.safe_load(hub_server.files["me/results"]["README.md"].decode().split("---\n")[1])
    assert card["configs"] == [
        {
            "config_name": "sugarcrepe--swap_obj",
            "data_files": [{"split": "test", "path": ["coco/ViT--x/sugarcrepe/swap_obj.parquet"]}],
        }
    ]


def test_the_folders_of_this_machine_are_not_published(hub_server: Repositories, tmp_path: Path):
    """Paths of a local model and of unreadable images are removed. The local document is not changed."""
    place = str(tmp_path / "John Doe" / "clip")
    about = {"fingerprint": "w", "spec": f"local:{place}", "effective": f"local:{place}"}
    changes = {
        "about": about,
        "warnings": [f"from {place}"],
        "skipped": [{"row": 3, "error": f"{place}/p.jpg: no"}],
    }
    folder = tmp_path / "r"
    write(
        folder,
        place,
        "sugarcrepe/swap_obj",
        36,
        **{"intervals": {"recall@1": [0.8, 0.95]}} | changes,
    )
    (path,) = folder.rglob("*.json")
    assert place in path.read_text(encoding="utf-8")
    done = call("publish", folder, "--to", "me/results")
    assert done.exit_code == 0, done.output
    published = hub_server.files["me/results"]
    assert "coco/clip/sugarcrepe/swap_obj.json" in published
    assert (
        json.loads(published["coco/clip/sugarcrepe/swap_obj.json"])["model"]["spec"] == "local:clip"
    )
    for name, content in published.items():
        assert b"John" not in content
        assert "John" not in name


@pytest.mark.parametrize(
    ("owner", "is_pull_request"), [("their", True), ("our-lab", False), ("me", False)]
)
def test_the_page_of_a_model_of_others_gets_a_pull_request(
    hub_server: Repositories, tmp_path: Path, owner: str, is_pull_request: bool
):
    hub_server.files[f"{owner}/model"] = {}
    page = ("--model-repo", f"{owner}/model", "--benchmark", "sugarcrepe=their/sugarcrepe")
    done = call("publish", write_results(tmp_path / "r"), "--to", "me/results", *page)
    assert done.exit_code == 0, done.output
    where = hub_server.pull_requests if is_pull_request else hub_server.files
    assert list(where[f"{owner}/model"]) == [".eval_results/compeval.yaml"]
    assert done.stdout.splitlines()[1].endswith("/discussions/1") == is_pull_request


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        (
            {"synthetic": True},
            ("--to", "me/results"),
            "The name must contain microworld, for example me/microworld-res",
        ),
        ({}, ("--to", "results"), "'results' is not ORG/NAME"),
        ({}, ("--to", "me/r", "--model-repo", "a/b"), "No result is of a benchmark on the Hub"),
        ({}, ("--to", "me/r", "--benchmark", "x"), "--benchmark x: expected NAME=ORG/DATASET"),
        ({"data": {"rows": 5, "limit": 5}}, ("--to", "me/r"), "no complete results"),
    ],
)
def test_errors_of_publish(tmp_path: Path, changes: dict, arguments: tuple[str, ...], message: str):
    done = call("publish", write_results(tmp_path, **changes), *arguments, "--dry-run")
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"recall@1": "1"}}, "a metric is not a finite number"),
        ({"metrics": []}, "'metrics' is not of type object"),
        ({"main": ["other"]}, "the main metric 'other' has no value"),
        (
            {"data": {"fingerprint": "f", "rows": 7, "limit": None}},
            f"{ROWS} rows in its parquet file, 7 in the document",
        ),
        ({"source": "../.."}, "cannot be used as a file name"),
        ({"task": "sugarcrepe/swap_obj/../../x"}, "does not name a file below"),
        ({"intervals": {"recall@1": [1]}}, "a metric is not a finite number"),
        ({"metrics": {"recall@1": 0.99}}, "recall@1 is 0.99 in the document and 0.9 over its rows"),
        ({"metrics": {"recall@1": 57}}, "recall@1 is 57 in the document and 0.9 over its rows"),
        ({"metrics": {"recall@1": 0.9, "other": 7}}, "other (metrics) is 7, no share"),
        (
            {"intervals": {"recall@1": [0.89, 0.91]}},
            "the interval of recall@1 is 0.89 to 0.91, and 0.7",
        ),
        ({"task": "crepe/x"}, "the task is not of sugarcrepe/swap_obj"),
        ({"warnings": [1]}, "'warnings' are not texts"),
        ({"skipped": ["x"]}, "'skipped' is not a list of rows with errors"),
        ({"categories": {"by": {"on": None}}}, "'categories' is not of type object"),
        ({"synthetic": None}, "'synthetic' is not true or false"),
        ({"main": []}, "there is no main metric"),
    ],
)
def test_foreign_documents_are_checked(
    hub_server: Repositories, tmp_path: Path, changes: dict, message: str
):
    folder = write_results(tmp_path / "r")
    (path,) = folder.rglob("*.json")
    rows = path.with_suffix(".parquet").read_bytes()
    document = json.loads(path.read_text(encoding="utf-8")) | changes
    hub_server.files["me/results"] = {
        "a/b/c.json": json.dumps(document).encode(),
        "a/b/c.parquet": rows,
    }
    done = call("results", "pull", "me/results", "--output", tmp_path / "pulled")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "pulled").exists()


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("scores", [[0.1, 0.9]] * ROWS, "rank is not that of the scores"),
        ("rank", [1] * ROWS, "rank is not that of the scores"),
        ("rank", [None, *[1] * (ROWS - 1)], "rank has an empty cell"),
        ("rank", [0] * ROWS, "rank has a value below 1"),
        ("rank", ["1"] * ROWS, "rank has "),
        ("row", [0] * ROWS, "a row occurs twice or is negative"),
        ("caption", [None, *["a"] * (ROWS - 1)], "caption has an empty cell"),
        ("hard_negatives", [[None]] * ROWS, "hard_negatives has lists of null"),
        (
            "scores",
            [[0.1], *[[0.9, 0.1]] * (ROWS - 1)],
            "the lists of scores have different lengths",
        ),
        ("image_id", list(range(ROWS)), "image_id has whole numbers, texts expected"),
    ],
)
def test_rows_of_others_are_checked(
    hub_server: Repositories, tmp_path: Path, column: str, cells: list, message: str
):
    folder = write_results(tmp_path / "r")
    (path,) = folder.rglob("*.json")
    rows = pq.read_table(path.with_suffix(".parquet"))
    rows = rows.set_column(rows.column_names.index(column), column, pa.array(cells))
    pq.write_table(rows, path.with_suffix(".parquet"))
    good = {
        f"a/good{path.suffix}": path.read_bytes()
        for path in write_results(tmp_path / "good").rglob("*.*")
    }
    evil = {f"a/evil{path.suffix}": path.read_bytes() for path in folder.rglob("*.*")}
    hub_server.files["me/results"] = good | evil
    done = call("results", "pull", "me/results", "--output", tmp_path / "pulled")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "pulled").exists(), "nothing is written if one result is wrong"


def test_repositories_without_results(hub_server: Repositories, tmp_path: Path):
    hub_server.files["me/other"] = {"README.md": b""}
    assert "me/other: no results." in call("results", "pull", "me/other").stderr
    assert "me/gone: the Hub refused" in call("results", "pull", "me/gone").stderr
    hub_server.files["me/broken"] = {"a/b/c.json": b'{"schema": 1' + b"0" * 5000 + b"}"}
    assert (
        "me/broken: a/b/c.json: not a result document"
        in call("results", "pull", "me/broken").stderr
    )
