"""Score through a local endpoint: with and without log-probabilities, failing in many ways, and killed."""

import itertools
import json
import math
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner
from werkzeug import Response

from compeval.cli import app
from tests.close import assert_close
from tests.evaluators import tiny
from tests.evaluators.chat_server import ChatModel, answer_with, serve

KEY = "sk-test-0123456789abcdef"
PAIRS = 8 * 3


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Eight rows of an image and three captions."""
    return tiny.write_dataset(tmp_path / "data", {"prod_hnatom": {"n4": tiny.choice_rows(8, 2)}})


@pytest.fixture
def model() -> ChatModel:
    return ChatModel()


@pytest.fixture(scope="module")
def one_server() -> Iterator[HTTPServer]:
    with serve(ChatModel()) as server:
        yield server


@pytest.fixture
def server(one_server: HTTPServer, model: ChatModel) -> HTTPServer:
    answer_with(one_server, model.answer)
    return one_server


def command(server: HTTPServer, rows: Path, *more: str, spec: str = "api:m") -> list[str]:
    output = str(rows.parent / "results")
    places = ["--data", str(rows), "--output", output, "--task", "crepe/prod_hnatom/n4"]
    return ["run", "--model", spec, "--base-url", server.url_for("/v1"), *places, "--json", *more]


def run(*arguments: Any, **options: Any) -> Any:
    return CliRunner().invoke(app, command(*arguments, **options))


def result_of(done: Any) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    return result


def test_log_probabilities_of_all_spellings_of_yes_are_summed(
    server: HTTPServer, model: ChatModel, rows: Path
):
    done = run(server, rows)
    result = result_of(done)
    scoring = result["model"]["scoring"]
    assert (scoring["method"], scoring["log_probabilities"]) == ("yes", True)
    assert scoring["question"] == 'Does this figure show "{}"? Please answer yes or no.'
    assert scoring["base_url"] == server.url_for("/v1")
    assert result["metrics"]["recall@1"] == 1
    (scores, *_) = pq.read_table(
        rows.parent / "results" / "microworld" / "m" / "crepe/prod_hnatom/n4.parquet"
    )["scores"].to_pylist()
    assert_close(scores, [math.log(math.exp(-0.3) + math.exp(-2.0)), -3.5, -3.5])
    assert "24 requests, about " in done.stderr
    assert "and at most 384 out" in done.stderr
    assert len(model.asked) == PAIRS + 1  # one question tells if there are log-probabilities
    assert set(model.asked.values()) == {1}
    assert {headers["Authorization"] for headers in model.headers} == {f"Bearer {KEY}"}


def test_nothing_is_asked_twice_even_if_results_and_features_are_gone(
    server: HTTPServer, model: ChatModel, rows: Path
):
    first = result_of(run(server, rows))
    for path in Path(os.environ["COMPEVAL_CACHE"]).glob("*.features.sqlite*"):
        path.unlink()
    (rows.parent / "results").rename(rows.parent / "old")
    again = run(server, rows)
    assert result_of(again) == first
    assert "0 requests" in again.stderr
    assert set(model.asked.values()) == {1}
    kept = b"".join(path.read_bytes() for path in rows.parent.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_without_log_probabilities_two_captions_are_compared_in_both_orders(
    server: HTTPServer, model: ChatModel, rows: Path
):
    model.log_probabilities = False
    result = result_of(run(server, rows))
    assert (result["model"]["name"], result["model"]["scoring"]["method"]) == ("m@choice", "choice")
    assert (result["metrics"]["recall@1"], result["metrics"]["circular_accuracy"]) == (1, 1)
    assert result["chance"]["circular_accuracy"] == 1 / 16  # both wrong captions in both orders
    assert len(model.asked) == 8 * 6 + 1  # three captions have six ordered pairs
    # Where neither is true, the model chooses the second caption: one of three pairs of each row. The first is
    # chosen in two of six questions.
    assert_close(result["position_bias"]["first"], 1 / 3)
    assert_close(result["position_bias"]["flipped"], 1 / 3)
    assert result["warnings"] == [
        "Position bias: the first of two captions is chosen in 33.3% of the questions, and for 33.3% of the pairs the "
        "choice depends on the order."
    ]
    refused = run(server, rows, "--setting", "scoring=yes")
    assert refused.exit_code == 2
    assert "the endpoint returns no log-probabilities. Use scoring=choice." in " ".join(
        refused.stderr.split()
    )


def test_a_choice_with_log_probabilities_compares_the_letters(server: HTTPServer, rows: Path):
    result = result_of(run(server, rows, "--setting", "scoring=choice"))
    table = pq.read_table(
        rows.parent / "results" / "microworld" / "m@choice" / "crepe/prod_hnatom/n4.parquet"
    )
    right, wrong = 1 / (1 + math.exp(-2.5 + 0.1)), 1 / (1 + math.exp(-0.2 + 1.9))
    truth = (right + 1 - wrong) / 2  # in either order, with both other captions
    other = ((1 - truth) + 0.5) / 2  # the bias of the question about two wrong captions cancels out
    assert_close(table["scores"].to_pylist()[0], [truth, other, other])
    assert result["metrics"]["recall@1"] == 1


def test_more_requests_than_allowed_are_refused_before_the_first(
    server: HTTPServer, model: ChatModel, rows: Path
):
    done = run(server, rows, "--max-requests", "23")
    assert done.exit_code == 2
    assert "24 requests, about" in " ".join(done.stderr.split())
    assert "above --max-requests 23. No request was sent." in " ".join(done.stderr.split())
    assert len(model.asked) == 1
    for path in Path(os.environ["COMPEVAL_CACHE"]).glob("answers.sqlite*"):
        path.unlink()  # the question about log-probabilities does not count
    assert result_of(run(server, rows, "--max-requests", "24"))["metrics"]["recall@1"] == 1


def test_rate_limits_are_waited_for(
    server: HTTPServer, model: ChatModel, rows: Path, monkeypatch: pytest.MonkeyPatch
):
    waited: list[float] = []
    monkeypatch.setattr("openai._base_client.SyncAPIClient._sleep_for_retry", _record(waited))
    numbers, limited = itertools.count(), Counter[str]()

    def limit(question: str) -> Response | None:
        if limited[question] < 2 and next(numbers) % 3 == 0:
            limited[question] += 1
            return Response("{}", 429, {"Retry-After": "7"}, mimetype="application/json")
        return None

    model.before = limit
    assert result_of(run(server, rows))["metrics"]["recall@1"] == 1
    assert set(model.asked.values()) == {1}
    assert waited
    assert set(waited) == {7.0}


def _record(waited: list[float]) -> Any:
    def sleep(
        self: Any, *, retries_taken: int, max_retries: int, options: Any, response: Any
    ) -> None:
        waited.append(
            self._calculate_retry_timeout(
                max_retries - retries_taken, options, response and response.headers
            )
        )

    return sleep


def test_declined_questions_are_counted_and_not_repeated(
    server: HTTPServer, model: ChatModel, rows: Path
):
    numbers = itertools.count(1)  # the server answers in several threads

    def decline(answer: dict[str, Any]) -> dict[str, Any]:
        if next(numbers) % 5 == 0:
            answer["choices"][0] |= {
                "message": {"role": "assistant", "content": None, "refusal": "I cannot."}
            }
        return answer

    model.change = decline
    result = result_of(run(server, rows))
    assert result["warnings"] == [
        "5 of 24 questions were declined or have no usable answer: they score as no, or half."
    ]
    (rows.parent / "results").rename(rows.parent / "old")
    for path in Path(os.environ["COMPEVAL_CACHE"]).glob("*.features.sqlite*"):
        path.unlink()
    assert result_of(run(server, rows)) == result
    assert set(model.asked.values()) == {1}


def test_a_password_in_the_address_is_sent_and_never_stored_or_printed(
    server: HTTPServer, model: ChatModel, rows: Path
):
    """The files of the run, results and caches, are searched for it; a failing run prints the address."""
    address = server.url_for("/v1").replace("://", "://user:secret%40word@")
    result = result_of(CliRunner().invoke(app, [*command(server, rows), "--base-url", address]))
    assert result["model"]["scoring"]["base_url"] == server.url_for("/v1")
    files = [path for path in rows.parent.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".json", ".parquet", ".sqlite"}
    for secret in (b"secret", b"user"):
        assert not [path for path in files if secret in path.read_bytes()]
    model.before = lambda question: Response("{}", 403, mimetype="application/json")
    for more in ((), ("--verbose",), ("--dry-run",)):
        failing = [
            *command(server, rows),
            "--base-url",
            address,
            "--setting",
            "question=Is this {}?",
            "--name",
            "other",
        ]
        done = CliRunner().invoke(app, [*failing, *more])
        assert "secret" not in done.output
        assert more == ("--dry-run",) or "HTTP status 403" in done.output


def test_a_wrong_key_is_one_message_without_the_key(
    server: HTTPServer, model: ChatModel, rows: Path
):
    error = {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}
    model.before = lambda question: Response(
        json.dumps({"error": error}), 401, mimetype="application/json"
    )
    done = run(server, rows)
    assert done.exit_code == 2
    message = " ".join(done.stderr.split())
    assert "HTTP status 401 (invalid_api_key). Check OPENAI_API_KEY." in message
    assert KEY not in done.output
    assert "Traceback" not in done.output


def test_a_hanging_server_times_out_and_the_run_resumes(
    server: HTTPServer, model: ChatModel, rows: Path
):
    repaired = threading.Event()

    def hang(question: str) -> Response | None:
        if "pink" in question and not repaired.is_set():
            repaired.wait()
            return Response("{}", 500)
        return None

    model.before = hang
    done = run(server, rows, "--setting", "timeout=0.3", "--setting", "retries=0")
    assert done.exit_code == 2
    message = " ".join(done.stderr.split())
    assert (
        "APITimeoutError, 0.3 s at most. Answers that arrived are kept: run again to resume."
        in message
    )
    answered = sum(model.asked.values())
    assert answered > 1
    repaired.set()
    # A busy machine may take longer than 0.3 s for an answer.
    resumed = run(server, rows, "--setting", "timeout=60", "--setting", "retries=0")
    assert result_of(resumed)["metrics"]["recall@1"] == 1
    assert set(model.asked.values()) == {1}


def test_an_answer_that_is_cut_off_at_a_random_byte_is_asked_for_again(
    server: HTTPServer, model: ChatModel, rows: Path
):
    cuts, respond = random.Random(0), model.answer
    cut_off: list[int] = []

    def cut(request: Any) -> Response:
        whole = respond(request)
        data = whole.get_data()
        image, text = json.loads(request.get_data())["messages"][0]["content"]
        if model.asked[image["image_url"]["url"], text["text"]] < 3 and cuts.random() < 0.4:
            cut_off.append(cuts.randrange(len(data)))
            return Response(data[: cut_off[-1]], mimetype="application/json")
        return whole

    answer_with(server, cut)
    assert result_of(run(server, rows))["metrics"]["recall@1"] == 1
    assert len(cut_off) > 5
    # Each cut costs one more request.
    assert sum(model.asked.values()) == len(model.asked) + len(cut_off)


@pytest.mark.acceptance
def test_killed_at_random_moments_nothing_is_asked_twice(
    server: HTTPServer, model: ChatModel, rows: Path
):
    """The server ends the client after some of its answers have been stored, as a kill would."""
    kills, clients = random.Random(1), []

    def kill(question: str) -> Response | None:
        time.sleep(0.02)
        if len(clients) < 4 and sum(model.asked.values()) >= next_kill[0]:
            process = running[0]
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
                clients.append(process)
                return Response("{}", 500)
        return None

    model.before = kill
    program = "import sys; from compeval.cli import app; app(sys.argv[1:])"
    arguments = command(server, rows, "--setting", "concurrency=1", "--setting", "retries=0")
    running: list[subprocess.Popen[bytes]] = []
    next_kill, output = [0], b""
    for _ in range(6):
        next_kill[0] = sum(model.asked.values()) + kills.randrange(2, 7)
        running[:] = [
            subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
        ]
        output, _ = running[0].communicate()
        if running[0].returncode == 0:
            break
    assert running[0].returncode == 0
    assert len(clients) == 4
    assert json.loads(output)[0]["metrics"]["recall@1"] == 1
    assert len(model.asked) == PAIRS + 1
    assert set(model.asked.values()) == {1}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "api:m?colour=red",
            "unknown setting 'colour'; known: scoring, question, answers, base_url, max_tokens",
        ),
        ("api:m?timeout=soon", "expected numbers for max_tokens, think, timeout"),
        ("vlm:m", "--setting is for vlm: and api: models, and --base-url for api: models"),
        ("ViT-B-32/openai", "--setting is for vlm: and api: models"),
    ],
)
def test_wrong_options_are_one_clear_message(
    server: HTTPServer, rows: Path, spec: str, message: str
):
    done = run(server, rows, spec=spec)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_openai_needs_a_key(rows: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    done = CliRunner().invoke(app, ["run", "--model", "api:m", "--data", str(rows)])
    assert done.exit_code == 2
    assert (
        "OPENAI_API_KEY is not set. Export it, or name another endpoint with --base-url."
        in " ".join(done.stderr.split())
    )


def spell(model: ChatModel, *pieces: str) -> None:
    """Let the model put pieces around its answer. None stands for the answer."""

    def change(answer: dict[str, Any]) -> dict[str, Any]:
        (choice,) = answer["choices"]
        (told,) = choice["logprobs"]["content"]
        other = {"logprob": -0.01, "bytes": None}
        listed = [{"token": "Sure", **other}, {"token": "The", **other}]
        tokens = [
            told if piece == "ANSWER" else {"token": piece, **other, "top_logprobs": listed}
            for piece in pieces
        ]
        choice["logprobs"]["content"] = tokens
        choice["message"]["content"] = "".join(token["token"] for token in tokens)
        return answer

    model.change = change


@pytest.mark.parametrize(
    "pieces",
    [
        ("<think>", "\n", "Is it red? No", ".", "</think>", "\n\n", "ANSWER"),
        ("**", "ANSWER", "**"),
        ('"', "ANSWER", '"'),
        ("Answer", ":", " ", "ANSWER"),
        ("The", " answer", " is", ":", " **", "ANSWER", "**."),
        ("The", " image", " shows", " no", " hat", ",", " so", " ", "ANSWER", "."),
        ("\n", "- ", "`", "ANSWER", "`"),
        ("ANSWER", ", there is no doubt."),
    ],
)
def test_an_answer_is_found_behind_what_stands_before_it(
    server: HTTPServer, model: ChatModel, rows: Path, pieces: tuple[str, ...]
):
    spell(model, *pieces)
    result = result_of(run(server, rows))
    assert (result["metrics"]["recall@1"], result["warnings"]) == (1, [])


def test_an_answer_that_is_neither_yes_nor_no_is_an_error(
    server: HTTPServer, model: ChatModel, rows: Path
):
    spell(model, "Perhaps", ".")
    done = run(server, rows)
    assert done.exit_code == 2
    assert "it answers neither Yes nor No: 'Perhaps.'" in " ".join(done.stderr.split())

    def think(answer: dict[str, Any]) -> dict[str, Any]:
        answer["choices"][0] |= {"finish_reason": "length"}
        return answer

    spell(model, "<think>", "Yes, I see")
    spelled = model.change
    model.change = lambda answer: think(spelled(answer))
    done = run(server, rows, spec="api:other")
    assert "used all tokens before its answer. Raise the setting max_tokens." in done.stderr


def test_other_weights_at_the_same_address_are_asked_on_request_and_answers_have_a_date(
    server: HTTPServer, model: ChatModel, rows: Path
):
    first = run(server, rows)
    before = result_of(first)
    assert before["metrics"]["recall@1"] == 1
    times = before["answers"]
    assert times["first"] <= times["last"]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", at) for at in times.values())
    swap = {"Yes": "No", "No": "Yes", "yes": "no", " yes": " no"}

    def lie(answer: dict[str, Any]) -> dict[str, Any]:
        (told,) = answer["choices"][0]["logprobs"]["content"]
        for one in (told, *told["top_logprobs"]):
            one["token"] = swap[one["token"]]
        return answer

    model.change = lie
    again = run(server, rows)
    assert result_of(again) == before
    said = " ".join(again.stderr.split())
    assert f"24 stored answers are used, of {times['first']} to {times['last']}." in said
    assert "If another model answers at this address now, ask again with --no-cache" in said
    anew = run(server, rows, "--no-cache")
    assert result_of(anew)["metrics"]["recall@1"] == 0
    assert "24 requests" in anew.stderr
    assert result_of(run(server, rows))["metrics"]["recall@1"] == 0  # the new answers are stored


def test_an_unusable_answer_of_an_earlier_version_is_asked_for_again(
    server: HTTPServer, model: ChatModel, rows: Path
):
    expected = result_of(run(server, rows))
    (path,) = Path(os.environ["COMPEVAL_CACHE"]).glob("answers.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        old = json.dumps({"text": "**Yes**", "top": [["**", -0.01]], "refusal": ""})
        database.execute("UPDATE answer SET answer = ?", [old])
    again = run(server, rows)
    assert result_of(again)["metrics"] == expected["metrics"]
    assert "24 requests" in again.stderr
