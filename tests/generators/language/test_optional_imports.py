"""Tests of generators/language/optional_imports.py."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from compeval.generators.language.optional_imports import without


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package with a submodule that can be imported and is not loaded."""
    name = f"package_of_{tmp_path.name}"
    (tmp_path / name).mkdir()
    for file in ("__init__.py", "part.py"):
        (tmp_path / name / file).touch()
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_hidden_packages_cannot_be_imported_in_the_block(package: str):
    with without(package):
        for name in (package, f"{package}.part"):
            with pytest.raises(ModuleNotFoundError, match=package):
                import_module(name)
        assert package not in sys.modules, "libraries look here to find out what is installed"
    assert import_module(f"{package}.part")


def test_loaded_packages_stay_with_their_submodules(package: str):
    loaded = import_module(package)
    with without(package):
        assert import_module(package) is loaded
        assert import_module(f"{package}.part")


def test_lemminflect_does_not_load_spacy():
    code = "import compeval.generators.language.inflection, sys; assert not {'spacy', 'torch'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
