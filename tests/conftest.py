import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.hub_server"]

# All runs use the same random cases, so a new failure means that the code changed. Health checks are disabled: few
# random graphs have walks and swaps, and durations depend on the load of the machine.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.load_profile("repeatable")


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
