"""Tests of the sections on ARO, retrieval, Compun, CompPrompts, ControlledImCaps and classification."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compeval.evaluators.report import build
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results, read_results
from compeval.evaluators.report.sections import aro, classification, compun, probes
from tests.evaluators.written import write_result

RANKS = {"template": [1, 2, 2, 1], "reversed": [3, 3, 2, 1], "examples-5": [1, 1, 1, 2]}


def make(make_section: Callable[[Results], Section | None], root: Path) -> Section:
    """Return the section on the results in a folder."""
    section = make_section(read_results([root]))
    assert section is not None
    return section


def get_rows(section: Section) -> dict[str, list[list[str]]]:
    return {table.name: table.cells.to_numpy().tolist() for table in section.tables}


def write_aro(root: Path, model: str, task: str, share: float, **categories: Any) -> None:
    metrics = {"recall@1": share, "recall@1_macro_relation_from_10_rows": share / 2}
    write_result(root, model, f"aro/{task}", metrics, chance=0.5, categories=categories)


def test_tables_of_aro(tmp_path: Path) -> None:
    # The mean over spatial relations is unweighted: (1/4 + 3/4) / 2. "below" has too few rows. There is one verb.
    relation = {
        name: {"rows": rows, "recall@1": share}
        for name, rows, share in (
            ("on", 40, 0.25),
            ("above", 80, 0.75),
            ("below", 1, 1.0),
            ("wearing", 20, 0.5),
        )
    }
    write_aro(tmp_path, "clip-s0", "vg_relation", 0.5, relation=relation)
    for seed, share in enumerate((0.2, 0.4)):
        write_aro(tmp_path, "clip-s0", f"coco_order@s{seed}", share)
    section = make(aro.make_section, tmp_path)
    tables = get_rows(section)
    assert tables["aro_vg_relation"] == [["clip", "50.0 [40.0, 60.0]", "25.0↓ [15.0, 35.0]"]]
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


def test_figures_of_aro_average_over_seeds_and_perturbations(tmp_path: Path) -> None:
    for seed, share in enumerate((0.2, 0.4)):
        model = f"clip-s{seed}"
        write_aro(tmp_path, model, "vg_relation", share, relation={})
        write_aro(tmp_path, model, "coco_order@s0", share)
        write_aro(tmp_path, model, "coco_order@s1", share + 0.2)
        write_result(tmp_path, model, "classification/cifar10", {"top1": share})
        write_result(tmp_path, model, "classification/cifar10@examples", {"top1": 1.0})
    results = read_results([tmp_path])
    values = aro.average_tasks(results.values, aro.TASKS)
    # VG-Relation: the macro accuracy, half of the micro accuracy. COCO-PRC: mean of 0.2, 0.4, 0.4 and 0.6.
    assert values["clip"].round(6).to_dict() == {
        "VG-Relation": 15.0,
        "COCO-PRC": 40.0,
        "CIFAR10": 30.0,
    }
    bars, radar = aro.draw_figures(results.values).values()
    assert all(title in bars and title in radar for title in ("VG-Relation", "COCO-PRC"))
    assert "CIFAR10" in radar


def test_retrieval_table_has_one_row_per_strategy(tmp_path: Path) -> None:
    recalls = {
        "": 0.5,
        "@shuffle_trigrams-s0": 0.3,
        "@shuffle_trigrams-s1": 0.3,
        "@shuffle_trigrams-s2": 0.6,
    }
    for variant, share in recalls.items():
        metrics = {f"{direction}_recall@{k}": share for direction in ("i2t", "t2i") for k in (1, 5)}
        write_result(tmp_path, "clip", f"retrieval/coco{variant}", metrics, chance=0.01)
    section = make(aro.make_retrieval, tmp_path)
    # Mean 0.4; standard deviation sqrt((0.1^2 + 0.1^2 + 0.2^2) / 2) = 0.1732.
    assert get_rows(section) == {
        "retrieval_coco_captions": [
            ["No shuffling", "clip", *["50.0"] * 4],
            ["Shuffle trigrams", "clip", *["40.0 ± 17.3"] * 4],
        ]
    }
    assert [caption.partition(" with")[0] for caption in section.figures] == ["COCO: Recall@1"]
    rows = read_results([tmp_path]).values.assign(
        title=["No shuffling"] * 4 + ["Shuffle trigrams"] * 12
    )
    means = aro.average_strategies(rows)["Text R@1"]["clip"]
    assert means.round(6).to_dict() == {"No shuffling": 50.0, "Shuffle trigrams": 40.0}


def write_compun(
    root: Path, model: str, ranks: dict[str, list[int]] = RANKS, among_all: bool = True
) -> None:
    for variant, rank_N in ranks.items():
        accuracy = rank_N.count(1) / 4
        metrics = {"recall@1": accuracy} | ({"all_recall@1": accuracy / 2} if among_all else {})
        write_result(
            *(
                root,
                model,
                "compun/main" + ("" if variant == "template" else f"@{variant}"),
                metrics,
            ),
            {"rank": rank_N, "similarity": [0.2, 0.9, 0.9, 0.4], "margin": [0.1, -0.1, -0.1, 0.3]},
            protocol="compound",
            chance={"recall@1": 1 / 3, "all_recall@1": 0.01},
            intervals={name: [0.0, 1.0] for name in metrics},
            categories={"form": {"open": {"rows": 3, **metrics}, "closed": {"rows": 1, **metrics}}},
        )


def test_tables_of_compun(tmp_path: Path):
    write_compun(tmp_path, "clip-a")
    section = make(compun.make_section, tmp_path)
    tables = get_rows(section)
    # 2, 1 and 3 of 4 rows are right; there are no results with descriptors; half as many are right among all images.
    assert tables["compun"] == [
        ["Random", "33.3", "33.3", "33.3", "1.0"],
        [
            "clip-a",
            "50.0 [0.0, 100.0]",
            "25.0 [0.0, 100.0]",
            "75.0 [0.0, 100.0]",
            "25.0 [0.0, 100.0]",
        ],
    ]
    assert tables["compun_examples"] == [["clip-a", "75.0 [0.0, 100.0]"]]
    assert tables["compun_categories"][:2] == [
        ["clip-a", "Template", "form", "open", "3", "50.0", "25.0"],
        ["clip-a", "Template", "form", "closed", "1", "50.0", "25.0"],
    ]
    # With the template, the rows with similarities .2 and .4 (margins .1 and .3) are right: means .3 and .2, standard
    # deviations .1.
    assert tables["compun_similarity"][0] == [
        "clip-a",
        "Template",
        "2",
        "0.300 ± 0.100",
        "0.200 ± 0.100",
    ]
    assert section.headline == [
        "Compound nouns, clip-a: accuracy 50.0% (not different from chance, 33.3%) with the template, 75.0% (not "
        "different from chance, 33.3%) with five example captions, 25.0% (not different from chance, 1.0%) against all "
        "images."
    ]
    build([tmp_path], tmp_path / "report")
    assert sorted(path.name for path in (tmp_path / "report/figures").iterdir()) == [
        "compun-1.svg",
        "compun-2.svg",
    ]
    assert "| clip-a | 50.0 [0.0, 100.0] |" in (tmp_path / "report/report.md").read_text(
        encoding="utf-8"
    )


def test_classification_with_several_kinds_of_prompt(tmp_path: Path):
    write_compun(tmp_path, "clip-a", {"template": [1, 1, 1, 1]})
    for variant, share in (("", 0.5), ("@examples-5", 0.6)):
        write_result(tmp_path, "clip-a", f"classification/cifar10{variant}", {"top1": share})
    write_result(tmp_path, "clip-b", "classification/cifar10", {"top1": 0.5})
    tables = get_rows(make(compun.make_section, tmp_path))
    assert tables["compun_classification"] == [
        ["clip-a", "cifar10", "50.0 [40.0, 60.0]", "60.0 [50.0, 70.0]"]
    ]


def test_training_seeds_of_a_model_share_a_row(tmp_path: Path):
    write_compun(tmp_path, "clip-a-s0", {"template": [1, 1, 1, 1]})
    write_compun(tmp_path, "clip-a-s1", {"template": [1, 1, 2, 2]})
    section = make(compun.make_section, tmp_path)
    assert section.tables[0].cells.iloc[1].tolist() == [
        "clip-a",
        "75.0 [50.0, 100.0]",
        "37.5 [25.0, 50.0]",
    ]


def test_models_that_only_score_pairs_have_no_rank_among_all_images(tmp_path: Path):
    write_compun(tmp_path, "itm", among_all=False)
    section = make(compun.make_section, tmp_path)
    assert list(section.tables[0].cells) == ["Model", "Template", "Reversed", "Examples (5)"]
    assert "all images" not in section.headline[0]


def test_compun_without_correct_answers(tmp_path: Path):
    write_compun(tmp_path, "clip-a", {"template": [2, 3, 2, 2]})
    assert get_rows(make(compun.make_section, tmp_path))["compun_similarity"] == [
        ["clip-a", "Template", "0"]
    ]


def test_controlledimcaps_without_probes(tmp_path: Path):
    shares = {f"{name}_score": 0.5 for name in ("text", "image", "group")}
    write_result(
        tmp_path, "clip-a", "controlledimcaps/adjective", shares, chance={"text_score": 0.25}
    )
    cell = "50.0 [40.0, 60.0]"
    assert get_rows(make(probes.make_controlledimcaps, tmp_path))["controlledimcaps"] == [
        ["clip-a", "controlledimcaps/adjective", "30", cell, cell, cell, "25.0 / - / -"]
    ]
    assert probes.make_compprompts(read_results([tmp_path])) is None


def write_probe(
    root: Path, name: str, text_encoder: str, cells: dict[str, list[tuple[str, str]]]
) -> None:
    """Write a probe's results on CompPrompts. ``cells``: cell -> (prompt, recovered text) pairs."""
    about = {"spec": f"local:{name}", "text_encoder": text_encoder}
    # CompPrompts is text, so its results are neither of drawn scenes nor of photographs.
    changes = {
        "about": about,
        "protocol": "recovery",
        "source": "compprompts",
        "synthetic": False,
        "chance": 0.0,
    }
    for cell, pairs in cells.items():
        prompts, recovered = map(list, zip(*pairs, strict=True))
        hits = [prompt == text for prompt, text in pairs]
        rows = {"cell": [cell] * len(pairs), "prompt": prompts, "recovered": recovered, "hit": hits}
        exact_match = {"exact_match": sum(hits) / len(hits)}
        write_result(
            root,
            name,
            f"compprompts/{cell}",
            exact_match,
            rows | {"bleu4": [0.5] * len(pairs)},
            **changes,
        )


