import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.hub_server"]

# The same cases at every run, so that a red build means that the code changed. Few random graphs have walks and swaps,
# and how long they take says how busy the machine is.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of small real files that COMPEVAL_REAL_DATA names; tests that need it are skipped without."""
    folder = os.environ.get("COMPEVAL_REAL_DATA")
    if not folder:
        pytest.skip("COMPEVAL_REAL_DATA is not set")
    return Path(folder)
