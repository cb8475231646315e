"""Tests of findings, parts, limited runs and tables of all tasks."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from evaluators.report import build
from evaluators.report.below_chance import explain_below_chance
from evaluators.report.results import PRODUCTIVITY_KINDS as KINDS
from evaluators.report.results import Result, read_results, split_parts
from evaluators.report.sections import productivity, systematicity, tasks
from evaluators.report.text_only import describe_rules, find_rule, read_text_only
from tests.evaluators.report.test_report import write_result

ROWS = 60


def write_hits(root: Path, model: str, config: str, hits: int, split: str = "test", **changes: object) -> Path:
    """Write a result with ROWS rows of as many images, of which the first ``hits`` are hits."""
    share = hits / ROWS
    data = {"fingerprint": f"d {config} {split}", "rows": ROWS, "limit": None, "set_size": 6, "version": "v1"}
    values = {"chance": {"recall@1": 1 / 6}, "data": data, "metrics": {"recall@1": share, "tie_rate": 0.0}}
    values |= {"intervals": {"recall@1": [share - 0.1, share + 0.1]}}
    path = write_result(root, model, "laion", config, share, split, **values | changes)
    rows = {"row": range(ROWS), "image_id": [f"{split} {row}" for row in range(ROWS)]}
    pd.DataFrame(rows | {"rank": [1] * hits + [2] * (ROWS - hits)}).to_parquet(path.with_suffix(".parquet"))
    return path


def headline(module, root: Path) -> list[str]:
    return list(module.make_section(read_results([root])).headline)


def test_trend_over_complexities_is_one_regression(tmp_path: Path):
    for number, hits in ((4, 40), (8, 30), (12, 20)):
        write_hits(tmp_path, "a", "prod_hnatom", hits, f"n{number}")
    # A model with one complexity is not in the trend.
    write_hits(tmp_path, "b", "prod_hnatom", 0, "n4")
    (line,) = headline(productivity, tmp_path)
    # From 66.7 % to 33.3 % over 8 atoms: 4.2 points per atom.
    assert line.startswith("HN-Atom Recall@1 falls by 4.2 points per atom from 4 to 12 atoms (95 % interval ")
    assert line.endswith(", p < 0.001; 180 rows, 1 model; chance 16.7%).")


def test_a_trend_that_is_not_significant_is_not_claimed(tmp_path: Path):
    for number, hits in ((4, 30), (8, 25), (12, 28)):
        write_hits(tmp_path, "a", "prod_hnatom", hits, f"n{number}")
    (line,) = headline(productivity, tmp_path)
    assert line.startswith("HN-Atom Recall@1 has no significant trend from 4 to 12 atoms: -0.4 points per atom (95 %")
    assert re.search(r", p = 0\.\d+; 180 rows, 1 model; chance 16\.7%\)\.$", line)


@pytest.mark.parametrize(
    ("seen", "unseen", "start"),
    [
        (45, 20, "Seen compounds are easier by 41.7 points of HN-Atom Recall@1 (95 % interval "),
        (20, 45, "Unseen compounds are easier by 41.7 points of HN-Atom Recall@1 (95 % interval "),
        (
            31,
            30,
            "HN-Atom Recall@1 does not differ significantly between seen and unseen compounds: seen minus "
            "unseen is +1.7",
        ),
    ],
)
def test_seen_minus_unseen_has_an_interval(tmp_path: Path, seen: int, unseen: int, start: str):
    for split, hits in (("sc", seen), ("uc", unseen)):
        write_hits(tmp_path, "a", f"laion_{split}_hnatom", hits)
    (line,) = headline(systematicity, tmp_path)
    assert line.startswith(start)


def test_models_on_different_tasks_are_not_compared(tmp_path: Path):
    write_hits(tmp_path, "a", "laion_sc_hnatom", 50)
    write_hits(tmp_path, "b", "laion_uc_hnatom", 10)
    assert headline(systematicity, tmp_path) == []


def test_a_constant_encoder_is_below_chance_because_of_its_ties(tmp_path: Path):
    metrics = {"recall@1": 0.0, "tie_rate": 1.0}
    for number in (4, 8):
        intervals = {"recall@1": [0.0, 0.06]}
        write_hits(tmp_path / "r", "constant", "prod_hnatom", 0, f"n{number}", metrics=metrics, intervals=intervals)
    lines = build([tmp_path / "r"], tmp_path / "report").splitlines()
    assert lines == [
        "constant, 2 tasks with hard negatives: 2 below chance (95 % intervals). In 100% of the rows, the true caption "
        "ties with a wrong one, which counts as an error."
    ]
    page = (tmp_path / "report/report.md").read_text()
    assert "0.0↓ [0.0, 6.0]" in page
    assert "↓ The 95 % interval is below chance: the model prefers wrong captions systematically" in page
    assert r"0.0$\downarrow$ [0.0, 6.0]" in (tmp_path / "report/tables/productivity_hnatom.tex").read_text()


def test_limited_runs_are_in_a_table_of_their_own(tmp_path: Path):
    data = {"fingerprint": "few", "rows": 5, "limit": 5, "set_size": 6}
    write_hits(tmp_path / "r", "a", "prod_hnatom", 30, "n4")
    write_hits(tmp_path / "r" / "first", "a", "prod_hnatom", 60, "n8", data=data)
    build([tmp_path / "r"], tmp_path / "report")
    assert pd.read_csv(tmp_path / "report/tables/productivity_hnatom.csv").columns.tolist()[2:] == ["n = 4"]
    limited = pd.read_csv(tmp_path / "report/tables/limited_crepe.csv")
    assert limited[["Task", "Model", "Rows"]].to_numpy().tolist() == [["crepe/prod_hnatom/n8", "a (first 5 rows)", 5]]
    only = build([tmp_path / "r" / "first"], tmp_path / "only")
    assert only == "All results are on a limited number of rows (--limit), so there are no findings."


def test_results_on_drawn_scenes_photographs_and_published_sets_are_parts(tmp_path: Path):
    real = {"synthetic": False, "source": "visual_genome"}
    write_hits(tmp_path / "r", "toy", "prod_hnatom", 30, "n4")
    write_hits(tmp_path / "r/vg", "clip", "prod_hnatom", 30, "n4", **real)
    published = {"dataset": "crepe_published", "task": "crepe_published/prod_hnatom/n4"}
    write_hits(tmp_path / "r/published", "clip", "prod_hnatom", 20, "n4", **real | published)
    write_hits(tmp_path / "r/own", "clip", "captions", 20, **real | {"dataset": "mine", "task": "mine/captions"})
    parts = split_parts(read_results([tmp_path / "r"]))
    assert {name: [result.data["task"] for result in part] for name, part in parts.items()} == {
        "microworld": ["crepe/prod_hnatom/n4"],
        "photographs": ["mine/captions", "crepe/prod_hnatom/n4"],
        "published": ["crepe_published/prod_hnatom/n4"],
    }
    lines = build([tmp_path / "r"], tmp_path / "report").splitlines()
    assert lines[0] == "Drawn scenes (micro-world): toy, 1 task with hard negatives: 1 above chance (95 % intervals)."
    tables = {path.name for path in (tmp_path / "report/tables").glob("*.csv")}
    assert {"microworld_productivity_hnatom.csv", "published_productivity_hnatom.csv"} <= tables
    assert "photographs_tasks_mine.csv" in tables
    (cell,) = pd.read_csv(tmp_path / "report/tables/microworld_productivity_hnatom.csv")["Training data"][1:]
    assert cell == "laion (micro-world)"
    (cell,) = pd.read_csv(tmp_path / "report/tables/published_productivity_hnatom.csv")["Training data"][1:]
    assert cell == "LAION-400M"
    page = (tmp_path / "report/index.html").read_text()
    assert page.count('<h2 class="part"') == 3
    assert page.count("Synthetic data.") == 1
    ids = re.findall(r'<(?:h2|figure|input)[^>]* id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert list(json.loads((tmp_path / "report/metrics.json").read_text())) == list(parts)


def test_every_result_is_in_a_table(tmp_path: Path):
    write_hits(tmp_path, "a", "prod_hnatom", 30, "n4")
    write_hits(tmp_path, "a", "yfcc_sc_hnatom", 30)  # not the model's own corpus
    groups = {"scores": {"i2t_recall@1": 0.5, "t2i_recall@1": 0.25}}
    metrics = groups["scores"] | {"i2t_recall@1_macro_kind": 0.4}
    intervals = {name: [share - 0.1, share + 0.1] for name, share in metrics.items()} | {"t2i_recall@1": None}
    write_hits(
        tmp_path, "a", "pairs", 0, dataset="mine", task="mine/pairs", protocol="recall", metrics=metrics,
        main=list(groups["scores"]), intervals=intervals, chance=dict.fromkeys(metrics, 0.01),
    )  # fmt: skip
    results = read_results([tmp_path])
    shown = productivity.make_section(results)
    assert shown
    section = tasks.make_section(results, set(shown.shown))
    assert section
    assert [table.name for table in section.tables] == ["tasks_crepe", "tasks_mine"]
    assert section.tables[1].cells.to_numpy().tolist() == [
        ["mine/pairs", "a", "60", "i2t_recall@1", "50.0 [40.0, 60.0]", "1.0"],
        ["mine/pairs", "a", "60", "i2t_recall@1_macro_kind", "40.0 [30.0, 50.0]", "1.0"],
        ["mine/pairs", "a", "60", "t2i_recall@1", "25.0 [-]", "1.0"],
    ]
    assert tasks.make_section(results, {result.key for result in results}) is None


def test_best_text_only_rule_is_next_to_chance(tmp_path: Path):
    def scorer(recall: float) -> dict:
        return {"recall@1": recall, "interval": [recall - 0.1, recall + 0.1]}

    group = {"version": "v1", "refining": {"longest": scorer(0.1)}, "held_out": {"words_of_it": scorer(0.4)}}
    (tmp_path / "text_only.json").write_text(json.dumps({"prod_hnatom": group, "hnatom": group | {"version": "old"}}))
    write_hits(tmp_path / "r", "a", "prod_hnatom", 30, "n4")
    write_hits(tmp_path / "r", "a", "yfcc_sc_hnatom", 30)
    results = read_results([tmp_path / "r"])
    results.text_only = read_text_only([tmp_path / "text_only.json"])
    rules = {result.data["config"]: find_rule(results, result) for result in results}
    assert str(rules["prod_hnatom"]) == "40.0 [30.0, 50.0] words of it"
    assert rules["yfcc_sc_hnatom"] is None  # of another version of the dataset
    (section,) = [productivity.make_section(results)]
    assert section
    assert section.tables[0].caption.endswith("Best rule that reads only the text: 40.0 [30.0, 50.0] words of it.")
    results.text_only["crepe"]["yfcc_sc_hnatom"] = group | {"held_out": {"learned": scorer(0.5)}}
    assert describe_rules(results, results) == (
        "Best rule that reads only the text on any of the 2 sets: 50.0 [40.0, 60.0] random forest."
    )
    for name, content in (("text_only.json", "[1]"), ("validity.json", "{}"), ("text_only_aro.json", "{")):
        (tmp_path / name).write_text(content)
    for name in ("text_only.json", "text_only_aro.json"):
        with pytest.raises(ValueError, match=f"{name}: not a file of the stage text_only"):
            read_text_only([tmp_path / name])


def test_a_result_below_chance_is_explained_by_random_word_weights_and_the_balanced_sets(tmp_path: Path):
    """5 of 120 rows of the paper's swaps are hits, and 30 of 60 of the balanced ones."""
    write_hits(tmp_path, "a", "prod_hnswap", 1, "n4")
    write_hits(tmp_path, "a", "prod_hnswap", 4, "n5")
    write_hits(tmp_path, "a", "prod_hnswap_balanced", 30, "n4")
    write_hits(tmp_path, "a", "prod_hnatom", 30, "n4")
    results = read_results([tmp_path])
    results.text_only = {
        "crepe": {
            "prod_hnswap": {"version": "v1", "random_scorers": 0.13},
            "prod_hnswap_balanced": {"version": "another version", "random_scorers": 0.5},
        }
    }
    titles = {"hnatom": "HN-Atom", "hnswap": "HN-Swap", "hnswap_balanced": "HN-Swap, balanced"}

    def select(kind: str) -> list[Result]:
        return [result for result in results if result.data["config"] == f"prod_{kind}"]

    (line,) = explain_below_chance(results, titles, select)
    assert line == (
        "HN-Swap Recall@1 is below chance, 4.2% (95 % interval 1.8 to 9.4; 120 rows, 1 model; chance 16.7%). Random "
        "word weights, which know nothing of the image, reach 13.0%. On the balanced sets it is above chance, 50.0% "
        "(95 % interval 37.7 to 62.3; 60 rows, 1 model; chance 16.7%)."
    )


def test_nothing_is_explained_at_chance_or_without_the_same_effect_on_random_word_weights(tmp_path: Path):
    write_hits(tmp_path, "a", "prod_hnswap", 9, "n4")
    write_hits(tmp_path, "b", "prod_hnneg", 0, "n4")
    results = read_results([tmp_path])
    results.text_only = {"crepe": {"prod_hnswap": {"random_scorers": 0.13}, "prod_hnneg": {"random_scorers": 0.3}}}
    by_kind = {kind: [result for result in results if result.data["config"] == f"prod_{kind}"] for kind in KINDS}
    assert explain_below_chance(results, KINDS, by_kind.__getitem__) == []
