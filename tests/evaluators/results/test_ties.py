"""The share of ties in tables, and the warning if rounding made them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.engine.score import count_close_rows
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.results.ties import explain_ties, find_rounding, get_tie_rate
from tests.rows import toy_dataset

EXACT = np.random.default_rng(0).random(50)


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (EXACT, None),
        (EXACT.astype(np.float16), "float16"),
        (torch.from_numpy(EXACT).bfloat16().double().numpy(), "bfloat16"),
        (EXACT.astype(np.float32), "float32"),
        (EXACT.round(4), "at most 4 decimals"),
        (np.append(EXACT.round(2), np.nan), "at most 4 decimals"),
        (np.append(EXACT * 1e6, 0.5), None),
        (np.arange(5.0), None),  # grades
    ],
)
def test_scores_that_were_rounded(scores: np.ndarray, name: str | None):
    assert find_rounding(scores.astype(np.float64)) == name
    assert find_rounding(EXACT.astype(np.float32)) is None  # cosines, which are stored so


def test_cosines_that_float32_cannot_tell_apart():
    # Around 0.5, float32 has steps of 6e-8. Sums in another order differ by 1e-16.
    rows = [
        [0.5, 0.5 + 1e-9, 0.1],
        [0.5, 0.5 + 1e-16, 0.1],
        [0.5, 0.6, np.nan],
        [0.5, 0.5, 0.5 + 1e-6],
    ]
    assert count_close_rows(np.array(rows)[:, None]) == 1


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("recall@1", 0.1),
        ("i2t_recall@1", 0.2),
        ("text_score", 0.3),
        ("recall@1_macro_relation", 0.1),
        ("pairwise", 0),
    ],
)
def test_the_share_of_ties_of_a_metric(metric: str, expected: float):
    assert (
        get_tie_rate(
            {"tie_rate": 0.1, "i2t_tie_rate": 0.2, "text_tie_rate": 0.3, "pairwise": 1.0}, metric
        )
        == expected
    )


@pytest.mark.parametrize(
    ("share", "precision", "scores", "num_close", "expected"),
    [
        (0.01, "bf16", EXACT, 0, None),
        (
            0.02,
            "bf16",
            EXACT,
            0,
            "crepe/prod_hnatom/n4: 2.0% of the queries are ties, which count as errors. The model ran in",
        ),
        (
            0.02,
            "unknown",
            EXACT.round(2),
            0,
            "All scores are numbers of at most 4 decimals: rounding, or texts",
        ),
        (
            0.02,
            "fp32",
            EXACT.astype(np.float32),
            3,
            "In 3 of 50 rows, float32 cannot tell scores apart.",
        ),
        (0.5, "fp32", np.ones(50), 0, None),  # a constant model
    ],
)
def test_ties_by_rounding_are_a_warning(
    share: float, precision: str, scores: np.ndarray, num_close: int, expected: str | None
):
    task: Any = SimpleNamespace(dataset=SimpleNamespace(task=Task("crepe", "prod_hnatom", "n4")))
    fields = {
        "score_NIT": scores,
        "index_N": np.arange(50),
        "num_close": num_close,
        "position_bias": None,
    }
    scored: Any = SimpleNamespace(task=task, **fields)
    warning = explain_ties(scored, {"tie_rate": share}, ["recall@1"], precision)
    assert warning == expected if expected is None else expected in (warning or "")


def test_tables_show_ties_above_one_percent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    toy_dataset(tmp_path, rows=10)
    for name, tied in (("rounded", 4), ("exact", 0)):
        scores = [[0.91, 0.91 if row < tied else row / 100, 0.1] for row in range(10)]
        lines = [
            json.dumps({"row": row, "scores": values}) + "\n" for row, values in enumerate(scores)
        ]
        (tmp_path / "scores.jsonl").write_text("".join(lines), encoding="utf-8")
        options = ["--task", "crepe/toy_hnatom", "--name", name, "--data", str(tmp_path)]
        done = CliRunner().invoke(app, ["score", "scores.jsonl", *options])
        assert done.exit_code == 0, done.output
        assert ("ties %" in done.stdout, "40.0" in done.stdout) == (bool(tied), bool(tied))
        assert ("40.0% of the queries are ties" in done.stderr) == bool(tied)
    shown = CliRunner().invoke(app, ["show", "results", "--format", "md"])
    assert shown.stdout.splitlines()[0].endswith("| chance | text-only % | ties % |")
    ties = [
        line.split("|")[-2].strip()
        for line in shown.stdout.splitlines()[2:]
        if "toy_hnatom" in line
    ]
    assert ties == ["", "40.0"]
    assert "at most 4 decimals" in shown.stderr
