"""Cards of generated datasets: checks, counts next to those of the papers, and provenance."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from compeval.base.files.atomic import atomic_folder
from compeval.generators import compprompts as generator
from compeval.loaders.cards.write import check_compprompts, main
from compeval.loaders.datasets.stats import list_configs
from compeval.loaders.load import load_dataset
from compeval.loaders.papers.figures import retrieval_set_size
from compeval.loaders.papers.prompt_types import PROMPT_TYPES, TOTAL_PROMPTS, is_in_table_3
from tests.close import assert_close
from tests.rows import toy_dataset

WORDS = Path(__file__).parents[3] / "sample/words/compprompts.yaml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the whole dataset without its card and return the data folder."""
    root = tmp_path_factory.mktemp("data")
    own = {"mine": {"pattern": "a NOUN and a NOUN and a NOUN", "size": 3}}
    generator.write(
        root / "compprompts",
        generator.CompPromptsSettings(0, own),
        yaml.safe_load(WORDS.read_text(encoding="utf-8")),
    )
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
    # Table 1 averages Table 2's 24 cells: 13.2, 28.5, 28.6, 28.9, 41.6. The means of the last two columns' cells are
    # 29.9 and 40.6.
    cells = {
        kind.published_scores: None
        for config, kind in PROMPT_TYPES.items()
        if kind.published_scores and not is_in_table_3(config)
    }
    means = [sum(scores) / len(cells) for scores in zip(*cells, strict=True)]
    assert len(cells) == 24
    assert_close(means, [13.2, 28.5, 28.6, 29.9, 40.6], within=0.3)


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
    assert first["provenance"] == {"source": "compprompts", "captioner": "grammar", "seed": 0}
    card = (built / "compprompts" / "README.md").read_text(encoding="utf-8")
    assert "| obj2_verb2 | a cat chasing a dog | noun, noun, verb | 500 |" in card
    assert "| mine | 3 |" in card


def test_a_config_with_a_wrong_number_of_rows_is_reported(tmp_path: Path):
    rows = {config: {"test": kind.num_prompts} for config, kind in PROMPT_TYPES.items()}
    assert check_compprompts(tmp_path, {"rows": rows | {"mine": {"test": 3}}})["added"] == {
        "mine": 3
    }
    rows["obj2"] = {"test": 499}
    del rows["obj1"]
    with pytest.raises(
        ValueError, match=r": obj1: 0 rows, 300 expected; obj2: 499 rows, 500 expected \(loaders/"
    ):
        check_compprompts(tmp_path, {"rows": rows})


@pytest.mark.parametrize(
    ("config", "size"),
    [
        ("laion_uc_hnatom", 5),
        ("cc12m_sc_hnall", 11),
        ("prod_hnatom", 6),
        ("prod_hnall", 16),
        ("laion_ua_raw", None),
    ],
)
def test_retrieval_set_sizes_of_table_6(config: str, size: int | None):
    assert retrieval_set_size(config) == size


def write_toy_parts(root: Path, source: str, rules: str) -> None:
    """Write parts/crepe with the sets laion_uc_hnatom and toy_raw, and params.yaml."""
    (root / "parts").mkdir()
    toy_dataset(root / "parts")
    (root / "parts/crepe/toy_hnatom").rename(root / "parts/crepe/laion_uc_hnatom")
    params = f"source: {source}\nrules: {rules}\n"
    (root / "params.yaml").write_text(params, encoding="utf-8")


@pytest.mark.parametrize("source", ["microworld", "visual_genome"])
def test_card_of_the_paper_s_rules_does_not_describe_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
):
    """Nothing proves its hard negatives, and only the truth about the micro-world is known."""
    write_toy_parts(tmp_path, source, "paper")
    for path in (tmp_path / "parts/crepe").rglob("*.parquet"):
        rows = pq.read_table(path)
        origin = [{"source": source, "captioner": "a", "seed": 0}] * len(rows)
        number = rows.schema.get_field_index("provenance")
        column = pa.array(origin, rows.schema.field(number).type)
        pq.write_table(rows.set_column(number, rows.schema.field(number), column), path)
    (tmp_path / "parts/crepe/toy_raw").rename(tmp_path / "parts/crepe/prod_mine_raw")
    crops = "" if source == "visual_genome" else f"{'0' * 64}  1.jpg\n"
    with atomic_folder(tmp_path / "parts/crepe/images/regions") as folder:
        (folder / "SHA256SUMS").write_text(crops, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main("crepe")
    card = " ".join((tmp_path / "crepe/README.md").read_text(encoding="utf-8").split())
    assert "Made with `rules: paper`" in card
    assert "Hard negatives are not proven to be false." in card
    assert "Hard negatives are checked against the image's scene graph" not in card
    assert "A hard negative may be true of the image." in card
    assert "`hncomp` (two compounds joined" in card
    assert "- `prod_mine_*`: the same with other captions" in card
    assert "prod_template_" not in card
    is_drawn = source == "microworld"
    assert ("The report contains the measured share" in card) == is_drawn
    assert ("Synthetic replacement" in card) == is_drawn
    assert ("of the micro-world with three seeds, not of this dataset" in card) != is_drawn
    assert "like those of HN-Swap" not in card
    assert ("The crops are files in `images/`" in card) == is_drawn, "the other list is empty"


def test_card_says_that_data_is_synthetic_and_compares_counts_with_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "crepe"
    write_toy_parts(tmp_path, "microworld", "ours")
    (tmp_path / "stats" / "crepe").mkdir(parents=True)
    counted = {
        "funnels": {"Regions": {"read": 12, "too small": 7}},
        "unique": {"laion": {"uc": {"atoms": 2}}},
    }
    (tmp_path / "stats" / "crepe" / "regions.json").write_text(
        json.dumps(counted), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    main("crepe")
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Synthetic replacement" in card
    # 3 rows of 4 negatives.
    assert "| LAION-400M UC | - (201,595) | 12 (49,604) | - (74,406) |" in card
    assert "| too small | 7 |" in card
    assert "Hard negatives are checked against the image's scene graph" in card
    assert "Made with `rules: paper`" not in card
    assert "| LAION-400M | - (2,968) | - (12,401) | 2 (1,951) | - (15,721) |" in card
    block = yaml.safe_load(card.split("---\n")[1])
    assert block["license"] == "cc0-1.0"
    assert {entry["config_name"] for entry in block["configs"]} == {"laion_uc_hnatom", "toy_raw"}
    assert len(json.loads((folder / "stats.json").read_text(encoding="utf-8"))["version"]) == 16
