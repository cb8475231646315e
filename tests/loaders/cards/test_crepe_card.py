import json
from pathlib import Path

import pytest
import yaml

from loaders.cards.write import main
from loaders.papers.figures import retrieval_set_size
from tests.rows import toy_dataset


@pytest.mark.parametrize(
    ("config", "size"),
    [("laion_uc_hnatom", 5), ("cc12m_sc_hnall", 11), ("prod_hnatom", 6), ("prod_hnall", 16), ("laion_ua_raw", None)],
)
def test_retrieval_set_sizes_of_table_6(config: str, size: int | None):
    assert retrieval_set_size(config) == size


def test_card_says_that_data_is_synthetic_and_compares_counts_with_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, parts = tmp_path / "crepe", tmp_path / "parts"
    parts.mkdir()
    toy_dataset(parts)
    (parts / "crepe/toy_hnatom").rename(parts / "crepe/laion_uc_hnatom")
    (tmp_path / "params.yaml").write_text("source: microworld\n")
    (tmp_path / "stats" / "crepe").mkdir(parents=True)
    counted = {"funnels": {"Regions": {"read": 12, "too small": 7}}, "unique": {"laion": {"uc": {"atoms": 2}}}}
    (tmp_path / "stats" / "crepe" / "regions.json").write_text(json.dumps(counted))
    monkeypatch.chdir(tmp_path)
    main("crepe")
    card = (folder / "README.md").read_text()
    assert "Synthetic replacement" in card
    assert "| LAION-400M UC | - (201,595) | 12 (49,604) | - (74,406) |" in card  # 3 rows of 4 negatives
    assert "| too small | 7 |" in card
    assert "| LAION-400M | - (2,968) | - (12,401) | 2 (1,951) | - (15,721) |" in card
    block = yaml.safe_load(card.split("---\n")[1])
    assert block["license"] == "cc0-1.0"
    assert {entry["config_name"] for entry in block["configs"]} == {"laion_uc_hnatom", "toy_raw"}
    assert len(json.loads((folder / "stats.json").read_text())["version"]) == 16
