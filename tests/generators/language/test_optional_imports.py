"""Tests of generators/language/optional_imports.py."""

import subprocess
import sys

import pytest

from generators.language.optional_imports import without


def test_hidden_packages_cannot_be_imported_in_the_block():
    for name in ("wave", "xml.dom.minidom"):
        sys.modules.pop(name, None)
    sys.modules.pop("xml.dom", None)
    with without("wave", "xml"):
        with pytest.raises(ModuleNotFoundError, match="wave"):
            import wave
        with pytest.raises(ModuleNotFoundError, match=r"xml\.dom"):
            import xml.dom.minidom
        assert "wave" not in sys.modules, "libraries look here to find out what is installed"
    import wave  # noqa: F401
    import xml.dom.minidom  # noqa: F401


def test_loaded_packages_stay():
    import json

    with without("json"):
        import json as loaded
    assert loaded is json


def test_lemminflect_does_not_load_spacy():
    code = "import generators.language.inflection, sys; assert not {'spacy', 'torch'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
