"""Tests of the frequencies of atoms in training captions and test sets (CREPE, Figure 12)."""

import json
from pathlib import Path

import pytest

from evaluators.report import build
from evaluators.report.atom_counts import read_atom_counts
from evaluators.report.results import read_results
from evaluators.report.sections import atom_counts
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from tests.evaluators.report.test_report import write_result
from tests.rows import hard_negative_row


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Write three seen rows and one unseen row of a red ball, and the counts of the corpus ``mine``."""
    (tmp_path / "data").mkdir()
    for split, count in (("sc", 3), ("uc", 1)):
        rows = [hard_negative_row(tmp_path / "data", number) for number in range(count)]
        write_config(tmp_path / "data" / "crepe", f"mine_{split}_hnatom", {"test": rows}, HARD_NEGATIVE_SCHEMA)
    stats = measure(tmp_path / "data" / "crepe") | {"source": "microworld"}
    write_card(tmp_path / "data" / "crepe", {"license": "mit"}, "A toy.\n", stats)
    (tmp_path / "seen").mkdir()
    atoms = [["attribute", "red", 1000], ["object", "ball", 50], ["object", "kite", 7]]
    (tmp_path / "seen" / "mine.counts.json").write_text(json.dumps({"corpus": "mine", "atoms": atoms, "compounds": []}))
    return tmp_path / "seen", tmp_path / "data"


def test_counts_of_the_atoms_of_each_split(folders: tuple[Path, Path]):
    counts = read_atom_counts(*folders)
    assert counts.drop(columns="corpus").to_numpy().tolist() == [
        ["sc", "attribute", "red", 1000, 3],
        ["sc", "object", "ball", 50, 3],
        ["uc", "attribute", "red", 1000, 1],
        ["uc", "object", "ball", 50, 1],
    ]


def test_report_with_counts(folders: tuple[Path, Path], tmp_path: Path):
    seen, data = folders
    write_result(tmp_path / "results", "clip-mine", "mine", "mine_sc_hnatom", 0.5)
    build([tmp_path / "results"], tmp_path / "report", data, counts=seen)
    page = (tmp_path / "report" / "report.md").read_text()
    assert "| mine (micro-world) | SC | 2 | 525 |" in page
    assert "mathdefault" not in (tmp_path / "report" / "figures" / "atom_counts-1.svg").read_text()
    assert atom_counts.make_section(read_results([tmp_path / "results"])) is None


def test_error_without_counts(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"seen_analysis\.seen CORPUS --counts"):
        read_atom_counts(tmp_path)
