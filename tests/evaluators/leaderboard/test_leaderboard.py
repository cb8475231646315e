"""Tests of the leaderboard on written results. The page itself needs compeval[leaderboard]."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluators import leaderboard
from evaluators.leaderboard.scores import COUNTED, choose_tasks, make_benchmarks
from evaluators.metrics.intervals import compute_weighted_interval, wilson_interval
from evaluators.protocols import all_protocols
from evaluators.report.results import read_results

ROWS = 40


def write(root: Path, model: str, task: str, hits: int, **changes: object) -> None:
    """Write a result with ROWS rows of as many images, of which the first ``hits`` are hits."""
    path = root / model.replace("/", "--") / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset, config = task.split("/")[:2]
    metrics = {"recall@1": hits / ROWS}
    document = {
        **{"schema": 1, "task": task, "dataset": dataset, "config": config, "split": "test", "variant": None},
        **{"protocol": "choice", "source": "coco", "synthetic": False, "main": ["recall@1"], "warnings": []},
        "model": {
            "spec": model,
            "name": model,
            "effective": model,
            "corpus": None,
            "contaminated": None,
            "precision": "fp32",
        },
        "data": {"fingerprint": task, "rows": ROWS, "limit": None, "set_size": 2, "version": "v"},
        **{"code": {"version": "0", "fingerprint": "0"}, "std": {}, "categories": {}, "skipped": []},
        **{"metrics": metrics, "intervals": dict.fromkeys(metrics), "chance": {"recall@1": 0.5}},
    }
    path.write_text(json.dumps(document | changes))
    rank = np.where(np.arange(ROWS) < hits, 1, 2)
    columns = {"row": range(ROWS), "image_id": [str(row) for row in range(ROWS)], "rank": rank}
    texts = {"caption": "<b>a</b> cat", "hard_negatives": [["a dog"]] * ROWS, "scores": [[2.0 - r, 0.5] for r in rank]}
    pd.DataFrame(columns | texts).to_parquet(path.with_suffix(".parquet"))


def write_accuracy(root: Path, model: str, hits: int) -> None:
    metrics = {"metrics": {"top1": hits / ROWS}, "chance": {"top1": 0.1}, "main": ["top1"], "intervals": {"top1": None}}
    write(root, model, "classification/cifar10", hits, protocol="classification", **metrics)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    for model, first, second, accuracy in (("A/x", 36, 40, 30), ("B/x", 34, 38, 35), ("C/y", 10, 12, 20)):
        write(root, model, "sugarcrepe/swap_obj", first)
        write(root, model, "sugarcrepe/swap_att", second)
        write_accuracy(root, model, accuracy)
    write(root, "D/y", "sugarcrepe/swap_obj", 40)  # not the other task
    write(root, "A/x", "crepe_published/laion_sc_hnatom", 40)
    write(root / "few", "A/x", "other/test", 40, data={"fingerprint": "f", "rows": 5, "limit": 5, "set_size": 2})
    return root


def test_benchmarks_are_means_over_tasks_with_ranks(results: Path):
    sugarcrepe, classification = make_benchmarks(read_results([results]))
    assert (sugarcrepe.name, sugarcrepe.tasks, sugarcrepe.chance) == (
        "sugarcrepe", ["sugarcrepe/swap_att", "sugarcrepe/swap_obj"], 0.5,
    )  # fmt: skip
    shares = {model: score.share for model, score in sugarcrepe.scores.items()}
    assert shares == pytest.approx({"A/x": 76 / 80, "B/x": 72 / 80, "C/y": 22 / 80})  # D/y lacks a task
    # A and B differ on 2 images (in both tasks): no difference. C is worse than both.
    assert {model: score.rank for model, score in sugarcrepe.scores.items()} == {"A/x": 1, "B/x": 1, "C/y": 3}
    assert (classification.is_recognition, classification.scores["B/x"].rank) == (True, 1)


def test_the_score_of_other_protocols_is_that_of_one_metric(tmp_path: Path):
    """Metrics of the authors' rule and of the texts alone have columns of their own and do not count."""
    metrics = {"accuracy": 0.5, "text_accuracy": 0.9, "authors_accuracy": 0.7}
    document = {
        "protocol": "paraphrase",
        "metrics": metrics,
        "main": list(metrics),
        "intervals": dict.fromkeys(metrics),
    }
    chance = {"chance": dict.fromkeys(metrics, 1 / 3)}
    write(tmp_path, "A/x", "sugarcrepe_pp/swap_obj", 20, **document, **chance)
    path = tmp_path / "A--x" / "sugarcrepe_pp" / "swap_obj.parquet"
    rows = pd.read_parquet(path)
    columns = {"hit": rows["rank"] == 1, "text_hit": True, "authors_hit": False}
    rows.drop(columns="rank").assign(**columns).to_parquet(path)
    (benchmark,) = make_benchmarks(read_results([tmp_path]))
    assert (benchmark.scores["A/x"].share, benchmark.chance) == (0.5, pytest.approx(1 / 3))


