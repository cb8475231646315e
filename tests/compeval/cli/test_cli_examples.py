import json
from pathlib import Path

import pytest

import compeval
from compeval.generators.captioner.example_captions import CAPTIONS, captions_from_grammar
from compeval.generators.llm.client import Cache, Endpoint, Message, request_hash
from tests.compeval.cli.test_cli import call

TWO = ["A lab coat on a hook.", "A chemist buttoning a lab coat."]


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    file = tmp_path / "classes.txt"
    file.write_text("lab coat\n\nhouseboat\nlab coat\n", encoding="utf-8")
    return file


def test_captions_are_from_the_grammar_by_default(classes: Path):
    result = call("examples", classes, "--count", 2)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines == [
        [name, text]
        for name in ("lab coat", "houseboat")
        for text in captions_from_grammar(name, 2)
    ]
    assert "2 of 2 classes have random captions from the grammar" in result.stderr


def test_cached_answers_need_no_api_key(classes: Path, tmp_path: Path):
    key = request_hash(
        Endpoint("m"), [Message(role="user", content=CAPTIONS.make_text(0, "lab coat", 2))]
    )
    Cache([], tmp_path / "answers" / "m.jsonl").add(key, {"answer": json.dumps(TWO)})
    result = call(
        "examples",
        classes,
        "--count",
        2,
        "--model",
        "m",
        "--answers",
        tmp_path / "answers",
        "--json",
    )
    output = json.loads(result.stdout)
    assert output["lab coat"] == {
        "captions": TWO,
        "captioner": "llm:m",
        "fault": None,
        "prompts": [
            f"a photo of a lab coat. An example of lab coat in an image is {text}" for text in TWO
        ],
    }
    assert (output["houseboat"]["captioner"], output["houseboat"]["fault"]) == (
        "grammar",
        "not asked yet",
    )
    captions = compeval.example_captions(["lab coat"], 2, Endpoint("m"), tmp_path / "answers")
    assert captions["lab coat"].captions == tuple(TWO)


def test_error_for_an_empty_class_name():
    with pytest.raises(ValueError, match="A class name is empty"):
        compeval.example_captions([" "])
