"""Saved tiny models, each written once per session. Tests must not change the folders."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def transformers_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that returns the folder of a family of tiny_transformers."""
    from tests.evaluators import tiny_transformers

    return cache(lambda family: tiny_transformers.write_model(family, tmp_path_factory.mktemp(family)))


@pytest.fixture(scope="session")
def vlm_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that returns the folder of a family of tiny_vlms."""
    from tests.evaluators import tiny_vlms

    return cache(lambda family: tiny_vlms.write_vlm(family, tmp_path_factory.mktemp("vlm") / family))