def test_tables_of_compprompts(tmp_path: Path):
    left = ("a cat on the left", "a cat on the left")
    cells = {
        "obj1": [("a cat", "a cat"), ("a dog", "a pig")],
        "obj1_spatial": [left, ("a cat under a dog", "a dog under a cat")],
        "multiples_obj1": [("two cats", "two cats")],
    }
    write_probe(tmp_path, "of-a", "clip-a", cells)
    write_probe(tmp_path, "of-b", "clip-b", {"obj1": cells["obj1"][:1], "mine": [left]})
    write_result(
        tmp_path, "clip-a", "controlledimcaps/spatial_1", {"image_score": 0.25, "text_score": 0.5}
    )
    section = make(probes.make_compprompts, tmp_path)
    tables = {table.name: table.cells for table in section.tables}
    # of-a: 1/2 in both cells, 2 of 4 prompts; BLEU is always 50. No prompt has two objects: no share is shuffled.
    overall = tables["compprompts_overall"].to_numpy().tolist()
    assert overall[:2] == [
        ["of-a", "50.0", "50.0", "50.0", "50.0", "-"],
        ["of-b", "100.0", "100.0", "50.0", "50.0", "-"],
    ]
    assert overall[2] == ["Paper: CLIP ViT-B/32", "13.2", "-", "33.3", "-", "51.8"]
    assert len(overall) == 2 + 6
    by_type = tables["compprompts_types"].set_index("T(x)")
    # There is no cell with two objects.
    assert by_type.index.tolist() == [
        "1 unique object",
        "of-a",
        "of-b",
    ]
    assert by_type[["0 attributes", "1 spatial", "1 adj."]].iloc[1].tolist() == [
        "50.0",
        "50.0",
        "-",
    ]
    assert tables["compprompts_multiples_negations"].iloc[1].tolist() == [
        "of-a",
        "100.0",
        "-",
        "-",
        "-",
    ]
    # One spatial prompt is about left and right, and it is recovered. There are no results of clip-b on images.
    assert tables["controlledimcaps_probe_of-a"].to_numpy().tolist() == [
        ["Spatial 1-obj L/R", "100.0", "25.0 [15.0, 35.0]", "50.0 [40.0, 60.0]"]
    ]
    assert "controlledimcaps_probe_of-b" not in tables
    assert tables["compprompts_own"].iloc[:, :2].to_numpy().tolist() == [
        ["of-b", "compprompts/mine"]
    ]
    assert section.headline == [
        "Prompts recovered exactly from the text features, mean over types (chance 0.0%): of-a 50.0%, of-b 100.0%."
    ]


