from pathlib import Path

import pytest

from tests.evaluators import tiny


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with ``toy_models.py``, so that models can be named ``python:toy_models:...``."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "toy_models.py").write_text(tiny.MODELS)
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
