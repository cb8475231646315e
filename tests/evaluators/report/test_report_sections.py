"""Tests of the report's sections on Compun, CompPrompts and ControlledImCaps."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from evaluators.report import build, make_sections
from evaluators.report.results import read_results
from evaluators.report.section import Section
from evaluators.report.sections import compprompts, compun, controlledimcaps

RANKS = {"template": [1, 2, 2, 1], "reversed": [3, 3, 2, 1], "examples-5": [1, 1, 1, 2]}


def write_result(
    root: Path, model: str, dataset: str, config: str, variant: str | None = None, /, **changes: Any
) -> Path:
    """Write a result as `compeval run` writes it, without the fields that sections do not read. Returns its path."""
    task = f"{dataset}/{config}" + (f"@{variant}" if variant else "")
    path = root / model / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": 1,
        "task": task,
        "dataset": dataset,
        "config": config,
        "split": "test",
        "variant": variant,
        "protocol": "compound",
        "source": "microworld",
        "synthetic": True,
        "model": {"spec": model, "name": model, "effective": model, "corpus": None, "contaminated": None},
        "data": {"fingerprint": "d1", "rows": 4, "limit": None, "set_size": None},
        "code": {"version": "0.1.0", "fingerprint": "c" * 16},
        "main": list(changes.get("metrics", {}))[:1],
        "std": {},
        "categories": {},
        "warnings": [],
        "skipped": [],
    }
    path.write_text(json.dumps(data | changes))
    return path


def write_compun(root: Path, model: str, ranks: dict[str, list[int]] = RANKS, among_all: bool = True) -> None:
    for variant, rank_N in ranks.items():
        accuracy = rank_N.count(1) / 4
        metrics = {"recall@1": accuracy} | ({"all_recall@1": accuracy / 2} if among_all else {})
        path = write_result(
            root,
            model,
            "compun",
            "main",
            None if variant == "template" else variant,
            metrics=metrics,
            intervals={name: [0.0, 1.0] for name in metrics},
            chance={"recall@1": 1 / 3, "all_recall@1": 0.01},
            categories={"form": {"open": {"rows": 3, **metrics}, "closed": {"rows": 1, **metrics}}},
        )
        rows = {"rank": rank_N, "similarity": [0.2, 0.9, 0.9, 0.4], "margin": [0.1, -0.1, -0.1, 0.3]}
        pd.DataFrame(rows).to_parquet(path.with_suffix(".parquet"))


def make_section(module: ModuleType, root: Path) -> Section:
    """Return the section of a module on the results in a folder."""
    section = module.make_section(read_results([root]))
    assert section is not None
    return section


def get_cells(section: Section) -> dict[str, pd.DataFrame]:
    return {table.name: table.cells for table in section.tables}


def test_tables_of_compun(tmp_path: Path):
    write_compun(tmp_path, "clip-a")
    section = make_section(compun, tmp_path)
    tables = get_cells(section)
    # 2, 1 and 3 of 4 rows are right; there are no results with descriptors; half as many are right among all images.
    assert tables["compun"].to_numpy().tolist() == [
        ["Random", "33.3", "33.3", "33.3", "1.0"],
        ["clip-a", "50.0 [0.0, 100.0]", "25.0 [0.0, 100.0]", "75.0 [0.0, 100.0]", "25.0 [0.0, 100.0]"],
    ]
    assert tables["compun_examples"].to_numpy().tolist() == [["clip-a", "75.0 [0.0, 100.0]"]]
    assert tables["compun_categories"].to_numpy().tolist()[:2] == [
        ["clip-a", "Template", "form", "open", "3", "50.0", "25.0"],
        ["clip-a", "Template", "form", "closed", "1", "50.0", "25.0"],
    ]
    # With the template, the rows with similarities .2 and .4 (margins .1 and .3) are right: means .3 and .2, standard
    # deviations .1.
    assert tables["compun_similarity"].to_numpy().tolist()[0] == [
        "clip-a", "Template", "2", "0.300 ± 0.100", "0.200 ± 0.100",
    ]  # fmt: skip
    assert section.headline == [
        "Compound nouns, clip-a: accuracy 50.0% (not different from chance, 33.3%) with the template, 75.0% (not "
        "different from chance, 33.3%) with five example captions, 25.0% (not different from chance, 1.0%) against all "
        "images."
    ]
    assert len(section.figures) == 2


def test_classification_with_several_kinds_of_prompt(tmp_path: Path):
    write_compun(tmp_path, "clip-a", {"template": [1, 1, 1, 1]})
    for variant, share in ((None, 0.5), ("examples-5", 0.6)):
        metrics = {"metrics": {"top1": share}, "intervals": {"top1": [0.0, 1.0]}, "chance": {"top1": 0.1}}
        write_result(tmp_path, "clip-a", "classification", "cifar10", variant, **metrics)
        write_result(tmp_path, "clip-b", "classification", "cifar10", **metrics)
    table = get_cells(make_section(compun, tmp_path))["compun_classification"]
    assert table.to_numpy().tolist() == [["clip-a", "cifar10", "50.0 [0.0, 100.0]", "60.0 [0.0, 100.0]"]]


def test_training_seeds_of_a_model_share_a_row(tmp_path: Path):
    write_compun(tmp_path, "clip-a-s0", {"template": [1, 1, 1, 1]})
    write_compun(tmp_path, "clip-a-s1", {"template": [1, 1, 2, 2]})
    section = make_section(compun, tmp_path)
    assert section.tables[0].cells.iloc[1].tolist() == ["clip-a", "75.0 [50.0, 100.0]", "37.5 [25.0, 50.0]"]


def test_models_that_only_score_pairs_have_no_rank_among_all_images(tmp_path: Path):
    write_compun(tmp_path, "itm", among_all=False)
    section = make_section(compun, tmp_path)
    assert list(section.tables[0].cells) == ["Model", "Template", "Reversed", "Examples (5)"]
    assert "all images" not in section.headline[0]


def test_compun_without_correct_answers(tmp_path: Path):
    write_compun(tmp_path, "clip-a", {"template": [2, 3, 2, 2]})
    section = make_section(compun, tmp_path)
    assert section.tables[-1].cells.to_numpy().tolist() == [["clip-a", "Template", "0"]]


def test_controlledimcaps_without_probes(tmp_path: Path):
    shares = {f"{name}_score": 0.5 for name in ("text", "image", "group")}
    changes = {"metrics": shares, "intervals": {name: [0.4, 0.6] for name in shares}, "chance": {"text_score": 0.25}}
    write_result(tmp_path, "clip-a", "controlledimcaps", "adjective", **changes)
    pairs = make_section(controlledimcaps, tmp_path)
    cell = "50.0 [40.0, 60.0]"
    assert pairs.tables[0].cells.to_numpy().tolist() == [
        ["clip-a", "controlledimcaps/adjective", "4", cell, cell, cell, "25.0 / - / -"]
    ]
    assert compprompts.make_section(read_results([tmp_path])) is None


def write_probe(root: Path, name: str, text_encoder: str, cells: dict[str, list[tuple[str, str]]]) -> None:
    """Write a probe's results on CompPrompts. ``cells``: cell -> (prompt, recovered text) pairs."""
    for cell, pairs in cells.items():
        hit_N = [prompt == recovered for prompt, recovered in pairs]
        share = sum(hit_N) / len(hit_N)
        model = {"spec": f"local:{name}", "name": name, "corpus": None, "contaminated": None}
        path = write_result(
            root,
            name,
            "compprompts",
            cell,
            model=model | {"effective": name, "text_encoder": text_encoder},
            metrics={"exact_match": share},
            intervals={"exact_match": [0.0, 1.0]},
            chance={"exact_match": 0.0},
        )
        prompts, recovered = map(list, zip(*pairs, strict=True))
        rows = {"cell": cell, "prompt": prompts, "recovered": recovered, "hit": hit_N, "bleu4": [0.5] * len(pairs)}
        pd.DataFrame(rows).to_parquet(path.with_suffix(".parquet"))


