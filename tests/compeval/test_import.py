"""Tests of ``compeval import`` and ``compeval audit``."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from loaders.importing.identify import identify
from tests.compeval.cli.test_cli import call
from tests.published_files import read_file
from tests.stand_ins import write_stand_ins

SWAPS = "crepe/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv"


def test_published_files_are_imported_audited_and_evaluated(here: Path, clip: Path, real_data: Path):
    pairs = json.loads((real_data / "sugar_crepe" / "swap_obj.json").read_text())
    small_file = here / "swap_obj.json"
    small_file.write_text(json.dumps({key: pairs[key] for key in list(pairs)[:9]}))
    files = [real_data / SWAPS, small_file]
    write_stand_ins(files, here / "images")
    imported = call("import", *files, "--images", "images", "--output", "published")
    assert imported.exit_code == 0, imported.stderr
    assert "crepe_published/prod_hnswap/n4" in imported.stdout
    audits = json.loads(call("audit", "crepe_published", "--data", "published", "--json").stdout)
    file_audits = json.loads(call("audit", files[0], "--json").stdout)
    assert audits["crepe_published/prod_hnswap/n4"] == file_audits[files[0].name]
    tasks = ("--task", "crepe_published/*", "--task", "sugarcrepe/*")
    run = call("run", "--model", f"local:{clip}", "--data", "published", *tasks, "--json")
    results = json.loads(run.stdout)
    assert [(result["task"], result["data"]["rows"], result["source"], result["synthetic"]) for result in results] == [
        ("crepe_published/prod_hnswap/n4", 27, "visual_genome", False),
        ("sugarcrepe/swap_obj", 9, "coco", False),
    ]


def test_audit_prints_findings_and_a_verdict(here: Path, data: Path):
    lines = list(csv.DictReader(call("audit", "crepe", "--data", data, "--format", "csv").stdout.splitlines()))
    first = [line for line in lines if line["set"] == "crepe/prod_hnatom/n4"]
    assert {(line["rows"], line["negatives"]) for line in first} == {("5", "15")}  # 5 rows of 3 negatives
    # All candidates have the same number of words, so the rules are at chance, 1/4.
    assert {line["name"]: line["value"] for line in first if line["kind"] == "cue"} == {
        "no negation word": "0.25",
        "fewest words": "0.25",
        "most words": "0.25",
        "no final stop, or outer spaces": "0.25",
    }
    table = call("audit", "crepe", "--data", data, "--format", "md").stdout.splitlines()
    assert table[0] == "| set | verdict | found | rows | negatives | chance % |"
    assert "| crepe/prod_hnatom/n4 | clean | nothing | 5 | 15 | 25.0 |" in table
    rows = [{"filename": "1.jpg", "caption": "a b", "negative_caption": "no a  b"}] * 1200
    Path("replace_obj.json").write_text(json.dumps(rows))
    result = call("audit", "replace_obj.json", "--json")
    (audit,) = json.loads(result.stdout).values()
    assert (audit["verdict"], audit["findings"]) == (
        "flaws and cues",
        [
            "1,200 negatives have a double space, their caption has none",
            "no negation word selects the caption in 100.0% of rows, and 1,200 negatives add one",
            "fewest words selects the caption in 100.0% of rows",
        ],
    )


@pytest.mark.parametrize("name", ["atom_complexity_4", "swap_complexity_12", "negate_complexity_8"])
def test_published_files_are_known_by_their_content(tmp_path: Path, real_data: Path, name: str):
    kind = name.split("_")[0]
    published = real_data / "crepe" / "prod_hard_negatives" / kind / f"prod_vg_hard_negs_{name}.csv"
    renamed = tmp_path / "prod_renamed.csv"
    shutil.copy(published, renamed)
    found = identify(renamed)
    assert (found.benchmark.name, found.name) == ("crepe_published", published.name)
    own, of_published = read_file(renamed), read_file(published)
    assert own[1] == of_published[1]
    assert (own[0].file, own[0].sha256) == ("prod_renamed.csv", of_published[0].sha256)


@pytest.mark.parametrize(
    ("source", "renamed", "expected"),
    [
        ("sugar_crepe/swap_obj.json", "swaps of objects.json", "swap_obj.json"),
        ("aro/visual_genome_relation.json", "pairs of nouns.json", "visual_genome_relation.json"),
        ("aro/valid_neg_clip.head500.tsv", "captions.tsv", "valid_neg_clip.tsv"),
    ],
)
def test_files_of_aro_and_sugarcrepe_are_known_too(
    tmp_path: Path, real_data: Path, source: str, renamed: str, expected: str
):
    shutil.copy(real_data / source, tmp_path / renamed)
    assert identify(tmp_path / renamed).name == expected


def test_captions_of_unknown_sets_need_their_published_name(tmp_path: Path, real_data: Path):
    shutil.copy(real_data / "aro" / "coco_karpathy_test.json", tmp_path / "mine.json")
    with pytest.raises(ValueError, match=r"mine.json: not recognised as a published file, .*aro_published"):
        identify(tmp_path / "mine.json")
