"""Tests of reports on results of several datasets, corpora and classification sets."""

import json
from pathlib import Path

import pandas as pd
import pytest

from evaluators.report import build
from evaluators.report.results import make_frame, read_results, split_parts
from evaluators.report.sections import classification, gap, productivity, systematicity
from tests.evaluators.report import test_report_sections
from tests.evaluators.report.test_report import make_tables, write_result


def write_accuracy(root: Path, model: str, config: str, accuracy: float) -> None:
    """Write a result on zero-shot classification."""
    metrics = {"metrics": {"top1": accuracy}, "chance": {"top1": 0.1}, "intervals": {"top1": [accuracy, accuracy]}}
    task = f"classification/{config}"
    write_result(root, model, "laion", config, 0.0, task=task, dataset="classification", **metrics)


def test_compprompts_and_microworld_results_are_one_report(tmp_path: Path):
    # CompPrompts is text, so its results are neither synthetic images nor photographs.
    write_result(tmp_path, "clip-laion", "laion", "prod_hnswap", 0.5, "n5")
    test_report_sections.write_probe(tmp_path, "of-a", "clip-laion", {"obj1": [("a cat", "a cat")]})
    for path in (tmp_path / "of-a").rglob("*.json"):
        changes = {"synthetic": False, "protocol": "recovery", "source": "compprompts"}
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    build([tmp_path / "of-a", tmp_path / "clip-laion"], tmp_path / "report")
    page = (tmp_path / "report" / "report.md").read_text()
    assert "Synthetic data" in page
    assert page.startswith("# CompEval report: microworld\n")
    assert "Text recovery" in page


def test_each_classification_set_has_its_own_correlation(tmp_path: Path):
    # The points of the models on ImageNet are on the line recall = 0.1 + accuracy / 2. Two models have results on
    # CIFAR-10 as well, which must not change them.
    for number in range(3):
        write_result(tmp_path, f"tower-{number}", "laion", "prod_hnswap", 0.1 + 0.1 * number, "n8")
        write_accuracy(tmp_path, f"tower-{number}", "imagenet", 0.2 * number)
    write_accuracy(tmp_path, "tower-0", "cifar10", 0.9)
    write_accuracy(tmp_path, "tower-1", "cifar10", 0.9)
    _, table = make_tables(classification, [tmp_path])
    assert table.cells.iloc[:, :5].to_numpy().tolist() == [["imagenet", "HN-Swap n = 8", "3", "1.00", "+0.50"]]


def write_hits(root: Path, dataset: str, corpus: str, split: str, ranks: list[int], crop_ids: list[str]) -> None:
    """Write a corpus' result on its own HN-Atom set, with one caption per crop."""
    config = f"{corpus}_{split}_hnatom"
    changes = {"dataset": dataset, "task": f"{dataset}/{config}", "synthetic": False, "source": "visual_genome"}
    path = write_result(root / dataset, f"clip-{corpus}", corpus, config, 0.5, **changes)
    rows = {"crop_id": crop_ids, "image_id": crop_ids, "caption": ["a red ball"] * len(crop_ids), "rank": ranks}
    pd.DataFrame(rows).to_parquet(path.with_suffix(".parquet"))


def test_gap_of_crepe_and_of_imported_crepe_are_separate(tmp_path: Path):
    # Built CREPE: laion hits everything, so the differences are 1 and -1, and the gap is 0. Imported CREPE: the seen
    # corpus always hits and the unseen one never, so the gap is 1. Pooled, both would be 1/2.
    for corpus, rank in (("laion", 1), ("yfcc", 2)):
        own, other = ("a", "b") if corpus == "laion" else ("b", "a")
        write_hits(tmp_path, "crepe", corpus, "sc", [rank], [own])
        write_hits(tmp_path, "crepe", corpus, "uc", [rank], [other])
        write_hits(tmp_path, "crepe_published", corpus, "sc", [1], [f"published {own}"])
        write_hits(tmp_path, "crepe_published", corpus, "uc", [2], [f"published {other}"])
    parts = split_parts(read_results([tmp_path]))
    sections = {name: gap.make_section(results) for name, results in parts.items()}
    gaps = {name: section.tables[0].cells["Gap"].tolist() for name, section in sections.items() if section}
    assert gaps == {"photographs": ["+0.0"] * 3, "published": ["+100.0"] * 3}
    assert sections["photographs"]
    assert sections["photographs"].metrics == {"seen_minus_unseen": {"hnatom": {"laion": 0.0, "yfcc": 0.0, "all": 0.0}}}


@pytest.mark.parametrize("corpus", ["mine", "my_shop"])
def test_a_corpus_of_the_user_has_tables(tmp_path: Path, corpus: str):
    for split, recall in (("sc", 0.5), ("uc", 0.4)):
        write_result(tmp_path, "clip-mine", corpus, f"{corpus}_{split}_hnatom", recall)
    (table,) = make_tables(systematicity, [tmp_path / "clip-mine"])
    assert table.cells.iloc[1].tolist() == [
        f"{corpus} (micro-world)",
        "clip-mine",
        "50.0 [40.0, 60.0]",
        "40.0 [30.0, 50.0]",
    ]
    frame = make_frame(read_results([tmp_path]))
    assert set(frame["kind"]) == {"hnatom"}
    assert set(frame["split"]) == {"sc", "uc"}


def write_raw(root: Path, model: str, corpus: str, config: str, size: int, share: float, split: str = "test") -> None:
    """Write a result on raw retrieval among ``size`` rows. From text to image, the recall is half of ``share``."""
    metrics = {"i2t_recall@1": share, "t2i_recall@1": share / 2}
    changes = {"std": dict.fromkeys(metrics, 0.01), "chance": dict.fromkeys(metrics, 1 / size)}
    data = {"fingerprint": "d1", "rows": 200, "limit": None, "set_size": size}
    write_result(root, model, corpus, config, 0.0, split, metrics=metrics, intervals={}, data=data, **changes)


def test_raw_tables_have_both_directions(tmp_path: Path):
    for split, share, size in (("sc", 0.4, 100), ("uc", 0.3, 100), ("ua", 0.2, 20)):
        write_raw(tmp_path, "clip-mine", "mine", f"mine_{split}_raw", size, share)
    for number, share in ((4, 0.3), (5, 0.5)):
        write_raw(tmp_path, "clip-mine", "mine", "prod_raw", 50, share, f"n{number}")
    (by_split,) = make_tables(systematicity, [tmp_path])
    assert by_split.cells.to_numpy().tolist() == [
        [
            *("Image to text", "mine (micro-world)", "clip-mine", "100 / 100 / 20"),
            *("40.0 ± 1.0", "30.0 ± 1.0", "20.0 ± 1.0", "1.0 / 1.0 / 5.0"),
        ],
        [
            *("Text to image", "mine (micro-world)", "clip-mine", "100 / 100 / 20"),
            *("20.0 ± 1.0", "15.0 ± 1.0", "10.0 ± 1.0", "1.0 / 1.0 / 5.0"),
        ],
    ]
    (by_complexity,) = make_tables(productivity, [tmp_path])
    assert by_complexity.cells.iloc[1].tolist() == [
        *("Text to image", "mine (micro-world)", "clip-mine", "50", "15.0 ± 1.0", "25.0 ± 1.0", "2.0"),
    ]