def test_tables_of_compprompts(tmp_path: Path):
    left = ("a cat on the left", "a cat on the left")
    cells = {
        "obj1": [("a cat", "a cat"), ("a dog", "a pig")],
        "obj1_spatial": [left, ("a cat under a dog", "a dog under a cat")],
        "multiples_obj1": [("two cats", "two cats")],
    }
    write_probe(tmp_path, "of-a", "clip-a", cells)
    write_probe(tmp_path, "of-b", "clip-b", {"obj1": cells["obj1"][:1], "mine": [left]})
    shares = {"image_score": 0.25, "text_score": 0.5, "group_score": 0.25}
    intervals = {name: [0.0, 0.75] for name in shares}
    write_result(
        tmp_path, "clip-a", "controlledimcaps", "spatial_1", metrics=shares, intervals=intervals, chance=shares
    )
    section = make_section(compprompts, tmp_path)
    tables = get_cells(section)
    # of-a: 1/2 in both cells, 2 of 4 prompts; BLEU is always 50. No prompt has two objects: no column "Shuffled %".
    assert tables["compprompts_overall"].to_numpy().tolist() == [
        ["of-a", "50.0", "50.0", "50.0", "50.0"],
        ["of-b", "100.0", "100.0", "50.0", "50.0"],
    ]
    by_type = tables["compprompts_types"].set_index("T(x)")
    assert by_type.index.tolist() == ["1 unique object", "of-a", "of-b"]  # there is no cell with two objects
    assert by_type[["0 attributes", "1 spatial", "1 adj."]].iloc[1].tolist() == ["50.0", "50.0", "-"]
    assert tables["compprompts_multiples_negations"].iloc[1].tolist() == ["of-a", "100.0", "-", "-", "-"]
    # One spatial prompt is about left and right, and it is recovered. There are no results of clip-b on images.
    assert tables["controlledimcaps_probe_of-a"].to_numpy().tolist() == [
        ["Spatial 1-obj L/R", "100.0", "25.0 [0.0, 75.0]", "50.0 [0.0, 75.0]"]
    ]
    assert "controlledimcaps_probe_of-b" not in tables
    assert tables["compprompts_own"].iloc[:, :2].to_numpy().tolist() == [["of-b", "mine"]]
    assert section.headline == [
        "Prompts recovered exactly from the text features, mean over types (chance 0.0%): of-a 50.0%, of-b 100.0%."
    ]


def test_equal_results_count_once(tmp_path: Path):
    for folder in ("microworld", "probe/microworld"):
        write_compun(tmp_path / folder, "clip-a")
    assert len(read_results([tmp_path])) == len(RANKS)
    build([tmp_path], tmp_path / "report")


def test_page_contains_only_sections_with_results(tmp_path: Path):
    write_compun(tmp_path / "results", "clip-a")
    assert [section.id for section in make_sections(read_results([tmp_path / "results"]))] == ["compun"]
    build([tmp_path / "results"], tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert '<h2 id="compun">' in page
    assert '<h2 id="systematicity">' not in page
    assert '<h2 id="examples">' not in page
    assert sorted(path.name for path in (tmp_path / "report" / "figures").iterdir()) == ["compun-1.svg", "compun-2.svg"]
    assert "| clip-a | 50.0 [0.0, 100.0] |" in (tmp_path / "report" / "report.md").read_text()


@pytest.mark.parametrize("module", [compun, controlledimcaps, compprompts])
def test_no_section_without_results(tmp_path: Path, module: Any):
    write_result(tmp_path, "clip-a", "other", "main", metrics={}, intervals={}, chance={"recall@1": 0.5})
    assert module.make_section(read_results([tmp_path])) is None
