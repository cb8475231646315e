"""Every module of loaders/benchmarks: its pins, its patterns, and its chance levels."""

import re
from pathlib import PurePosixPath

import numpy as np
import pytest

from compeval.evaluators import protocols
from compeval.evaluators.protocols import authors
from compeval.evaluators.protocols.base import Directions, RowProtocol
from compeval.loaders import benchmarks
from compeval.loaders.published.declaration import Benchmark
from compeval.loaders.published.schemas import list_caption_columns, list_image_columns

ALL = benchmarks.load_all()
COMMIT = re.compile(r"/[0-9a-f]{40}[/.]")


def names(benchmark: Benchmark) -> str:
    return benchmark.name


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_declaration(benchmark: Benchmark):
    assert benchmark.description.endswith("?")
    assert benchmark.source.files or benchmark.source.download_instructions
    for file in benchmark.source.files:
        is_read = (
            benchmark.find_pattern(PurePosixPath(file.name)) or file.name in benchmark.companions
        )
        assert is_read or file.makes
        if "github" in file.url:
            assert COMMIT.search(file.url), "a full commit"
        if "raw.githubusercontent" in file.url:
            assert file.size
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "")
    for config in benchmark.rows:
        assert 0 < benchmark.find_chance(config.partition("/")[0]) < 1


@pytest.mark.parametrize("benchmark", ALL, ids=names)
def test_chance_is_that_of_a_random_model(benchmark: Benchmark):
    rng = np.random.default_rng(0)
    names = [name.partition("/")[0] for name in benchmark.rows or ("prod_hnatom",)]
    for config in dict.fromkeys(
        name for name in names if not name.startswith(("yfcc_", "laion_"))
    ):  # as cc12m_
        schema = benchmark.find_schema(config)
        protocol = protocols.find_protocol(schema.names)
        if not isinstance(protocol, RowProtocol):
            continue  # the chance of retrieval depends on the number of rows
        declared = benchmark.find_chance(config)
        texts = len(list_caption_columns(schema)) * (2 if "answers_0" in schema.names else 1)
        wrong = (
            0
            if "hard_negatives" not in schema.names
            else 1
            if texts > 1
            else round(1 / declared) - 1
        )
        images = 1 if "x" in schema.names else len(list_image_columns(schema))
        rows = (
            5000 if "rating" in schema.names else 20_000
        )  # Kendall's tau compares all pairs of rows
        scores = rng.random((rows, images, texts + wrong)).astype(np.float32)
        share = (1 - np.sqrt(max(2 * declared - 1, 0))) / 2  # of true rows, if they have labels
        labels = (np.arange(len(scores)) < share * len(scores)).astype(int)
        chances = list_chances(protocol.compute(scores, labels))
        assert min(abs(declared - chance) for chance in chances) < 1e-4, config
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
