import json
import re
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compeval.generators.captioner.example_captions import (
    CAPTIONS,
    captions_from_grammar,
    choose_examples,
    find_faults,
    make_prompts,
    select_valid,
)
from compeval.generators.llm.client import KEY_VARIABLE, Cache, Client, Endpoint
from compeval.generators.llm.questions import ask

GOOD = [f"A raincoat hanging on hook number {number}." for number in ("one", "two", "three")]
ANSWERS = {
    "good": json.dumps(GOOD),
    "fenced": f"```json\n{json.dumps(GOOD)}\n```",
    "numbered": "\n".join(f"{number}. {caption}" for number, caption in enumerate(GOOD, 1)),
    "prose": "A raincoat is a coat that keeps the rain out, and people wear it all over the world in many seasons.",
    "too long": json.dumps(
        [f"{caption} It is raining and nobody at all is there." for caption in GOOD]
    ),
    "missing noun": json.dumps([caption.replace("raincoat", "jacket") for caption in GOOD]),
    "refusal": "I'm sorry, but I cannot help with that.",
}


@pytest.fixture
def endpoint(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setenv(KEY_VARIABLE, "sk-none")
    return Endpoint("m", httpserver.url_for("/v1"), price_in=1.0, price_out=1.0)


def serve(httpserver: HTTPServer, first: str, second: str) -> list[int]:
    """Answer the first request of a conversation with ``first`` and the next with ``second``.

    Returns a list that collects the number of messages in each request.
    """
    lengths: list[int] = []

    def answer(request: Request) -> Response:
        messages = json.loads(request.data)["messages"]
        lengths.append(len(messages))
        text = first if len(messages) == 1 else second
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
        }
        return Response(json.dumps(body), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return lengths


@pytest.mark.parametrize("kind", ["good", "fenced", "numbered"])
def test_valid_answer_is_requested_once(
    httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path, kind: str
):
    lengths = serve(httpserver, ANSWERS[kind], "never")
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    assert ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0) == {"answered": 1}
    examples = choose_examples("raincoat", 3, endpoint, Cache([tmp_path]))
    assert examples == (tuple(GOOD), "llm:m", None)
    assert lengths == [1]


@pytest.mark.parametrize("kind", ["prose", "too long", "missing noun", "refusal"])
@pytest.mark.parametrize("second", ["good", "invalid"])
def test_invalid_answer_is_requested_a_second_time_and_never_again(
    httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path, kind: str, second: str
):
    lengths = serve(httpserver, ANSWERS[kind], ANSWERS["good" if second == "good" else kind])
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    for _ in range(2):
        ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    grammar = (captions_from_grammar("raincoat", 3), "grammar", "0 of 3 captions are good")
    expected = (tuple(GOOD), "llm:m", None) if second == "good" else grammar
    assert choose_examples("raincoat", 3, endpoint, client.cache) == expected
    assert lengths == [1, 3], "no third request"


def test_valid_captions_of_both_answers_are_joined(
    httpserver: HTTPServer, endpoint: Endpoint, tmp_path: Path
):
    serve(httpserver, json.dumps(GOOD[:2]), json.dumps(GOOD[1:]))
    client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
    ask([(CAPTIONS, 3)], ["raincoat"], client, 1.0)
    assert choose_examples("raincoat", 3, endpoint, client.cache).captions == tuple(GOOD)


def test_no_request_is_sent_above_the_cost_limit(endpoint: Endpoint, tmp_path: Path):
    with pytest.raises(ValueError, match=r"above --max-cost 0\.00\. No request was sent"):
        ask([(CAPTIONS, 3)], ["raincoat"], Client(endpoint, Cache([], tmp_path / "m.jsonl")), 0.0)


def test_pending_request_is_reported(endpoint: Endpoint):
    assert choose_examples("raincoat", 3, endpoint, Cache([])).fault == "not asked yet"


def test_faults_and_duplicates():
    assert find_faults("Two raincoats on a chair", "raincoat") == []
    assert find_faults("A bulldozer sleeping", "bulldog") == ["the class is not named"]
    ten = "a b c d e f g h i raincoat"
    assert find_faults(ten, "raincoat") == []
    assert find_faults(f"{ten} k", "raincoat") == ["more than 10 words"]
    assert select_valid(["A raincoat.", "a raincoat", "no coat", "A red raincoat"], "raincoat") == [
        "A raincoat.",
        "A red raincoat",
    ]


@pytest.mark.parametrize("name", ["raincoat", "grill surface thermometer", "M & M cookies"])
def test_captions_of_the_grammar_are_valid(name: str):
    captions = captions_from_grammar(name, 7)
    assert select_valid(captions, name) == list(captions)
    assert captions == captions_from_grammar(name, 7)
    assert all(re.match(r"an? ", caption) for caption in captions)


def test_request_contains_class_number_and_limit():
    assert all(
        text in CAPTIONS.make_text(0, "raincoat", 6)
        for text in ('"raincoat"', "6 captions", "at most 10 words")
    )
    assert make_prompts("raincoat", ["A raincoat."]) == [
        "a photo of a raincoat. An example of raincoat in an image is A raincoat."
    ]
