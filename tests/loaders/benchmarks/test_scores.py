"""Rows in a published format, from their file to the scores of models that know, guess or answer at random."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner

from compeval.cli import app
from tests.evaluators.chat_server import ChatModel, serve
from tests.evaluators.tiny import COLORS
from tests.published_files import make_rotations

RANDOM = """
import numpy as np
import toy_models


class Random(toy_models.Knows):
    fingerprint = "random"

    def encode_text(self, texts):
        return np.random.default_rng(len(texts)).normal(size=(len(texts), 3))
"""


def run(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["run", "--data", "data", "--json", *arguments])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    return result


def import_file(name: str) -> None:
    imported = CliRunner().invoke(app, ["import", name, "--images", "images", "--output", "data"])
    assert imported.exit_code == 0, imported.output


@pytest.fixture
def questions(here: Path) -> Path:
    """300 questions in the format of CRPE, about images of which every second is in the authors' own folder."""
    names = [*COLORS]
    lines: list[dict[str, Any]] = []
    for number in range(300):
        answer, *wrong = (names[(number + shift) % len(names)] for shift in range(4))
        image = f"{'coco/val2017' if number % 2 else 'abnormal_images'}/{number}.png"
        (here / "images" / image).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), COLORS[answer]).save(here / "images" / image)
        options = [f"{option} in {number}" for option in (answer, *wrong)]
        lines += make_rotations(
            options[0], "|".join(options[1:]), image, question="Colour?", category="predicate"
        )
    (here / "crpe_relation.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    (here / "guesses.py").write_text(RANDOM, encoding="utf-8")
    import_file("crpe_relation.jsonl")
    return here


def test_questions_of_blink_from_their_files_to_their_scores(here: Path):
    """All files have the same name, and their images do not replace each other. Two images of a question are joined."""
    questions = {
        "Spatial_Relation": ["red", "blue"],
        "Counting": ["pink", "red", "blue", "green"],
        "Jigsaw": ["green", "pink"],
    }
    for task, options in questions.items():
        rows: list[dict[str, Any]] = []
        for number, answer in enumerate(options):
            file = io.BytesIO()
            Image.new("RGB", (8, 8), COLORS[answer]).save(file, "PNG")
            row = {
                "idx": f"val_{task}_{number}",
                "question": "Colour?",
                "choices": [f"{one} {number}" for one in options],
            }
            row |= {"answer": f"({'ABCD'[number]})"} | dict.fromkeys(
                [f"image_{place}" for place in range(1, 5)]
            )
            for place in range(1, 3 if task == "Jigsaw" else 2):
                row[f"image_{place}"] = {"bytes": file.getvalue(), "path": None}
            rows.append(row)
        (here / task).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), here / task / "val-00000-of-00001.parquet")
    files = [f"{task}/val-00000-of-00001.parquet" for task in questions]
    imported = CliRunner().invoke(app, ["import", *files, "--output", "data"])
    assert imported.exit_code == 0, imported.output
    for config, chance in (("spatial_relation", 1 / 2), ("counting", 1 / 4), ("jigsaw", 1 / 2)):
        for model, accuracy in (("Knows", 1), ("Constant", 0)):
            result = run("--model", f"python:toy_models:{model}", "--task", f"blink/{config}")
            assert (result["metrics"]["recall@1"], result["chance"]["recall@1"]) == (
                accuracy,
                chance,
            )


def test_rotations_of_a_question_are_one_choice(questions: Path):
    accuracies = {}
    for model in ("toy_models:Knows", "toy_models:Constant", "guesses:Random"):
        result = run("--model", f"python:{model}", "--task", "crpe/*")
        assert (result["task"], result["protocol"]) == ("crpe/predicate", "choice")
        assert (result["data"]["rows"], result["data"]["set_size"]) == (300, 4)
        assert result["chance"]["recall@1"] == 1 / 4
        accuracies[model] = result["metrics"]["recall@1"]
    assert (accuracies["toy_models:Knows"], accuracies["toy_models:Constant"]) == (1, 0)
    low, high = result["intervals"]["recall@1"]
    assert low < 1 / 4 < high


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serve(ChatModel(log_probabilities=False)) as server:
        yield server


def test_a_model_that_chooses_has_a_circular_accuracy(questions: Path, server: HTTPServer):
    options = ["--base-url", server.url_for("/v1"), "--limit", "3", "--task", "crpe/*"]
    result = run("--model", "api:m", *options)
    assert (result["metrics"]["recall@1"], result["metrics"]["circular_accuracy"]) == (1, 1)
    assert result["chance"]["circular_accuracy"] == 1 / 64  # three wrong options in both orders
