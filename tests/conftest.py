import gc
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

# Threads of several test processes would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from typer.main import get_command

from tests.evaluators import tiny

# CliRunner builds all commands at each call, which takes 70 ms. They do not change, so once is enough.
vars(typer.testing)["_get_command"] = cache(get_command)

pytest_plugins = ["tests.hub_server", "tests.base.sources.server"]

# All runs use the same random cases, so a new failure means that the code changed. Health checks are disabled: few
# random graphs have walks and swaps, and durations depend on the load of the machine.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Exempt imported modules and collected tests from garbage collection, which would visit them every time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of published files, from COMPEVAL_REAL_DATA. Tests are skipped if the variable is not set."""
    folder = os.environ.get("COMPEVAL_REAL_DATA")
    if not folder:
        pytest.skip("COMPEVAL_REAL_DATA is not set")
    return Path(folder)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a temporary cache folder instead of the user's."""
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text-only baselines train small forests."""
    monkeypatch.setattr("compeval.base.text_only.relative_baselines.TREES", 30)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """``compeval inspect`` measures in this process: starting others takes seconds."""
    monkeypatch.setattr(
        "compeval.evaluators.inspection.SafePool", lambda workers: ThreadPoolExecutor(1)
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with ``toy_models.py``, so that models can be named ``python:toy_models:...``."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "toy_models.py").write_text(tiny.MODELS, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with systematicity, productivity and raw rows."""
    return tiny.write_dataset(
        tmp_path_factory.mktemp("data"),
        {
            "laion_uc_hnatom": {"test": tiny.choice_rows(23)},
            "cc12m_uc_hnatom": {"test": tiny.choice_rows(7, noun="box")},
            "prod_hnatom": {"n4": tiny.choice_rows(5, 3), "n5": tiny.choice_rows(4, 3)},
            "laion_uc_raw": {"test": tiny.raw_rows(9)},
            "laion_sc_raw": {"test": tiny.raw_rows(4)},
        },
    )


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_clip(tmp_path_factory.mktemp("checkpoints") / "clip-laion")
