"""`compeval results pull scores` against a local server with made-up files in the formats of the sources."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.results import score_tables
from compeval.evaluators.results.scores import (
    FIVE_MODELS,
    describe_missing,
    find_cached_tables,
    find_tables,
    read_sources,
    read_tables,
)

FILES = {
    "vl_compo": {
        "individual_results.csv": "arch,pretrained,family,winoground::group,other\n"
        "NegCLIP,coco-ft,StructuredCLIP,8.5,7\n"
    },
    "negbench": {"results/mcq/total.csv": "Model,COCO MCQ Total Accuracy\nCLIP-OpenAI,0.25\n"},
    # Pairs of rows: the first is half right, the other two are right.
    "predicate_noun": {
        "runs/sentence-semantics/CLIP/results.csv": "pos,result\nsubject,True\nsubject,False\n"
        "subject,True\nsubject,True\nobject,True\nobject,True\n"
    },
}
NUMBERS = {
    ("vl_compo", "NegCLIP/coco-ft/StructuredCLIP", "winoground::group"): 8.5,
    ("negbench", "CLIP-OpenAI", "COCO MCQ Total Accuracy"): 25.0,
    ("predicate_noun", "CLIP", "pairs"): 66.6667,
    ("predicate_noun", "CLIP", "pairs:subject"): 50.0,
    ("predicate_noun", "CLIP", "pairs:object"): 100.0,
}


def get_path(source: str, name: str) -> str:
    facts = read_sources()[source]
    return f"{facts['url'].removeprefix('https://github.com')}/{facts['commit']}/{name}"


@pytest.fixture
def server(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HTTPServer]:
    """A server with the files, which are declared with their sizes and hashes."""
    entries: dict[str, list[dict[str, object]]] = {}
    for source, files in FILES.items():
        for name, text in files.items():
            httpserver.expect_request(get_path(source, name)).respond_with_data(text)
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            entry = {"name": name, "size": len(text.encode()), "sha256": sha256}
            entries.setdefault(source, []).append(entry)
    declarations = tmp_path / "score_files.yaml"
    declarations.write_text(yaml.safe_dump(entries), encoding="utf-8")
    monkeypatch.setattr(score_tables, "FILES", declarations)
    monkeypatch.setattr(score_tables, "RAW", httpserver.url_for("").rstrip("/"))
    score_tables.list_tables.cache_clear()
    yield httpserver
    score_tables.list_tables.cache_clear()


def list_read() -> dict[tuple[str, str, str], float]:
    return {(row["source"], row["name"], row["column"]): row["percent"] for row in read_tables()}


def test_all_tables_are_downloaded_and_read(server: HTTPServer):
    assert find_tables() == FIVE_MODELS
    result = CliRunner().invoke(app, ["results", "pull", "scores"])
    assert result.exit_code == 0, result.output
    assert "5 scores of 3 models were added" in result.output
    assert list_read() == NUMBERS
    assert find_tables() == find_cached_tables()
    assert describe_missing() == ""


def test_a_changed_file_is_an_error_and_nothing_is_written(server: HTTPServer):
    path = get_path("negbench", "results/mcq/total.csv")
    server.clear()
    for source, files in FILES.items():
        for name, text in files.items():
            changed = text.replace("0.25", "0.26")
            server.expect_request(get_path(source, name)).respond_with_data(changed)
    result = CliRunner().invoke(app, ["results", "pull", "scores"])
    assert result.exit_code == 2
    assert path in result.output.replace("\n", "")
    assert "SHA-256" in result.output
    assert "--mirror" not in result.output  # an option that this command lacks
    assert find_tables() == FIVE_MODELS


def test_rows_of_other_sources_stay(server: HTTPServer):
    CliRunner().invoke(app, ["results", "pull", "scores"])
    fsc_clip = {"source": "fsc_clip", "name": "fsc-clip/openai_coco/ViT-B-32"}
    score_tables.add_table_scores(
        [fsc_clip | {"column": "winoground", "percent": 9.5, "seconds": None}]
    )
    result = CliRunner().invoke(app, ["results", "pull", "scores"])
    assert result.exit_code == 0
    assert list_read() == NUMBERS | {
        ("fsc_clip", "fsc-clip/openai_coco/ViT-B-32", "winoground"): 9.5
    }


def test_compare_has_no_effect_on_published_scores():
    result = CliRunner().invoke(app, ["results", "pull", "scores", "--compare", "results/x"])
    assert result.exit_code == 2
    assert "published scores have none" in result.output.replace("\n", " ")
