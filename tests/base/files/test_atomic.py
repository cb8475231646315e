import json
import os
from pathlib import Path

import pytest

from compeval.base.files.atomic import atomic_file, atomic_folder, write_json


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path):
    path = tmp_path / "new" / "file"
    for text in ("old", "new"):
        with atomic_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
            assert not path.exists() or path.read_text(encoding="utf-8") == "old"
        assert path.read_text(encoding="utf-8") == text
    assert [item.name for item in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def write_and_fail() -> None:
        with atomic_file(path) as partial:
            partial.write_text("new", encoding="utf-8")
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
    assert path.read_text(encoding="utf-8") == "old"


def test_the_partial_files_of_killed_processes_are_removed(tmp_path: Path):
    child = os.fork()
    if not child:
        with atomic_file(tmp_path / "file"):
            os._exit(9)  # as a kill would
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 1
    old, recent = tmp_path / ".file.otherhost-1-a.partial", tmp_path / ".file.otherhost-1-b.partial"
    for leftover in (old, recent):
        leftover.touch()
    os.utime(old, (0, 0))
    with atomic_file(tmp_path / "file") as partial:
        partial.write_text("new", encoding="utf-8")
    assert {item.name for item in tmp_path.iterdir()} == {"file", recent.name}


def test_two_processes_write_the_same_file(tmp_path: Path):
    path = tmp_path / "file"
    with atomic_file(path) as first, atomic_file(path) as second:
        first.write_text("first", encoding="utf-8")
        second.write_text("second", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "first", "the last to finish wins"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_file_has_the_usual_permissions(tmp_path: Path):
    (tmp_path / "plain").touch()
    with atomic_file(tmp_path / "file") as partial:
        partial.write_text("", encoding="utf-8")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_was_written_by_others_is_not_replaced(tmp_path: Path):
    thesis = tmp_path / "checkpoints" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("my thesis", encoding="utf-8")
    ran = False
    message = "checkpoints has contents that were not written by this command"
    with pytest.raises(ValueError, match=message), atomic_folder(tmp_path / "checkpoints"):
        ran = True
    assert not ran
    assert thesis.read_text(encoding="utf-8") == "my thesis"


def test_a_folder_is_replaced_when_it_is_complete(tmp_path: Path):
    target = tmp_path / "out"
    with atomic_folder(target) as partial:
        (partial / "value").write_text("old", encoding="utf-8")
        (partial / "more").write_text("old", encoding="utf-8")

    def write_and_fail() -> None:
        with atomic_folder(target) as partial:
            (partial / "value").write_text("new", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    assert (target / "value").read_text(encoding="utf-8") == "old"
    with atomic_folder(target) as partial:
        assert list(partial.iterdir()) == []
        (partial / "value").write_text("new", encoding="utf-8")
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    assert {item.name: item.read_text(encoding="utf-8") for item in target.iterdir()} == {
        "value": "new",
        ".compeval": "",
    }


def test_json_is_written_in_utf_8(tmp_path: Path):
    write_json(tmp_path / "new" / "file.json", {"a": "ä"})
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.json"]
    assert (tmp_path / "new" / "file.json").read_bytes() == b'{"a": "\xc3\xa4"}\n'
    assert json.loads((tmp_path / "new" / "file.json").read_text(encoding="utf-8")) == {"a": "ä"}
