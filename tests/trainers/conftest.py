"""Toy data and models that tests read but do not change."""

from pathlib import Path

import pytest

from tests.trainers import toy


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy pairs in one shard."""
    return toy.write_shards(tmp_path_factory.mktemp("toy") / "toy")


@pytest.fixture(scope="session")
def karpathy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy pairs as a file in Karpathy's format."""
    return toy.write_karpathy(tmp_path_factory.mktemp("karpathy"))


@pytest.fixture(scope="session")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The spec of an untrained toy model."""
    return toy.write_model(tmp_path_factory.mktemp("clip") / "clip")
