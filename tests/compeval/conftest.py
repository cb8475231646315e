"""The output of ``compeval demo``, which runs once per session. Tests must not change it."""

from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from compeval.cli import app


class Demo(NamedTuple):
    folder: Path
    output: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        patch.setenv("COMPEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        result = CliRunner().invoke(app, ["demo"])
        assert result.exit_code == 0, result.output
        return Demo(Path("compeval-demo").resolve(), result.output)
