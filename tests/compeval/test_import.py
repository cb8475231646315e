"""Tests of ``compeval import`` and ``compeval audit``."""

import json
from pathlib import Path

from tests.compeval.cli.test_cli import call
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


def test_import_and_audit_reject_unknown_names(here: Path):
    Path("mine.csv").write_text("")
    assert call("import", "mine.csv", "--images", ".").stderr.startswith(
        "Error: mine.csv: not the name of a published file"
    )
    assert call("import", "missing.csv", "--images", ".").stderr == "Error: missing.csv: no such file.\n"
    assert "No dataset found in ." in call("audit", "crpe", "--data", ".").stderr


def test_audit_prints_counts_and_cues(here: Path, data: Path):
    output = call("audit", "crepe", "--data", data).stdout
    flaws, cues = output.split("Counted in rows:")
    assert [cell.strip() for cell in next(line for line in flaws.splitlines() if "prod_hnatom/n4" in line).split("│")][
        1:5
    ] == ["crepe/prod_hnatom/n4", "5", "15", "0"]  # 5 rows of 3 negatives
    # All candidates have the same number of words, so the rules are at chance, 1/4.
    assert next(line for line in cues.splitlines() if "prod_hnatom/n4" in line).count("25.0%") == 4
