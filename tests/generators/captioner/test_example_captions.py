import json
import re
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from generators.captioner.example_captions import CAPTIONS, examples, faults, from_grammar, prompts, select
from generators.llm.client import KEY_VARIABLE, Cache, Client, Endpoint
from generators.llm.questions import ask

GOOD = [f"A raincoat hanging on hook number {number}." for number in ("one", "two", "three")]
ANSWERS = {
    "good": json.dumps(GOOD),
    "fenced": f"```json\n{json.dumps(GOOD)}\n```",
    "numbered": "\n".join(f"{number}. {caption}" for number, caption in enumerate(GOOD, 1)),
    "prose": "A raincoat is a coat that keeps the rain out, and people wear it all over the world in many seasons.",
    "too long": json.dumps([f"{caption} It is raining and nobody at all is there." for caption in GOOD]),
    "missing noun": json.dumps([caption.replace("raincoat", "jacket") for caption in GOOD]),
    "refusal": "I'm sorry, but I cannot help with that.",
}


@pytest.fixture
def endpoint(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setenv(KEY_VARIABLE, "sk-none")
    return Endpoint("m", httpserver.url_for("/v1"), price_in=1.0, price_out=1.0)


def serve(httpserver: HTTPServer, first: str, second: str) -> list[int]:
    """Answers the first request of a conversation with ``first``, the next with ``second``; lists their lengths."""
    lengths: list[int] = []

    def answer(asked: Request) -> Response:
        messages = json.loads(asked.data)["messages"]
        lengths.append(len(messages))
        text = first if len(messages) == 1 else second
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        return Response(json.dumps(body), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return lengths


@pytest.mark.parametrize("kind", ["good", "fenced", "numbered"])
def test_a_good_answer_is_requested_once(httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path, kind: str):
    lengths = serve(httpserver, ANSWERS[kind], "never")
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    assert ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0) == {"answered": 1}
    found = examples("raincoat", 3, endpoint, Cache([tmp_path]))
    assert found == (tuple(GOOD), "llm:m", None)
    assert lengths == [1]


@pytest.mark.parametrize("kind", ["prose", "too long", "missing noun", "refusal"])
def test_a_bad_answer_is_requested_once_more(httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path, kind: str):
    lengths = serve(httpserver, ANSWERS[kind], ANSWERS["good"])
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    assert examples("raincoat", 3, endpoint, client.cache).captions == tuple(GOOD)
    assert lengths == [1, 3]


@pytest.mark.parametrize("kind", ["prose", "too long", "missing noun", "refusal"])
def test_after_two_bad_answers_the_grammar_is_used_and_named(
    httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path, kind: str
):
    lengths = serve(httpserver, ANSWERS[kind], ANSWERS[kind])
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    found = examples("raincoat", 3, endpoint, client.cache)
    assert found == (from_grammar("raincoat", 3), "grammar", "0 of 3 captions are good")
    assert lengths == [1, 3], "nobody asks a third time"


def test_good_captions_of_both_answers_count(httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path):
    serve(httpserver, json.dumps(GOOD[:2]), json.dumps(GOOD[1:]))
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    assert examples("raincoat", 3, endpoint, client.cache).captions == tuple(GOOD)


def test_no_request_is_sent_above_the_cost_limit(endpoint: Endpoint, tmp_path: Path):
    with pytest.raises(ValueError, match=r"above --max-cost 0\.00\. Nothing was asked"):
        ask([(CAPTIONS, 3)], ["raincoat"], Client(endpoint, Cache([], tmp_path / "m.jsonl")), 0.0)


def test_a_pending_request_is_reported(endpoint: Endpoint):
    assert examples("raincoat", 3, endpoint, Cache([])).fault == "not asked yet"


def test_faults_and_distinctness():
    assert faults("Two raincoats on a chair", "raincoat") == []
    assert faults("A bulldozer sleeping", "bulldog") == ["the class is not named"]
    ten = "a b c d e f g h i raincoat"
    assert faults(ten, "raincoat") == []
    assert faults(f"{ten} k", "raincoat") == ["more than 10 words"]
    assert select(["A raincoat.", "a raincoat", "no coat", "A red raincoat"], "raincoat") == [
        "A raincoat.",
        "A red raincoat",
    ]


@pytest.mark.parametrize("name", ["raincoat", "grill surface thermometer", "M & M cookies"])
def test_the_grammars_captions_pass_the_check(name: str):
    captions = from_grammar(name, 7)
    assert select(captions, name) == list(captions)
    assert captions == from_grammar(name, 7)
    assert all(re.match(r"an? ", caption) for caption in captions)


def test_the_prompt_names_the_class_the_number_and_the_limit():
    assert all(text in CAPTIONS.text(0, "raincoat", 6) for text in ('"raincoat"', "6 captions", "at most 10 words"))
    assert prompts("raincoat", ["A raincoat."]) == [
        "a photo of a raincoat. An example of raincoat in an image is A raincoat."
    ]