def test_compprompts_and_microworld_results_are_one_report(tmp_path: Path):
    write_result(tmp_path, "clip-laion", "crepe/prod_hnswap/n5", {"recall@1": 0.5}, corpus="laion")
    write_probe(tmp_path, "of-a", "clip-laion", {"obj1": [("a cat", "a cat")]})
    build([tmp_path / "of-a", tmp_path / "clip-laion"], tmp_path / "report")
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "Synthetic data" in page
    assert page.startswith("# CompEval report: microworld\n")
    assert "Text recovery" in page


@pytest.mark.parametrize("also", [False, True])
def test_each_classification_set_has_its_own_correlation(tmp_path: Path, also: bool):
    """All points are on the line recall = 0.1 + accuracy / 2. Results of two models on another set do not change it."""
    for number in range(3):
        write_result(
            tmp_path, f"tower-{number}", "crepe/prod_hnswap/n8", {"recall@1": 0.1 + 0.1 * number}
        )
        write_result(tmp_path, f"tower-{number}", "classification/imagenet", {"top1": 0.2 * number})
    for model in ("tower-0", "tower-1") if also else ():
        write_result(tmp_path, model, "classification/cifar10", {"top1": 0.9})
    section = make(classification.make_section, tmp_path)
    assert get_rows(section)["correlation"][0][:5] == [
        "imagenet",
        "HN-Swap n = 8",
        "3",
        "1.00",
        "+0.50",
    ]
    assert section.title.endswith("correlation with retrieval")
    assert len(section.figures) == 1
    assert list(get_rows(make(classification.make_section, tmp_path / "tower-0"))) == [
        "classification"
    ]
