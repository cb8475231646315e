"""Scores that float32 cannot tell apart are ranked as they are."""

import json
from pathlib import Path

import pytest
import torch

from compeval.evaluators import models
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.models.huggingface import compute_match_log_odds
from compeval.evaluators.results.external import score_file
from compeval.evaluators.run import EvaluationOptions, run
from tests.rows import toy_dataset

TRUTH, WRONG = 1 - 1e-9, 1 - 2e-9
CODE = f"""
import torch

class Confident:
    fingerprint = "confident"

    def __init__(self, device): ...

    def score(self, images, texts):
        return [{TRUTH!r} if text == "red ball" else {WRONG!r} for text in texts]

class ConfidentTensors(Confident):
    fingerprint = "confident tensors"

    def score(self, images, texts):
        return torch.tensor(super().score(images, texts), dtype=torch.float64)
"""
TASK = Task("crepe", "toy_hnatom")


@pytest.mark.parametrize("name", ["Confident", "ConfidentTensors"])
def test_pair_scorers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_dataset(tmp_path)
    (tmp_path / "confident_models.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    model = models.load_model(f"python:confident_models:{name}")
    for _ in range(2):  # the second time, scores are read from the cache
        (result,) = run(
            model, [TASK], EvaluationOptions(data_dir=tmp_path, output=tmp_path / "results")
        )
        assert (result["metrics"]["recall@1"], result["metrics"]["tie_rate"]) == (1.0, 0.0)


def test_scores_of_a_file(tmp_path: Path) -> None:
    toy_dataset(tmp_path)
    path = tmp_path / "scores.jsonl"
    path.write_text(
        "".join(
            json.dumps({"row": row, "scores": [TRUTH, WRONG, WRONG]}) + "\n" for row in range(3)
        ),
        encoding="utf-8",
    )
    result = score_file(
        path, TASK.name, "confident", data_dir=tmp_path, output=tmp_path / "results"
    )
    assert (result["metrics"]["recall@1"], result["metrics"]["tie_rate"]) == (1.0, 0.0)


def test_confident_matching_heads() -> None:
    """The probabilities of both logits are 1 in float32 and in float64."""
    logits_B2 = torch.tensor([[0.0, 40.0], [0.0, 41.0]])
    assert logits_B2.double().softmax(dim=-1)[:, 1].unique().numel() == 1
    assert compute_match_log_odds(logits_B2).tolist() == [40.0, 41.0]
