"""``compeval train``: from captioned images to a checkpoint that other commands take."""

import json
from pathlib import Path

from typer.testing import CliRunner

from compeval.cli.train import app
from tests.trainers import toy


def run(*args: str):
    return CliRunner().invoke(app, args)


def test_a_preset_is_changed_option_by_option(tmp_path: Path):
    spec, shards = toy.write_model(tmp_path / "clip"), toy.write_shards(tmp_path / "toy")
    asked = ("--model", spec, "--data", str(shards), "--output", str(tmp_path / "out"))
    small = ("--epochs", "1", "--batch-size", "4", "--learning-rate", "1e-3", "--learning-rate", "1e-4", "--json")
    done = run("negclip", *asked, *small)
    assert done.exit_code == 0, done.output
    metrics = json.loads(done.stdout)
    assert metrics["learning_rates"].keys() == {"0.001", "0.0001"}
    recipe = json.loads((tmp_path / "out/training.json").read_text())["recipe"]
    assert (recipe["epochs"], recipe["batch_size"], recipe["warmup"]) == (1, 4, 50)
    assert recipe["learning_rates"] == [metrics["chosen"]]


def test_both_methods_and_the_export_are_commands():
    listed = run("--help").stdout
    assert all(name in listed for name in ("negclip", "clip-ft", "export"))
