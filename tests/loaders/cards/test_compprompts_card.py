from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from generators import compprompts as generator
from loaders.cards.write import check_compprompts, main
from loaders.datasets.load import load_dataset
from loaders.datasets.stats import list_configs
from loaders.papers.prompt_types import PROMPT_TYPES, TOTAL_PROMPTS, is_in_table_3

WORDS = Path(__file__).parents[3] / "sample/words/compprompts.yaml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the whole dataset without its card and return the data folder."""
    root = tmp_path_factory.mktemp("data")
    own = {"mine": {"pattern": "a NOUN and a NOUN and a NOUN", "size": 3}}
    generator.write(root / "compprompts", generator.Settings(0, own), yaml.safe_load(WORDS.read_text()))
    return root


def test_every_cell_of_tables_2_and_3_is_there():
    # 9 + 15 cells in Table 2, 12 in Table 3; two cells of Table 2 are two configs each.
    halves = {"obj2_adj_second", "obj2_adj_verb2_second"}
    assert len(PROMPT_TYPES.keys() - halves) == 36
    assert sum(map(is_in_table_3, PROMPT_TYPES)) == 12
    sizes = [kind.num_prompts for kind in PROMPT_TYPES.values()]
    assert sum(sizes) == TOTAL_PROMPTS == 18_100
    assert min(sizes) >= 300
    assert max(sizes) <= 500


def test_averages_of_the_published_cells_equal_table_1():
    # Table 1 averages Table 2's 24 cells: 13.2, 28.5, 28.6, 28.9, 41.6. The last two columns' cells give 29.9 and 40.6.
    cells = {
        kind.published_scores: None
        for config, kind in PROMPT_TYPES.items()
        if kind.published_scores and not is_in_table_3(config)
    }
    means = [sum(scores) / len(cells) for scores in zip(*cells, strict=True)]
    assert len(cells) == 24
    assert means == pytest.approx([13.2, 28.5, 28.6, 29.9, 40.6], abs=0.3)


def test_folder_is_checked_described_and_loadable(built: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(built)
    main("compprompts")
    assert list_configs("compprompts", built)["obj1"] == {"test": 300}
    total = 0
    for config, kind in PROMPT_TYPES.items():
        (path,) = (built / "compprompts" / config).glob("*.parquet")
        rows = pq.read_table(path, columns=["prompt", "cell"])
        assert len(set(rows["prompt"].to_pylist())) == len(rows) == kind.num_prompts
        assert set(rows["cell"].to_pylist()) == {config}
        total += len(rows)
    assert total == 18_100
    first = load_dataset("compprompts", "obj2_spatial", "test", built)[0]
    assert len(first["atoms"]) == 3
    assert first["provenance"]["seed"] == 0
    card = (built / "compprompts" / "README.md").read_text()
    assert "| obj2_verb2 | a cat chasing a dog | noun, noun, verb | 500 |" in card
    assert "| mine | 3 |" in card


def test_a_config_with_a_wrong_number_of_rows_is_reported(tmp_path: Path):
    rows = {config: {"test": kind.num_prompts} for config, kind in PROMPT_TYPES.items()}
    assert check_compprompts(tmp_path, {"rows": rows | {"mine": {"test": 3}}})["added"] == {"mine": 3}
    rows["obj2"] = {"test": 499}
    del rows["obj1"]
    with pytest.raises(ValueError, match=r": obj1: 0 rows, 300 expected; obj2: 499 rows, 500 expected \(loaders/"):
        check_compprompts(tmp_path, {"rows": rows})
