import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compeval.generators.llm.client import (
    ANSWERED,
    KEY_VARIABLE,
    REFUSED,
    Cache,
    Client,
    Endpoint,
    estimate_tokens,
    request_hash,
)
from tests.close import assert_close
from tests.generators.llm_answers import KEY, asked, completion

pytestmark = pytest.mark.usefixtures("llm_key")
PATH = "/v1/chat/completions"


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1") as server:
        yield server


def make_client(server: HTTPServer, folder: Path, **fields: object) -> Client:
    endpoint = Endpoint(
        **{"model": "m", "base_url": server.url_for("/v1"), "retries": 2, "timeout": 5.0, **fields}
    )
    return Client(endpoint, Cache([folder], folder / "m.jsonl"))


def answer_json(server: HTTPServer, answer: Callable[[dict], dict | Response]) -> None:
    """Let the server answer a request, given as a dictionary, with a dictionary or a response."""

    def respond(request: Request) -> Response:
        result = answer(json.loads(request.data))
        is_response = isinstance(result, Response)
        return (
            result if is_response else Response(json.dumps(result), content_type="application/json")
        )

    server.expect_request(PATH).respond_with_handler(respond)


def test_an_answer_is_cached_at_once_and_not_requested_again(
    server: HTTPServer, tmp_path: Path
) -> None:
    server.expect_request(PATH, method="POST").respond_with_json(completion("a red cup"))
    prompts = [asked("cup"), asked("cup"), asked("table")]
    assert list(make_client(server, tmp_path).ask(prompts)) == [ANSWERED, ANSWERED]
    assert len(server.log) == 2
    second_client = make_client(server, tmp_path)
    assert list(second_client.ask(prompts)) == []
    assert (
        second_client.cache.get(request_hash(second_client.endpoint, asked("table"))) == "a red cup"
    )
    (first, _) = map(json.loads, (tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines())
    assert set(first) == {"request", "model", "messages", "temperature", "answer", "usage", "date"}
    assert first["usage"]["total_tokens"] == 5
    assert len(server.log) == 2


def test_rate_limits_and_server_errors_are_retried(
    server: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("openai._base_client.time.sleep", waits.append)
    server.expect_ordered_request(PATH).respond_with_data(
        "slow down", 429, headers={"Retry-After": "7"}
    )
    server.expect_ordered_request(PATH).respond_with_data("oops", 500)
    server.expect_ordered_request(PATH).respond_with_json(completion("a red cup"))
    assert list(make_client(server, tmp_path).ask([asked("cup")])) == [ANSWERED]
    assert len(server.log) == 3
    assert waits[0] == 7.0  # the server's Retry-After; the next delay is the client's
    assert waits[1] <= 0.02


def test_the_number_of_retries_is_limited(server: HTTPServer, tmp_path: Path) -> None:
    server.expect_request(PATH).respond_with_data("oops", 503)
    assert list(make_client(server, tmp_path, retries=2).ask([asked("cup")])) == ["HTTP status 503"]
    assert len(server.log) == 3


@pytest.mark.parametrize(
    ("declined", "reason"),
    [
        (
            {"finish_reason": "stop", "message": {"content": None, "refusal": "i cannot do that"}},
            "i cannot do that",
        ),
        ({"finish_reason": "content_filter", "message": {"content": "a red"}}, "content filter"),
    ],
)
def test_a_refusal_is_cached_and_not_requested_again(
    server: HTTPServer, tmp_path: Path, declined: dict, reason: str
) -> None:
    server.expect_request(PATH).respond_with_json({"choices": [declined]})
    assert list(make_client(server, tmp_path).ask([asked("cup")])) == [ANSWERED]
    second_client = make_client(server, tmp_path)
    assert list(second_client.ask([asked("cup")])) == []
    assert second_client.cache.get(request_hash(second_client.endpoint, asked("cup"))) == REFUSED
    assert json.loads((tmp_path / "m.jsonl").read_text(encoding="utf-8"))["refusal"] == reason
    assert len(server.log) == 1


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        *((body, 200, "answer is not JSON") for body in ("not json", "<html>")),
        *(
            (body, 200, "answer without text")
            for body in ("[]", '{"choices": []}', '{"choices": [{"message": "x"}]}')
        ),
        *(
            (json.dumps(completion(*text)), 200, "answer without text")
            for text in ([""], ["cut", "length"])
        ),
        *((f"wrong key {KEY}", status, f"HTTP status {status}") for status in (401, 500)),
    ],
)
def test_a_failure_is_named_and_leaves_no_answer(
    server: HTTPServer, tmp_path: Path, body: str, status: int, reason: str
) -> None:
    server.expect_request(PATH).respond_with_data(body, status, content_type="application/json")
    assert list(make_client(server, tmp_path, retries=0).ask([asked("cup")])) == [reason]
    assert list(tmp_path.iterdir()) == []


