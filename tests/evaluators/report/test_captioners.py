"""The report's section on captioners."""

from pathlib import Path

from evaluators.report import make_sections
from evaluators.report.results import read_results
from evaluators.report.sections.captioners import make_section
from generators.schemas.corpus_names import ProductivityConfig, parse_productivity
from tests.evaluators.report.test_report import write_result


def test_names_of_productivity_configs() -> None:
    assert parse_productivity("prod_hnatom") == (None, "hnatom")
    assert parse_productivity("prod_llm_hnswap") == ("llm", "hnswap")
    assert parse_productivity("prod_hnneg_balanced") == (None, "hnneg_balanced")
    assert parse_productivity("laion_uc_hnatom") is None
    assert ProductivityConfig("llm", "raw").name == "prod_llm_raw"


def test_scores_are_compared_at_the_complexities_of_both(tmp_path: Path) -> None:
    for split in ("n4", "n5", "n6"):
        write_result(tmp_path, "A", "laion", "prod_hnatom", 1 / 3, split)
    for split in ("n5", "n6", "n7"):
        write_result(tmp_path, "A", "laion", "prod_llm_hnatom", 1 / 3, split)
    results = read_results([tmp_path])
    results.validity = {
        "captioners": [
            {"variant": "llm", "captioner": "model", "complexities": [5, 6], "captions": 9, "kept": 0.9, "true": 0.8,
             "negatives": 5, "genuine": 0.7, "log_probability": -2.5},
            {"variant": "", "captioner": "grammar", "complexities": [5], "captions": 9, "kept": 1.0, "true": 1.0,
             "negatives": 0, "genuine": None, "log_probability": None},
        ]
    }  # fmt: skip
    section = make_section(results)
    assert section is not None
    captions, scores = section.tables
    assert captions.cells.to_numpy().tolist() == [
        ["model", "5 to 6", "9", "90.0", "80.0", "70.0", "-2.50"],
        ["grammar", "5", "9", "100.0", "100.0", "-", "-"],
    ]
    (row,) = scores.cells.to_numpy().tolist()
    assert row[:4] == ["A", "HN-Atom", "5 to 6", "6"]  # three rows of each of two splits; one of three ranks is 1
    assert row[4].startswith("33.3 [")
    assert row[5:] == ["6", row[4], "33.3"]
    assert section.shown == {("A", f"crepe/prod_llm_hnatom/n{n}") for n in (5, 6, 7)}


def test_without_a_variant_there_is_no_section(tmp_path: Path) -> None:
    write_result(tmp_path, "A", "laion", "prod_hnatom", 1 / 3, "n5")
    results = read_results([tmp_path])
    assert make_section(results) is None
    assert "captioners" not in [section.id for section in make_sections(results)]
