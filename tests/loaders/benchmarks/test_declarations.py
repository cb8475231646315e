"""Every module of loaders/benchmarks: its pins, its patterns, its chance level, and its reader on real rows."""

import re
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

from evaluators import protocols
from evaluators.protocols import authors
from evaluators.protocols.base import Directions, RowProtocol
from loaders import benchmarks
from loaders.importing.importing import read_file
from loaders.published.declaration import Benchmark
from loaders.published.schemas import list_caption_columns, list_image_columns

ALL = benchmarks.load_all()
COMMIT = re.compile(r"/[0-9a-f]{40}[/.]")


def names(benchmark: Benchmark) -> str:
    return benchmark.name


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_declaration(benchmark: Benchmark):
    assert benchmark.asks.endswith("?")
    assert benchmark.downloads or benchmark.how
    for file in benchmark.downloads:
        is_read = benchmark.find_pattern(PurePosixPath(file.name)) or file.name in benchmark.companions
        assert is_read or file.makes
        if "github" in file.url:
            assert COMMIT.search(file.url), "a full commit"
        if "raw.githubusercontent" in file.url:
            assert file.size
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "")
    for config in benchmark.rows:
        assert 0 < benchmark.find_chance(config) < 1


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_chance_is_that_of_a_random_model(benchmark: Benchmark):
    rng = np.random.default_rng(0)
    for name in benchmark.rows or ("prod_hnatom",):
        config = name.partition("/")[0]
        schema = benchmark.find_schema(config)
        protocol = protocols.find_protocol(schema.names)
        if not isinstance(protocol, RowProtocol):
            continue  # the chance of retrieval depends on the number of rows
        declared = benchmark.find_chance(config)
        texts = len(list_caption_columns(schema)) * (2 if "answers_0" in schema.names else 1)
        wrong = 0 if "hard_negatives" not in schema.names else 1 if texts > 1 else round(1 / declared) - 1
        images = 1 if "x" in schema.names else len(list_image_columns(schema))
        scores = rng.random((20_000, images, texts + wrong)).astype(np.float32)
        directions = protocol.compute(scores, np.arange(len(scores)) % 2)
        assert round(declared, 6) in list_chances(directions), config
        if rule := benchmark.find_authors_rule(config):
            metrics = authors.evaluate(rule, scores)
            assert len(list_chances(metrics)) == len(metrics)


def list_chances(directions: Directions) -> set[float]:
    """Return the chance levels that the main metrics of random scores agree with."""
    return {
        round(metrics.chance[metrics.main], 6)
        for metrics in directions.values()
        if abs(metrics.summarise()[metrics.main] - metrics.chance[metrics.main]) < 0.015
    }


REAL = {
    "sugarcrepe_pp/data/replace_att.json": ("sugarcrepe_pp", "replace_att", 60),
    "sugarcrepe_pp/data/swap_obj.json": ("sugarcrepe_pp", "swap_obj", 60),
    "cola/data/COLA_multiobjects_matching_benchmark.json": ("cola", "multi_object", 100),
    "imagecode/data/valid_data.json": ("imagecode", "valid", 217),
    "aro/visual_genome_attribution.json": ("aro_published", "vg_attribution", 203),
}
"""Benchmark, config and number of rows of excerpts."""


@pytest.mark.parametrize("name", REAL)
def test_real_rows(real_data: Path, name: str):
    counts, rows = read_file(real_data / "benchmarks" / name)
    benchmark, config, number = REAL[name]
    assert (counts.family, {row.config for row in rows}, counts.read, len(rows)) == (
        benchmark,
        {config},
        number,
        number,
    )