def test_a_lost_connection_is_retried(tmp_path: Path) -> None:
    body = json.dumps(completion("a red cup")).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for content in (body[: len(body) // 2], body):
                connection, _ = listener.accept()
                connection.recv(1 << 16)
                connection.sendall(head + content)
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = Endpoint(
            "m", f"http://127.0.0.1:{listener.getsockname()[1]}/v1", retries=3, timeout=5.0
        )
        client = Client(endpoint, Cache([], tmp_path / "m.jsonl"))
        assert list(client.ask([asked("cup")])) == [ANSWERED]
        thread.join()
    assert [
        json.loads(line)["answer"]
        for line in (tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines()
    ] == ["a red cup"]


def test_a_timeout_is_a_failure(server: HTTPServer, tmp_path: Path) -> None:
    done = threading.Event()

    def wait(request: Request) -> Response:
        done.wait(5)
        return Response()

    server.expect_request(PATH).respond_with_handler(wait)
    outcomes = list(make_client(server, tmp_path, retries=0, timeout=0.1).ask([asked("cup")]))
    done.set()
    assert outcomes == ["APITimeoutError"]


def test_one_failure_loses_no_other_answer_and_is_retried(
    server: HTTPServer, tmp_path: Path
) -> None:
    broken = {"cup 3"}

    def answer(request: dict) -> dict | Response:
        text = request["messages"][0]["content"]
        return Response("no", 400) if text in broken else completion(f"a {text}")

    answer_json(server, answer)
    prompts = [asked(f"cup {number}") for number in range(8)]
    first = Counter(make_client(server, tmp_path).ask(prompts))
    assert first == Counter({ANSWERED: 7, "HTTP status 400": 1})
    broken.clear()
    assert list(make_client(server, tmp_path).ask(prompts)) == [ANSWERED]
    assert len((tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines()) == 8


KILLED = """
import sys
from pathlib import Path
from compeval.generators.llm.client import Cache, Client, Endpoint
folder = Path(sys.argv[2])
client = Client(Endpoint("m", sys.argv[1], concurrency=1), Cache([folder], folder / "m.jsonl"))
for _ in client.ask([[{"role": "user", "content": f"cup {number}"}] for number in range(6)]):
    print("answered", flush=True)
"""


def test_answers_before_a_kill_are_not_requested_again(server: HTTPServer, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    hold = threading.Event()

    def answer(request: dict) -> dict | Response:
        text = request["messages"][0]["content"]
        if text == "cup 3" and not hold.is_set():
            hold.wait(20)
            return Response("gone", 500)
        seen[text] += 1
        return completion(f"a {text}")

    answer_json(server, answer)
    command = [sys.executable, "-c", KILLED, server.url_for("/v1"), str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == b"answered\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    hold.set()
    with (tmp_path / "m.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"request": "abc", "answ')  # a line that a killed process left incomplete
    endpoint = Endpoint("m", server.url_for("/v1"), concurrency=1)
    resumed = Client(endpoint, Cache([tmp_path], tmp_path / "m.jsonl"))
    assert list(resumed.ask([asked(f"cup {number}") for number in range(6)])) == [ANSWERED] * 3
    assert seen == Counter({f"cup {number}": 1 for number in range(6)})
    cache = Cache([tmp_path])
    assert all(request_hash(endpoint, asked(f"cup {number}")) in cache for number in range(6))


def test_the_key_is_in_no_file_log_or_error(
    server: HTTPServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.expect_ordered_request(PATH).respond_with_json(completion("a red cup"))
    server.expect_ordered_request(PATH).respond_with_data(f"bad key: {KEY}", 401)
    outcomes = list(
        make_client(server, tmp_path, concurrency=1).ask([asked("cup"), asked("table")])
    )
    assert server.log[0][0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(outcomes)
    assert KEY not in (tmp_path / "m.jsonl").read_text(encoding="utf-8")
    assert KEY not in caplog.text


def test_a_missing_key_raises_a_clear_error(
    server: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(ValueError, match=r"OPENAI_API_KEY is not set\. Export it"):
        list(make_client(server, tmp_path).ask([asked("cup")]))


def test_the_estimate_counts_only_missing_answers(server: HTTPServer, tmp_path: Path) -> None:
    priced = make_client(server, tmp_path, price_in=1_000.0, price_out=2_000.0)
    # "a red cup": three words are 4 tokens, 4 for the message: 8 in, 10 out. 8 * 0.001 + 10 * 0.002 = 0.028.
    assert estimate_tokens("a red cup") == 8
    estimate = priced.estimate([asked("a red cup"), asked("a red cup")], tokens_out=10)
    assert (estimate.requests, estimate.tokens_in, estimate.tokens_out) == (1, 8, 10)
    assert_close(estimate.cost, 0.028)
    assert str(estimate) == "1 requests, about 8 tokens in and 10 out, estimated cost 0.03"
    with pytest.raises(ValueError, match=r"no price_in and price_out .*0 for a free endpoint"):
        make_client(server, tmp_path).estimate([asked("a red cup")], tokens_out=10)


@pytest.mark.parametrize(
    ("line", "problem"),
    [('{"request": "a"}', "not a line of the cache"), ('{"a: "c"}', "not JSON")],
)
def test_a_broken_cache_line_is_an_error(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "m.jsonl").write_text(
        f'{{"request": "a", "answer": "b"}}\n{line}\n', encoding="utf-8"
    )
    with pytest.raises(
        ValueError, match=rf"m\.jsonl, line 2: {problem}\. Restore the file from Git"
    ):
        Cache([tmp_path])


def test_the_hash_depends_on_model_and_prompt() -> None:
    endpoint = Endpoint("m", "http://here")
    assert request_hash(endpoint, asked("cup")) == request_hash(
        Endpoint("m", "http://there"), asked("cup")
    )
    hashes = {
        request_hash(item, asked(text))
        for item in (endpoint, Endpoint("n"))
        for text in ("cup", "table")
    }
    assert len(hashes) == 4


UNSUPPORTED = {
    "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
    "instead.",
    "type": "invalid_request_error",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}


def test_a_model_that_refuses_max_tokens_gets_max_completion_tokens(
    server: HTTPServer, tmp_path: Path
) -> None:
    requests: list[dict] = []

    def answer(request: dict) -> dict | Response:
        requests.append(request)
        if "max_tokens" in request:
            return Response(
                json.dumps({"error": UNSUPPORTED}), 400, content_type="application/json"
            )
        return completion("a red cup")

    answer_json(server, answer)
    client = make_client(server, tmp_path, concurrency=1, max_tokens=77)
    assert list(client.ask([asked("cup"), asked("table")])) == [ANSWERED, ANSWERED]
    limits = [
        {name: value for name, value in request.items() if name.startswith("max")}
        for request in requests
    ]
    assert limits == [
        {"max_tokens": 77},
        {"max_completion_tokens": 77},
        {"max_completion_tokens": 77},
    ]
    # The cache has the answers under the same keys, whichever parameter the model accepts.
    assert all(
        request_hash(Endpoint("m", max_tokens=77), asked(text)) in client.cache
        for text in ("cup", "table")
    )


def test_the_outcome_names_a_parameter_that_the_model_refuses(
    server: HTTPServer, tmp_path: Path
) -> None:
    error = UNSUPPORTED | {
        "message": "Only the default (1) value is supported.",
        "param": "temperature",
    }
    server.expect_request(PATH).respond_with_json({"error": error}, status=400)
    assert list(make_client(server, tmp_path).ask([asked("cup")])) == [
        "HTTP status 400 (temperature)"
    ]


@pytest.mark.parametrize("fields", [{}, {"base_url": "http://x"}, {"model": "m", "max_token": 3}])
def test_an_endpoint_without_model_or_with_unknown_keys_is_refused(fields: dict) -> None:
    with pytest.raises(
        ValueError,
        match=r"^params\.yaml, compun\.captioner: got .*; expected model and, where needed",
    ):
        Endpoint.from_params(fields, "compun.captioner")
