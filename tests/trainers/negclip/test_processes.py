"""Fine-tuning in two processes (gloo, on the CPU): losses and weights are those of one process on the whole batch."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from compeval.trainers.negclip.finetune import Recipe
from compeval.trainers.negclip.processes import Processes, join
from compeval.trainers.negclip.training import TrainingData, train
from tests.close import assert_close
from tests.trainers import toy

ROOT = Path(__file__).parents[3]
RECIPE = Recipe(epochs=1, batch_size=4, learning_rates=(1e-4,), warmup=2)
"""AdamW divides a gradient by its size, also one that is a rounding error, as that of the keys' biases (in truth 0):
weights differ by up to a part of the learning rate, also between chunk sizes of one process."""
TRAIN = """
import sys
from pathlib import Path
from tests.trainers.negclip.test_processes import RECIPE
from compeval.trainers.negclip.training import TrainingData, train
method, spec, shards, output, chunk = sys.argv[1:]
train(method, spec, TrainingData(Path(shards)), Path(output), recipe=RECIPE, chunk_size=int(chunk), precision="fp32",
      report=lambda *_: None)
"""


def start_processes(*arguments: object, count: int = 2) -> list[subprocess.Popen]:
    """Start processes as torchrun does."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    shared = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": port,
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", TRAIN, *map(str, arguments)]
    return [
        subprocess.Popen(
            command,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def read_log(folder: Path) -> list[dict[str, float]]:
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["learning_rates"][
        "0.0001"
    ]


@pytest.mark.acceptance
@pytest.mark.parametrize(("method", "chunk"), [("negclip", 256), ("clip-ft", 1)])
def test_two_processes_train_like_one(
    method: str, chunk: int, spec: str, shards: Path, tmp_path: Path
):
    processes = start_processes(method, spec, shards, tmp_path / "two", chunk)
    options = {
        "recipe": RECIPE,
        "chunk_size": chunk,
        "precision": "fp32",
        "report": toy.ignore_progress,
    }
    train(method, spec, TrainingData(shards), tmp_path / "one", **options)  # pyright: ignore[reportArgumentType]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    one, two = read_log(tmp_path / "one"), read_log(tmp_path / "two")
    losses = [np.array([entry["loss"] for entry in log]) for log in (two, one)]
    assert_close(*losses, within=1e-5)
    expected = load_file(tmp_path / "one/open_clip_model.safetensors")
    actual = load_file(tmp_path / "two/open_clip_model.safetensors")
    start = load_file(Path(spec.removeprefix("local:")) / "open_clip_model.safetensors")
    moved = max(float((expected[name] - start[name]).abs().max()) for name in start)
    difference = max(float((expected[name] - actual[name]).abs().max()) for name in start)
    assert moved > 1e-4, "the weights have been trained"
    assert difference < 2e-5
    assert sorted(path.name for path in tmp_path.iterdir() if "unfinished" in path.name) == []


def test_shares_of_a_batch():
    # Eight items for three processes cannot be divided; six can: 0 1, 2 3 and 4 5.
    shares = [Processes("cpu", rank, 3).shard(np.arange(6)).tolist() for rank in range(3)]
    assert shares == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(
        ValueError,
        match=r"A batch of 8 is not divisible by 3 processes\. Use a --batch-size that is.",
    ):
        Processes("cpu", 0, 3).shard(np.arange(8))


def test_without_a_launcher_there_is_one_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join("cpu") == Processes("cpu")