def test_every_protocol_with_images_is_ranked():
    with_images = {protocol.name for protocol in all_protocols() if protocol.images}
    assert with_images == set(COUNTED)


def test_tasks_of_most_models_are_chosen():
    a, b = frozenset({"a"}), frozenset({"a", "b"})
    assert choose_tasks({"x": b, "y": b, "z": a}) == b  # 2 tasks of 2 models before 1 task of 3
    assert choose_tasks({"w": a, "x": b, "y": a, "z": a}) == a


def test_weighted_interval_of_equal_weights_is_about_wilsons():
    hit_N = np.arange(400) < 300
    bounds = compute_weighted_interval(hit_N, np.arange(400), np.ones(400))
    assert bounds == pytest.approx(wilson_interval(0.75, 400), abs=2e-4)
    assert compute_weighted_interval(np.ones(40), np.arange(40), np.ones(40)) == pytest.approx(wilson_interval(1.0, 40))


def test_pareto_front():
    assert leaderboard.find_pareto_front([(1, 3), (2, 2), (2, 1), (3, 1), (0, 0)]) == [0, 1, 3]


def test_page_is_self_contained(results: Path, tmp_path: Path):
    for name in ("altair", "itables", "vl_convert"):
        pytest.importorskip(name)
    (tmp_path / "about.csv").write_text("model,date,text_only\nC/y,2024,yes\n")
    page = leaderboard.build([results], tmp_path / "out", about=tmp_path / "about.csv").read_text()
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert 'src="http' not in page
    assert "<b>a</b> cat" not in body  # markup of captions is escaped
    assert "vegaEmbed(" in page
    assert 'data-text_only="yes"' in body
    rows = re.findall(r'<tr id="([^"]+)"', body)
    assert rows == ["model-A-x", "model-B-x", "model-C-y"]
    assert "2 of 3 models" in body  # the choices of a row
    table = pd.read_parquet(tmp_path / "out/leaderboard.parquet")
    assert table["mean"].tolist() == pytest.approx([0.95, 0.9, 0.275])
    assert pd.read_csv(tmp_path / "out/leaderboard.csv")["sugarcrepe rank"].tolist() == [1, 1, 3]
    assert "95.0 (1)" in (tmp_path / "out/leaderboard.tex").read_text()


def test_errors(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leaderboard, "_read_bundles", dict)
    (tmp_path / "about.csv").write_text("model,size\nC/y,1\n")
    with pytest.raises(ValueError, match=r"about\.csv: its columns are model, size; expected model and any of family"):
        leaderboard.build([results], tmp_path / "out", about=tmp_path / "about.csv")
    with pytest.raises(ValueError, match="no complete result of a benchmark"):
        leaderboard.build([results / "few"], tmp_path / "out")
    write(results, "toy", "crepe/prod_hnatom", 3, synthetic=True)
    with pytest.raises(ValueError, match=r"drawn scenes \(micro-world\), photographs, which must not be in one"):
        leaderboard.build([results], tmp_path / "out")
