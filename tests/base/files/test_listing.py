from pathlib import Path

import pytest

from compeval.base.files.listing import is_hidden, list_files


def test_copies_that_programs_hide_are_no_files_of_a_folder(tmp_path: Path):
    folder = tmp_path / ".cache"  # the folder itself may be hidden
    names = (
        "a/b.json",
        "c.json",
        "._c.json",
        "a/.ipynb_checkpoints/b-checkpoint.json",
        "__MACOSX/a/b.json",
    )
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "folder.json").mkdir()
    assert list_files(folder, "**/*.json") == [folder / "a/b.json", folder / "c.json"]
    assert list_files(folder, "*.json") == [folder / "c.json"]


@pytest.mark.parametrize("name", ["./a.txt", "a/b.c.txt", "../a.txt", "../../a.txt"])
def test_the_current_and_the_parent_folder_are_not_hidden(name: str):
    assert not is_hidden(Path(name))


@pytest.mark.parametrize("name", ["a/.b/c.txt", "../.a.txt", "__MACOSX/a.txt", "..a.txt"])
def test_names_that_begin_with_a_dot_are_hidden(name: str):
    assert is_hidden(Path(name))
