import importlib
import subprocess
import sys

import pytest

from generators.language.lean_imports import without


def test_an_import_fails_within():
    with without("this"), pytest.raises(ModuleNotFoundError, match="this"):
        importlib.import_module("this")
    assert "this" not in sys.modules


def test_parts_of_a_hidden_package_are_hidden():
    with without("wsgiref"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("wsgiref.util")
    assert importlib.import_module("wsgiref.util")


def test_a_package_that_is_loaded_stays():
    with without("sys", "json"):
        assert importlib.import_module("json").loads("1") == 1


def test_the_parser_and_wordnet_load_neither_torch_nor_scikit_learn():
    code = (
        "import sys; from generators.parser.parser import Parser;"
        "from generators.language.wordnet_database import wordnet;"
        "assert [parse.graph.objects[0].name for parse in Parser().parse(['two cats'])] == ['cat'];"
        "assert wordnet().morphy('cats') == 'cat';"
        "print(sorted({'torch', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
