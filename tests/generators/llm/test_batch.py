import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from generators.llm.batch import BatchClient
from generators.llm.client import Cache, Endpoint, Failure, request_hash
from tests.generators.llm_answers import KEY, asked, completion

pytestmark = pytest.mark.usefixtures("llm_key")
CUPS = [asked(f"cup {number}") for number in range(4)]


class Endpoints:
    """The files and batches of an endpoint: a batch ends when it is asked about for the second time."""

    def __init__(self, server: HTTPServer) -> None:
        self.server, self.files, self.batches, self.broken = server, dict[str, str](), dict[str, dict](), set[str]()
        self.polls, self.asked, self.cut = Counter[str](), Counter[str](), set[str]()
        server.expect_request("/v1/files", method="POST").respond_with_handler(self.upload)
        server.expect_request(re.compile("/v1/files/.*/content")).respond_with_handler(self.content)
        server.expect_request("/v1/batches", method="POST").respond_with_handler(self.create)
        server.expect_request("/v1/batches", method="GET").respond_with_handler(self.list)
        server.expect_request(re.compile("/v1/batches/.*")).respond_with_handler(self.retrieve)

    def upload(self, request: Request) -> Response:
        assert request.form["purpose"] == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = request.files["file"].read().decode()
        return answer({"id": name, "object": "file", "bytes": 1, "created_at": 0, "filename": "x", "purpose": "batch"})

    def create(self, request: Request) -> Response:
        data = request.get_json()
        assert (data["endpoint"], data["completion_window"]) == ("/v1/chat/completions", "24h")
        name = f"batch-{len(self.batches)}"
        batch = {"id": name, "object": "batch", "created_at": 0, "status": "in_progress", **data}
        self.batches[name] = batch
        for line in self.files[data["input_file_id"]].splitlines():
            self.asked[json.loads(line)["body"]["messages"][-1]["content"]] += 1
        if "create" in self.cut:
            return Response("the batch was made, but this says otherwise", 500)
        return answer(batch)

    def list(self, request: Request) -> Response:
        return answer({"object": "list", "data": list(self.batches.values()), "has_more": False})

    def retrieve(self, request: Request) -> Response:
        batch = self.batches[request.path.rsplit("/", 1)[-1]]
        self.polls[batch["id"]] += 1
        if "retrieve" in self.cut:
            return Response(f"who are you, {request.headers['Authorization']}?", 403)
        if self.polls[batch["id"]] > 1 and batch["status"] == "in_progress":
            batch["status"] = "completed"
            results = list(map(self.result, self.files[batch["input_file_id"]].splitlines()))
            for kind, ok in (("output", True), ("error", False)):
                lines = [json.dumps(result) for result in results if (result["response"]["status_code"] == 200) == ok]
                if lines:
                    batch[f"{kind}_file_id"] = f"{batch['id']}-{kind}"
                    self.files[f"{batch['id']}-{kind}"] = "\n".join([*lines, ""])
        return answer(batch)

    def result(self, line: str) -> dict:
        request = json.loads(line)
        text = request["body"]["messages"][-1]["content"]
        response = {"status_code": 500, "body": {}}
        if text not in self.broken:
            response = {"status_code": 200, "body": completion(f"a {text}")}
        return {"custom_id": request["custom_id"], "response": response, "error": None}

    def content(self, request: Request) -> Response:
        return Response(self.files[request.path.split("/")[-2]])


def answer(data: dict) -> Response:
    return Response(json.dumps(data), content_type="application/json")


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with HTTPServer(host="127.0.0.1") as server:
        yield Endpoints(server)


def client(endpoints: Endpoints, folder: Path) -> BatchClient:
    endpoint = Endpoint("m", endpoints.server.url_for("/v1"), retries=1, timeout=5.0, batch=True, poll=0.01)
    return BatchClient(endpoint, Cache([folder], folder / "m.jsonl"), folder / "m.batch.json")


def answers(folder: Path) -> list[str]:
    return [json.loads(line)["answer"] for line in (folder / "m.jsonl").read_text().splitlines()]


