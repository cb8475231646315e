"""Table 6 for synthetic results."""

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.negclip import table6
from tests.close import assert_close


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write results of three models with two seeds.

    VG-Relation has three rows of one relation and one row of another. CLIP has no correct row, CLIP-FT has the single
    row of the second relation, and NegCLIP has this row and, with seed 1, one of the other three. The other tasks have
    two rows, which are always correct.
    """
    monkeypatch.chdir(tmp_path)
    for seed in (0, 1):
        ranks = {
            "clip": [2, 2, 2, 2],
            "clip-ft": [2, 2, 2, 1],
            "negclip": [1 if seed else 2, 2, 2, 1],
        }
        for model, rank_N in ranks.items():
            root = table6.RUNS / f"toy-s{seed}" / "results/microworld" / model
            for task, _, by in table6.ROWS.values():
                name = f"{task}@s0" if task.endswith("_order") else task
                task_ranks = rank_N if task == "aro/vg_relation" else [1, 1]
                ranked = dict.fromkeys(("rank", "i2t_rank", "t2i_rank"), task_ranks)
                rows = {**ranked, "image_id": [str(row) for row in range(len(task_ranks))]}
                if by:
                    names = ["on", "on", "on", "in"][: len(task_ranks)]
                    rows["categories"] = [[{"by": by, "name": name}] for name in names]
                path = root / f"{name}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(rows).to_parquet(path)
    return tmp_path


def test_macro_scores_and_paired_differences(runs: Path) -> None:
    rows = table6.measure("toy", [0, 1])
    # "on": 0 of 3 with seed 0, 1 of 3 with seed 1; "in": 1 of 1. Macro: (0 + 1) / 2 and (1/3 + 1) / 2.
    assert rows["VG-Relation"]["scores"] == {
        "clip": [0, 0],
        "clip-ft": [0.5, 0.5],
        "negclip": [0.5, 0.6667],
    }
    mean, low, high = rows["VG-Relation"]["differences"]["negclip - clip-ft"]
    # Mean over seeds of (0, 1/3) / 2.
    assert_close(mean, 1 / 12, within=1e-4)
    assert low <= mean <= high
    assert rows["COCO-PRC"]["differences"]["negclip - clip"] == [0, 0, 0]
    line = next(table6.make_table_rows(rows))
    assert line[:4] == ["VG-Relation", "0.0 ± 0.0", "50.0 ± 0.0", "58.3 ± 11.8"]


def test_categories_with_few_rows_do_not_count(runs: Path) -> None:
    # "on" has ten rows, all wrong; "in" has one row, which is right.
    for path in table6.RUNS.rglob("vg_relation.parquet"):
        names = [*["on"] * 10, "in"]
        rows = {
            "rank": [*[2] * 10, 1],
            "image_id": [str(row) for row in range(11)],
            "categories": [[{"by": "relation", "name": name}] for name in names],
        }
        pd.DataFrame(rows).to_parquet(path)
    entry = table6.measure("toy", [0, 1])["VG-Relation"]
    assert entry["scores"]["clip"] == [0, 0]
    assert entry["differences"]["negclip - clip"] == [0, 0, 0]


def test_the_page_has_one_table_per_regime(runs: Path) -> None:
    (runs / "experiments").mkdir()
    (runs / "experiments/params.yaml").write_text(
        "negclip: {regimes: [toy], seeds: [0, 1]}\n", encoding="utf-8"
    )
    (runs / "sources/negclip").mkdir(parents=True)
    (runs / "sources/negclip/stats.json").write_text(
        json.dumps({"toy": {"pairs": 9, "meet a rival in a batch of 32": 0.25}}), encoding="utf-8"
    )
    table6.main()
    page = (runs / "experiments/negclip/README.md").read_text(encoding="utf-8")
    assert "## Regime `toy`" in page
    assert "25.0% meet a rival in a batch of 32" in page
    assert page.count("\n| ") == 11
    assert json.loads(
        (runs / "experiments/negclip/table6.json").read_text(encoding="utf-8")
    ).keys() == {"toy"}


def test_missing_results_are_named(runs: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"toy-s2/results: no results of clip\. Run `dvc repro experiments"
    ):
        table6.measure("toy", [2])
