import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import compeval
from compeval.cli import app
from generators.captioner.example_captions import CAPTIONS, captions_from_grammar
from generators.llm.client import Cache, Endpoint, Message, request_hash

TWO = ["A lab coat on a hook.", "A chemist buttoning a lab coat."]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["examples", *map(str, arguments)])


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    file = tmp_path / "classes.txt"
    file.write_text("lab coat\n\nhouseboat\nlab coat\n")
    return file


def test_captions_are_from_the_grammar_by_default(classes: Path):
    result = call(classes, "--count", 2)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines == [[name, text] for name in ("lab coat", "houseboat") for text in captions_from_grammar(name, 2)]
    assert "2 of 2 classes have random captions from the grammar" in result.stderr


def test_cached_answers_need_no_api_key(classes: Path, tmp_path: Path):
    key = request_hash(Endpoint("m"), [Message(role="user", content=CAPTIONS.make_text(0, "lab coat", 2))])
    Cache([], tmp_path / "answers" / "m.jsonl").add(key, {"answer": json.dumps(TWO)})
    result = call(classes, "--count", 2, "--model", "m", "--answers", tmp_path / "answers", "--json")
    output = json.loads(result.stdout)
    assert output["lab coat"] == {
        "captions": TWO,
        "captioner": "llm:m",
        "fault": None,
        "prompts": [f"a photo of a lab coat. An example of lab coat in an image is {text}" for text in TWO],
    }
    assert (output["houseboat"]["captioner"], output["houseboat"]["fault"]) == ("grammar", "not asked yet")
    captions = compeval.example_captions(["lab coat"], 2, Endpoint("m"), tmp_path / "answers")
    assert captions["lab coat"].captions == tuple(TWO)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("\n", [], "no class in the file"),
        (None, [], "no such file"),
        ("cat", ["--ask"], "--ask: set --model"),
        ("cat", ["--ask", "--model", "m"], "price_in and price_out"),
        ("cat", ["--ask", "--model", "m", "--price-in", "9", "--price-out", "9"], "above --max-cost 0.00"),
    ],
)
def test_user_errors_print_one_message(tmp_path: Path, content: str | None, options: list[str], message: str):
    file = tmp_path / "classes.txt"
    if content is not None:
        file.write_text(content)
    result = call(file, "--answers", tmp_path, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_error_for_an_empty_class_name():
    with pytest.raises(ValueError, match="A class name is empty"):
        compeval.example_captions([" "])
