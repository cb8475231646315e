import pytest


@pytest.fixture(autouse=True)
def _cache_folder(tmp_path_factory, monkeypatch) -> None:
    """Each test has an empty cache of scores."""
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
