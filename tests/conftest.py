import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of small real files that COMPEVAL_REAL_DATA names; tests that need it are skipped without."""
    folder = os.environ.get("COMPEVAL_REAL_DATA")
    if not folder:
        pytest.skip("COMPEVAL_REAL_DATA is not set")
    return Path(folder)
