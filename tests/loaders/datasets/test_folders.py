"""Resolution of a dataset's name or path to its folder."""

from pathlib import Path

import pytest

from compeval.loaders.datasets.folders import CHECKOUT, resolve_folder, search_path
from tests.rows import toy_dataset


def test_a_name_is_first_a_dataset_in_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "data"):
        (tmp_path / folder).mkdir()
        toy_dataset(tmp_path / folder, rows=1)
    monkeypatch.chdir(tmp_path / "here")
    assert resolve_folder("crepe", tmp_path / "data") == tmp_path / "data" / "crepe"
    assert resolve_folder("crepe") == Path("crepe")
    assert resolve_folder("../data/crepe", tmp_path / "here") == tmp_path / "here" / "../data/crepe"
    with pytest.raises(FileNotFoundError, match="no/such: no such file or folder"):
        resolve_folder("no/such", tmp_path / "data")


def test_a_checkout_is_searched_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(CHECKOUT)
    assert search_path().count(CHECKOUT) == 1
