"""Tests of ``compeval train``."""

import json
from pathlib import Path

from tests.compeval.cli.test_cli import call
from tests.trainers import toy


def test_options_override_the_preset(tmp_path: Path):
    spec, shards = toy.write_model(tmp_path / "clip"), toy.write_shards(tmp_path / "toy")
    paths = ("--model", spec, "--data", shards, "--output", tmp_path / "out")
    small = (
        "--epochs",
        "1",
        "--batch-size",
        "4",
        "--learning-rate",
        "1e-3",
        "--learning-rate",
        "1e-4",
        "--json",
    )
    result = call("train", "negclip", *paths, *small)
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)
    assert metrics["learning_rates"].keys() == {"0.001", "0.0001"}
    recipe = json.loads((tmp_path / "out/training.json").read_text(encoding="utf-8"))["recipe"]
    assert (recipe["epochs"], recipe["batch_size"], recipe["warmup"]) == (1, 4, 50)
    assert recipe["learning_rates"] == [metrics["chosen"]]
