"""Every module of loaders/benchmarks: its pins, its patterns, and its chance levels."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import protocols
from compeval.evaluators.protocols import authors
from compeval.evaluators.protocols.base import Directions, RowProtocol
from compeval.loaders import benchmarks
from compeval.loaders.published.declaration import Benchmark
from compeval.loaders.published.rows import Row
from compeval.loaders.published.schemas import list_caption_columns, list_image_columns

ALL = benchmarks.load_all()
COMMIT = re.compile(r"/[0-9a-f]{40}[/.]")
MOVING = ("colorswap", "genai_bench", "vinoground")
"""Benchmarks with files at ``resolve/main``: no commit of theirs could be read anywhere."""
PAGE = Path(__file__).parents[3] / "docs" / "add-a-benchmark.md"
MADE_UP = "0123456789abcdef0123456789abcdef01234567"
"""Commit in the example of the page."""


def names(benchmark: Benchmark) -> str:
    return benchmark.name


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_declaration(benchmark: Benchmark):
    assert benchmark.description.endswith("?")
    assert benchmark.source.files or benchmark.source.download_instructions
    for file in (*benchmark.source.files, *benchmark.source.image_archives):
        is_read = (
            benchmark.find_pattern(PurePosixPath(file.name)) or file.name in benchmark.companions
        )
        assert is_read or file.makes or file.name.endswith(".zip")
        if "github" in file.url:
            assert COMMIT.search(file.url), "a full commit"
        if "raw.githubusercontent" in file.url:
            assert file.is_pinned
        if file.sha256:
            assert file.size
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        if file.git_blob:
            assert "raw.githubusercontent" in file.url
            assert re.fullmatch(r"[0-9a-f]{40}", file.git_blob)
            assert benchmark.unseen, "a file that was too large to be read"
        if "huggingface.co" in file.url and benchmark.name not in MOVING:
            assert COMMIT.search(file.url), "a full commit"
    for config in benchmark.rows:
        assert 0 < benchmark.find_chance(config.partition("/")[0]) < 1


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example of docs/add-a-benchmark.md as the only file of a new benchmark, ``mine``."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (module,) = (block for block in blocks if "BENCHMARK = " in block)
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "mine.py").write_text(module, encoding="utf-8")
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(folder)])
    yield
    sys.modules.pop("compeval.loaders.benchmarks.mine", None)
    benchmarks.load.cache_clear()


@pytest.mark.usefixtures("own_module")
def test_a_new_benchmark_is_one_module(tmp_path: Path):
    declared = benchmarks.load("mine")
    (file,) = declared.source.files
    assert (declared.name, declared.source.name) == ("mine", "mine")
    assert file.url == f"https://raw.githubusercontent.com/doe/mine/{MADE_UP}/data/color_foils.csv"
    assert benchmarks.read_sources()["mine"] == declared.source
    (row,) = (
        item
        for item in json.loads(CliRunner().invoke(app, ["list", "benchmarks", "--json"]).stdout)
        if item["benchmark"] == "mine"
    )
    assert (row["reader"], row["rows"], row["files with a hash"]) == ("not tested", "300", "1 of 1")
    path = tmp_path / "color_foils.csv"
    path.write_text("filename,caption,foil\n7.jpg,a red cup,a blue cup\n", encoding="utf-8")
    assert list(declared.read(path, file.name)) == [
        Row("color_foils", ("7.jpg",), ("a red cup",), ("a blue cup",))
    ]


def test_what_list_benchmarks_says_of_files_and_readers():
    by_name = {benchmark.name: benchmark for benchmark in ALL}
    assert by_name["vl_checklist"].row_count == "214,918+"
    assert by_name["vl_checklist"].source.pinned == "56 of 56"
    assert by_name["vl_checklist"].reader_state.startswith("tested, except ten files of more than")
    assert by_name["hard_positives"].row_count == f"{10_575 + 16_868 + 28_748:,}"
    assert 2 * (10_575 + 16_868 + 28_748) == 112_382  # captions of the paper's abstract
    assert by_name["cv_bench"].row_count == "2,638"
    assert by_name["cola"].reader_state == (
        "tested, except the three files of single objects, which are not read"
    )
    assert by_name["aro_published"].reader_state.startswith("tested, except vg_relation and")
    assert by_name["colorswap"].source.unpinned == ("data/test-00000-of-00001.parquet",)
    assert len(by_name["genai_bench"].source.unpinned) == 6  # not genai_image.json
    assert not by_name["crpe"].source.unpinned  # a commit, but no hash
    assert by_name["svo_probes"].row_count == "?"
    assert (by_name["sugarcrepe"].reader_state, by_name["crpe"].reader_state) == (
        "tested",
        "not tested",
    )


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_chance_is_that_of_a_random_model(benchmark: Benchmark):
    rng = np.random.default_rng(0)
    names = [name.partition("/")[0] for name in benchmark.rows or ("prod_hnatom",)]
    # As cc12m_.
    for config in dict.fromkeys(name for name in names if not name.startswith(("yfcc_", "laion_"))):
        schema = benchmark.find_schema(config)
        protocol = protocols.find_protocol(schema.names)
        if not isinstance(protocol, RowProtocol):
            continue  # the chance of retrieval depends on the number of rows
        declared = benchmark.find_chance(config)
        texts = len(list_caption_columns(schema)) * (2 if "answers_0" in schema.names else 1)
        wrong = (
            0
            if "hard_negatives" not in schema.names
            else find_wrong(declared)
            if texts > 1
            else round(1 / declared) - 1
        )
        images = 1 if "x" in schema.names else len(list_image_columns(schema))
        # Kendall's tau compares all pairs of rows.
        rows = 5000 if "rating" in schema.names else 20_000
        scores = rng.random((rows, images, texts + wrong)).astype(np.float32)
        share = (1 - np.sqrt(max(2 * declared - 1, 0))) / 2  # of true rows, if they have labels
        labels = (np.arange(len(scores)) < share * len(scores)).astype(int)
        chances = list_chances(protocol.compute(scores, labels))
        assert min(abs(declared - chance) for chance in chances) < 1e-4, config
        if rule := benchmark.find_authors_rule(config):
            metrics = authors.evaluate(rule, scores)
            assert len(list_chances(metrics)) == len(metrics)


def find_wrong(declared: float) -> int:
    """Return the number of wrong captions next to two true ones, given the chance that both rank above all of them."""
    return next(
        count for count in range(1, 10) if abs(2 / ((count + 1) * (count + 2)) - declared) < 1e-9
    )


def list_chances(directions: Directions) -> set[float]:
    """Return the chance levels that the main metrics of random scores agree with."""
    return {
        round(metrics.chance[metrics.main], 6)
        for metrics in directions.values()
        if abs(metrics.summarise()[metrics.main] - metrics.chance[metrics.main]) < 0.015
    }
