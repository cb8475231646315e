import shutil
from pathlib import Path

import pytest

from compeval.base.pipeline import code_digest as code_digests
from compeval.base.pipeline.code_digest import (
    code_digest,
    list_code_files,
    list_data_files,
    strip_comments,
)

SOURCES = {
    "compeval/__init__.py": "",
    "generators/__init__.py": "",
    "generators/stage.py": "import os\n\n\ndef late():\n    from compeval.generators.part import deep\n",
    "generators/part/__init__.py": "",
    "generators/part/deep.py": "import numpy",
    "generators/part/words.yaml": "[a]",
    "generators/other.py": "",
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    checkout = tmp_path / "checkout"
    for name, text in SOURCES.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text, encoding="utf-8")
    (checkout / "compeval/generators").symlink_to("../generators")
    return checkout / "generators/stage.py"


def test_files_are_all_imports_and_the_yaml_files_in_their_folders(module: Path):
    files = [path.relative_to(module.parents[1]).as_posix() for path in list_code_files(module)]
    assert files == [
        "generators/part/__init__.py",
        "generators/part/deep.py",
        "generators/part/words.yaml",
        "generators/stage.py",
    ]


def test_a_package_that_imports_its_modules_by_name_depends_on_all_of_them(module: Path):
    package = module.parent / "part/__init__.py"
    package.write_text(
        "from importlib import import_module\nPLUGIN = import_module(f'{__name__}.plugin')",
        encoding="utf-8",
    )
    (module.parent / "part/plugin.py").write_text("", encoding="utf-8")
    assert module.parent / "part/plugin.py" in list_code_files(module)


def test_a_module_that_imports_another_one_by_name_does_not_depend_on_its_folder(module: Path):
    with module.open("a", encoding="utf-8") as file:
        file.write("\n\nfrom importlib import import_module\nPLUGIN = import_module('somebody')\n")
    assert module.parent / "other.py" not in list_code_files(module)


@pytest.mark.parametrize(
    ("name", "text", "is_same"),
    [
        ("other.py", "changed", True),
        ("part/deep.py", "import numpy  # why\n", True),
        ("part/deep.py", '"""What it is for."""\n\nimport numpy\n', True),
        ("part/deep.py", "import numpy\nx = 1", False),
        ("part/words.yaml", "[b]", False),
    ],
)
def test_digest_changes_only_with_code_and_yaml_files(
    module: Path, name: str, text: str, is_same: bool
):
    # A copy, because the content of a file is read once per process.
    checkout = shutil.copytree(module.parents[1], module.parents[2] / "changed", symlinks=True)
    folder = checkout / module.parent.name
    (folder / name).write_text(text, encoding="utf-8")
    changed = folder / module.name
    assert (code_digest(str(changed)) == code_digest(str(module))) is is_same


def test_data_files_are_next_to_modules_or_in_folders_without_modules(module: Path):
    for name in (
        "drawings/more/cup.svg",
        "part/words.csv",
        "part/page.j2",
        "apart/words.csv",
        "apart/code.py",
    ):
        (module.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (module.parent / name).write_text("", encoding="utf-8")
    files = {
        path.relative_to(module.parent).as_posix()
        for path in list_data_files(list_code_files(module))
    }
    assert files == {"drawings/more/cup.svg", "part/words.csv", "part/words.yaml", "part/page.j2"}


def test_a_stage_writes_the_digests_of_all_stages(module: Path, monkeypatch: pytest.MonkeyPatch):
    with module.open("a", encoding="utf-8") as file:
        file.write('\n\nif __name__ == "__main__":\n    late()\n')
    monkeypatch.chdir(module.parents[1])
    code_digests.main()
    (written,) = Path("code_digests").glob("*.txt")
    assert written.name == "generators.stage.txt"
    assert [line.split()[1] for line in written.read_text(encoding="utf-8").splitlines()] == [
        "generators/part/__init__.py",
        "generators/part/deep.py",
        "generators/part/words.yaml",
        "generators/stage.py",
    ]


def test_strip_comments():
    source = '''"""Module."""
import os  # for paths

X = "# no comment"
"""Attribute."""


def f(a):
    """Return a.

    Twice.
    """
    return """a string
    of two lines"""
'''
    assert (
        strip_comments(source)
        == '''import os
X = "# no comment"
def f(a):
    return """a string
    of two lines"""'''
    )