def test_all_is_asked_in_one_batch_and_filed_under_the_same_hashes(endpoints: Endpoints, tmp_path: Path) -> None:
    asking = client(endpoints, tmp_path)
    assert list(asking.ask(CUPS)) == [None] * 4
    assert answers(tmp_path) == ["a cup 0", "a cup 1", "a cup 2", "a cup 3"]
    assert asking.cache.get(request_hash(asking.endpoint, CUPS[2])) == "a cup 2"
    assert list(client(endpoints, tmp_path).ask(CUPS)) == []
    assert len(endpoints.batches) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["m.jsonl"]


def test_what_failed_is_named_and_asked_again(endpoints: Endpoints, tmp_path: Path) -> None:
    endpoints.broken = {"cup 1"}
    assert list(client(endpoints, tmp_path).ask(CUPS)) == [None, Failure("HTTP status 500"), None, None]
    endpoints.broken = set()
    assert list(client(endpoints, tmp_path).ask(CUPS)) == [None]
    assert endpoints.asked == Counter({"cup 0": 1, "cup 1": 2, "cup 2": 1, "cup 3": 1})


def test_more_than_one_batch_holds(endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generators.llm.batch.MOST_REQUESTS", 3)
    assert list(client(endpoints, tmp_path).ask(CUPS)) == [None] * 4
    assert [len(endpoints.files[batch["input_file_id"]].splitlines()) for batch in endpoints.batches.values()] == [3, 1]


def test_a_batch_that_expired_keeps_what_it_answered(endpoints: Endpoints, tmp_path: Path) -> None:
    asking = client(endpoints, tmp_path)

    def expire(request: Request) -> Response:
        batch = next(iter(endpoints.batches.values()))
        lines = endpoints.files[batch["input_file_id"]].splitlines()
        half = [json.dumps(endpoints.result(line)) for line in lines[:2]]
        endpoints.files["half"] = "\n".join([*half, '{"custom_id": "cut'])
        return answer({**batch, "status": "expired", "output_file_id": "half"})

    endpoints.server.expect_oneshot_request(re.compile("/v1/batches/.*")).respond_with_handler(expire)
    assert list(asking.ask(CUPS)) == [None, None, *[Failure("batch expired, no answer")] * 2]
    assert answers(tmp_path) == ["a cup 0", "a cup 1"]


def test_a_start_whose_answer_was_lost_is_found_again(endpoints: Endpoints, tmp_path: Path) -> None:
    endpoints.cut = {"create"}
    with pytest.raises(
        ValueError, match=r"m\.batch\.json: the batch is not finished \(HTTP status 500\)\. Run the com"
    ):
        list(client(endpoints, tmp_path).ask(CUPS))
    endpoints.cut = set()
    assert list(client(endpoints, tmp_path).ask([*CUPS, asked("table")])) == [None] * 5
    assert set(endpoints.asked.values()) == {1}


KILLED = """
import sys
from pathlib import Path
from generators.llm.client import Cache, Endpoint
from generators.llm.batch import BatchClient
folder = Path(sys.argv[2])
endpoint = Endpoint("m", sys.argv[1], batch=True, poll=60.0)
asking = BatchClient(endpoint, Cache([folder], folder / "m.jsonl"), folder / "m.batch.json")
list(asking.ask([[{"role": "user", "content": f"cup {number}"}] for number in range(4)]))
"""


def test_a_batch_goes_on_after_a_kill(endpoints: Endpoints, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, endpoints.server.url_for("/v1"), str(tmp_path)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.getcwd()})  # noqa: PTH109
    while not endpoints.polls:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert json.loads((tmp_path / "m.batch.json").read_text())["id"] == "batch-0"
    assert list(client(endpoints, tmp_path).ask(CUPS)) == [None] * 4
    assert answers(tmp_path) == ["a cup 0", "a cup 1", "a cup 2", "a cup 3"]
    assert endpoints.asked == Counter({f"cup {number}": 1 for number in range(4)})


def test_the_key_is_in_no_file_log_or_error(
    endpoints: Endpoints, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoints.cut = {"retrieve"}
    with pytest.raises(ValueError, match="HTTP status 403") as raised:
        list(client(endpoints, tmp_path).ask(CUPS))
    assert KEY not in (tmp_path / "m.batch.json").read_text()
    assert KEY not in caplog.text
    assert KEY not in "".join(map(str, (raised.value, raised.value.__cause__)))
    assert raised.value.__suppress_context__
