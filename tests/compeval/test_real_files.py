"""End-to-end tests on published files (with synthetic images) and on real photographs."""

import json
from collections import Counter
from pathlib import Path

import pytest

from compeval.loaders.datasets.split_names import name_of_stored, parse_stored
from tests.close import assert_close
from tests.compeval.cli.test_cli import call
from tests.stand_ins import write_stand_ins


def is_derived(name: str) -> bool:
    """Return True if a ``config/split`` repeats rows of other splits: joined productivity sets, seeds, balanced
    subsets."""
    config, split = name.split("/")
    return config in ("prod_hnall", "prod_raw") or parse_stored(split)[1] != ""


@pytest.mark.acceptance
@pytest.mark.parametrize("repair", [False, True])
def test_all_published_files_are_imported_and_evaluated(
    here: Path, clip: Path, real_data: Path, repair: bool
):
    files = sorted(
        path
        for folder in ("crepe", "aro", "sugar_crepe")
        for path in (real_data / folder).rglob("*")
        if path.suffix in (".csv", ".json", ".tsv")
    )
    write_stand_ins(files, here / "images")
    options = ("--repair",) if repair else ()
    imported = call(
        "import", *files, "--images", "images", "--output", "published", "--json", *options
    )
    assert imported.exit_code == 0, imported.stderr
    reports = json.loads(imported.stdout)
    assert [report["file"] for report in reports] == [path.name for path in files]
    for report in reports:
        written = sum(rows for name, rows in report["written"].items() if not is_derived(name))
        dropped = sum(report["dropped"].values())
        print(report["file"], report["read"], written, report["dropped"], report["repaired"])
        assert written + dropped == report["read"] > 0
        assert bool(report["repaired"]) <= repair
    expected = Counter[str]()
    for report in reports:
        for name, rows in report["written"].items():
            expected[name_of_stored(report["family"], *name.split("/"))] += rows
    families = sorted({report["family"] for report in reports})
    tasks = [part for family in families for part in ("--task", f"{family}/*")]
    run = call("run", "--model", f"local:{clip}", "--data", "published", *tasks, "--json")
    assert run.exit_code == 0, run.stderr
    results = {result["task"]: result for result in json.loads(run.stdout)}
    # Raw retrieval leaves out an incomplete fold.
    fold = min(rows for task, rows in expected.items() if "_raw/" in task)
    evaluated = {
        task: rows // fold * fold if "_raw/" in task else rows for task, rows in expected.items()
    }
    assert {task: result["data"]["rows"] for task, result in results.items()} == evaluated
    for task, result in results.items():
        for metric in result["main"]:
            print(
                task,
                result["data"]["rows"],
                metric,
                result["metrics"][metric],
                result["chance"][metric],
            )
            assert 0 <= result["metrics"][metric] <= 1


def read_rows(table: str) -> dict[str, int]:
    """Return the number of rows of each config that `compeval make` has printed."""
    lines = [line.split() for line in table.splitlines() if line.startswith("my_")]
    return {name: int(rows) for name, rows, *_ in lines}


@pytest.mark.acceptance
def test_user_files_with_real_photographs(here: Path, clip: Path, real_data: Path):
    """A shard with 32 pairs of CC12M, and a table with three photographs of COCO, their captions and foils."""
    foils = json.loads((real_data / "coco" / "captions_and_foils.json").read_text(encoding="utf-8"))
    rows = [{"image": entry["image"], "captions": entry["captions"]} for entry in foils]
    rows += [
        {"image": entry["image"], "caption": caption, "hard_negatives": [foil]}
        for entry in foils
        for _, caption, foil in entry["sugar_crepe"]
    ]
    Path("coco.json").write_text(json.dumps(rows), encoding="utf-8")
    made = call("make", "my_coco", "coco.json", "--images", real_data / "coco", "--output", "mine")
    assert made.exit_code == 0, made.stderr
    negatives = sum(len(entry["sugar_crepe"]) for entry in foils)
    assert read_rows(made.stdout) == {"my_coco/captions": 3, "my_coco/foils_1": negatives}
    shard = real_data / "cc12m" / "cc12m-train-0000.tar"
    made = call("make", "my_cc12m", shard, "--output", "mine")
    assert read_rows(made.stdout) == {"my_cc12m/captions": 32}

    tasks = ("--task", "my_coco/*", "--task", "my_cc12m/*")
    run = call("run", "--model", f"local:{clip}", "--data", "mine", *tasks, "--json")
    assert run.exit_code == 0, run.stderr
    results = {result["task"]: result for result in json.loads(run.stdout)}
    assert set(results) == {"my_cc12m/captions", "my_coco/captions", "my_coco/foils_1"}
    for task, result in results.items():
        print(task, {name: round(value, 3) for name, value in result["metrics"].items()})
    assert {"i2t_recall@1", "t2i_recall@1"} <= set(results["my_cc12m/captions"]["metrics"])
    assert_close(results["my_cc12m/captions"]["chance"]["i2t_recall@1"], 1 / 32, within=1e-3)
    assert results["my_coco/foils_1"]["chance"]["recall@1"] == 0.5

    for name in ("my_coco", "my_cc12m"):
        folders = {
            path.parents[1]
            for path in Path("results").rglob("captions.json")
            if path.parent.name == name
        }
        report = call("report", *folders, "--data", "mine", "--output", f"report_{name}")
        assert report.exit_code == 0, report.output
        page = Path(f"report_{name}/index.html").read_text(encoding="utf-8")
        assert page.count("data:image/jpeg;base64,") >= 3
    assert (
        foils[0]["sugar_crepe"][0][2]
        in Path("report_my_coco/index.html").read_text(encoding="utf-8")
        or negatives > 4
    )
