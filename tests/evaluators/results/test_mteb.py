"""MTEB's result files, from a folder and from a server, become published scores."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.results.scores import find_pulled_scores, read_scores
from tests.base.sources.server import Site
from tests.evaluators.conftest import forget_scores

NAME = "openai/clip-vit-base-patch32"
META = json.dumps({"name": NAME, "revision": "x"}).encode()


def make_result(task: str = "SugarCrepe", **scores: Any) -> bytes:
    known = {"accuracy": 0.0, "text_acc": 0.75, "main_score": 0.75, "hf_subset": "default"} | scores
    return json.dumps(
        {"task_name": task, "evaluation_time": 120.5, "scores": {"test": [known]}}
    ).encode()


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    forget_scores()


def pull(place: object):
    done = CliRunner().invoke(app, ["results", "pull", str(place)])
    forget_scores()
    return done


def write(folder: Path, name: str, *files: tuple[str, bytes]) -> Path:
    path = folder / "results" / name.replace("/", "__") / "revision"
    path.mkdir(parents=True)
    for file, content in (("model_meta.json", json.dumps({"name": name}).encode()), *files):
        (path / file).write_bytes(content)
    return folder


def list_pulled() -> dict[tuple[str, str], float]:
    rows = pq.read_table(find_pulled_scores()).to_pylist()
    assert {row["source"] for row in rows} == {"mteb"}
    return {(row["name"], row["column"]): row["percent"] for row in rows}


def test_a_folder_of_results(tmp_path: Path):
    write(tmp_path, NAME, ("SugarCrepe.json", make_result()), ("STS12.json", b"{}"))
    write(tmp_path, "nobody/knows", ("SugarCrepe.json", make_result()))
    done = pull(tmp_path)
    assert done.exit_code == 0, done.output
    assert "1 scores of 1 models of MTEB" in done.stderr
    assert "not known here: nobody/knows." in " ".join(done.stderr.split())
    assert list_pulled() == {(NAME, "SugarCrepe:text_acc"): 75.0}
    (score,) = [
        score
        for score in read_scores()
        if (score.source, score.model, score.task)
        == ("MTEB's results repository", "ViT-B-32-quickgelu/openai", "sugarcrepe/*")
    ]
    # Replaces the packaged score.
    assert (score.percent, score.rows, score.seconds) == (
        75.0,
        7511,
        120.5,
    )


def test_files_of_a_server_replace_earlier_ones(site: Site):
    folder = "/results/openai__clip-vit-base-patch32/abc"
    site.files |= {f"{folder}/model_meta.json": META, f"{folder}/SugarCrepe.json": make_result()}
    site.files[f"{folder}/Winoground.json"] = make_result(
        "Winoground", accuracy=0.08, image_acc=0.1, text_acc=0.3
    )
    for name in ("SugarCrepe", "Winoground"):
        assert pull(f"{site.url}{folder}/{name}.json").exit_code == 0
    site.files[f"{folder}/SugarCrepe.json"] = make_result(text_acc=0.5)
    assert pull(f"{site.url}{folder}/SugarCrepe.json").exit_code == 0
    expected = {
        "SugarCrepe:text_acc": 50,
        "Winoground:accuracy": 8,
        "Winoground:image_acc": 10,
        "Winoground:text_acc": 30,
    }
    assert list_pulled() == {(NAME, column): percent for column, percent in expected.items()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not a result file of MTEB"),
        (b"<html>", "SugarCrepe.json: "),
        (None, "no result file of MTEB on ARO"),
    ],
)
def test_what_is_not_a_result(tmp_path: Path, content: bytes | None, message: str):
    write(tmp_path, NAME, *([("SugarCrepe.json", content)] if content else []))
    done = pull(tmp_path)
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1)
    assert message in " ".join(done.stderr.split())
    assert not find_pulled_scores().exists()
    missing = pull("http://127.0.0.1:9/results/a/b/SugarCrepe.json")
    assert "Download the file and name its folder" in " ".join(missing.stderr.split())
