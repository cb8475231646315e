"""Saved tiny models, each written once per session, whose folders tests must not change; more published scores."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compeval.evaluators.results import scores
from compeval.evaluators.results.published import group_scores
from compeval.evaluators.results.ranks import group_by_metric
from compeval.evaluators.results.scores import find_pulled_scores, read_scores
from tests.evaluators import made_up


@pytest.fixture(scope="session")
def transformers_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that returns the folder of a family of tiny_transformers."""
    from tests.evaluators import tiny_transformers

    return cache(
        lambda family: tiny_transformers.write_model(family, tmp_path_factory.mktemp(family))
    )


@pytest.fixture(scope="session")
def vlm_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that returns the folder of a family of tiny_vlms."""
    from tests.evaluators import tiny_vlms

    return cache(
        lambda family: tiny_vlms.write_vlm(family, tmp_path_factory.mktemp("vlm") / family)
    )


def forget_scores() -> None:
    for function in (read_scores, group_by_metric, group_scores):
        function.cache_clear()


@pytest.fixture
def add_scores() -> Iterator[Callable[..., None]]:
    """Function that writes (source, name, column, percent) of several scores to the user's file of pulled scores."""

    def add(*added: tuple[str, str, str, float]) -> None:
        rows = [
            {"source": source, "name": name, "column": column, "percent": percent, "seconds": 1.5}
            for source, name, column, percent in added
        ]
        find_pulled_scores().parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), find_pulled_scores())
        forget_scores()

    yield add
    forget_scores()


@pytest.fixture(scope="session")
def made_up_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of tests/evaluators/made_up.py."""
    path = tmp_path_factory.mktemp("made_up") / scores.ALL_MODELS
    made_up.write_table(path)
    return path


@pytest.fixture
def all_models(made_up_table: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All published models are known, with made-up scores in the user's file."""
    monkeypatch.setattr(scores, "RELEASED", Path("no release"))
    path = scores.find_cached_tables()
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(made_up_table, path)
    forget_scores()
    yield
    forget_scores()
