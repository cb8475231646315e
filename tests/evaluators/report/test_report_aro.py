"""Tests of the report's sections on ARO and retrieval."""

from pathlib import Path
from typing import Any

from evaluators.report.aro_figures import DOWNSTREAM, ORDERS, PAIRS, make_values
from evaluators.report.results import group_by_series, read_results
from evaluators.report.sections import aro, retrieval
from tests.evaluators.report.test_report_sections import write_result


def make_metrics(share: float, **categories: Any) -> dict[str, Any]:
    metrics = {"recall@1": share, "recall@1_macro_relation_from_10_rows": share / 2}
    return {
        "metrics": metrics,
        "intervals": {name: [0.0, 1.0] for name in metrics},
        "chance": dict.fromkeys(metrics, 0.5),
        "categories": categories,
    }


def test_tables_of_aro(tmp_path: Path) -> None:
    # The mean over spatial relations is unweighted: (1/4 + 3/4) / 2. "below" has too few rows. There is one verb.
    relation = {
        name: {"rows": rows, "recall@1": share}
        for name, rows, share in (("on", 40, 0.25), ("above", 80, 0.75), ("below", 1, 1.0), ("wearing", 20, 0.5))
    }
    write_result(tmp_path, "clip-s0", "aro", "vg_relation", **make_metrics(0.5, relation=relation))
    for seed, share in enumerate((0.2, 0.4)):
        write_result(tmp_path, "clip-s0", "aro", "coco_order", f"s{seed}", **make_metrics(share))
    section = aro.make_section(read_results([tmp_path]))
    assert section
    tables = {table.name: table.cells.to_numpy().tolist() for table in section.tables}
    assert tables["aro_vg_relation"] == [["clip", "50.0 [0.0, 100.0]", "25.0 [0.0, 100.0]"]]
    assert tables["aro_relations"] == [
        ["Spatial relations", "50.0", "120"],
        ["- above", "75.0", "80"],
        ["- below (not in the mean)", "100.0", "1"],
        ["- on", "25.0", "40"],
        ["Verbs", "50.0", "20"],
        ["- wearing", "50.0", "20"],
    ]
    # Mean of 0.2 and 0.4: 0.3; standard deviation: sqrt(2 * 0.1^2 / 1) = 0.1414.
    assert tables["aro_order"] == [["clip", "30.0 ± 14.1"]]  # Flickr30k was not measured
    assert section.headline == [
        "clip prefers the true caption to the swapped caption in 50.0% of VG-Relation (not different from "
        "chance, 50.0%)."
    ]


def test_retrieval_table_has_one_row_per_strategy(tmp_path: Path) -> None:
    def make_recalls(share: float) -> dict[str, Any]:
        metrics = {f"{direction}_recall@{k}": share for direction in ("i2t", "t2i") for k in (1, 5)}
        return {"metrics": metrics, "intervals": {}, "chance": {"i2t_recall@1": 0.01}}

    write_result(tmp_path, "clip", "retrieval", "coco", **make_recalls(0.5))
    for seed, share in enumerate((0.3, 0.3, 0.6)):
        write_result(tmp_path, "clip", "retrieval", "coco", f"shuffle_trigrams-s{seed}", **make_recalls(share))
    section = retrieval.make_section(read_results([tmp_path]))
    assert section
    # Mean 0.4; standard deviation sqrt((0.1^2 + 0.1^2 + 0.2^2) / 2) = 0.1732.
    (table,) = section.tables
    values = retrieval.make_figure_values({"clip": list(read_results([tmp_path]))}, "coco")
    assert values["Text R@1"]["clip"].round(6).to_dict() == {"No shuffling": 50.0, "Shuffle trigrams": 40.0}
    assert ["COCO: Recall@1" in caption for caption in section.figures] == [True]
    assert table.name == "retrieval_coco_captions"
    assert table.cells.to_numpy().tolist() == [
        ["No shuffling", "clip", *["50.0"] * 4],
        ["Shuffle trigrams", "clip", *["40.0 ± 17.3"] * 4],
    ]


def test_figures_of_aro_average_over_seeds_and_perturbations(tmp_path: Path) -> None:
    for seed, share in enumerate((0.2, 0.4)):
        model = f"clip-s{seed}"
        write_result(tmp_path, model, "aro", "vg_relation", **make_metrics(share, relation={}))
        write_result(tmp_path, model, "aro", "coco_order", "s0", **make_metrics(share))
        write_result(tmp_path, model, "aro", "coco_order", "s1", **make_metrics(share + 0.2))
        accuracy = {"metrics": {"top1": share}, "intervals": {}, "chance": {"top1": 0.1}}
        write_result(tmp_path, model, "classification", "cifar10", **accuracy)
        write_result(tmp_path, model, "classification", "cifar10", "examples", **accuracy | {"metrics": {"top1": 1.0}})
    results = read_results([tmp_path])
    values = make_values(group_by_series(results), (*PAIRS, *ORDERS, *DOWNSTREAM))
    # VG-Relation: the macro accuracy, half of the micro accuracy. COCO-PRC: mean of 0.2, 0.4, 0.4 and 0.6.
    assert values["clip"].round(6).to_dict() == {"VG-Relation": 15.0, "COCO-PRC": 40.0, "CIFAR10": 30.0}
    section = aro.make_section(results)
    assert section
    bars, radar = section.figures.values()
    assert all(title in bars and title in radar for title in ("VG-Relation", "COCO-PRC"))
    assert "CIFAR10" in radar


def test_no_section_without_results(tmp_path: Path) -> None:
    write_result(
        tmp_path, "clip", "classification", "microworld", metrics={"top1": 1.0}, intervals={}, chance={"top1": 0.1}
    )
    results = read_results([tmp_path])
    assert (aro.make_section(results), retrieval.make_section(results)) == (None, None)
