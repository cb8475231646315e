"""A server on the loopback that imitates the Hub's endpoints, and the fixture that sends everybody there."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SHA = "0" * 40


class Repositories:
    """A stand-in for the Hub. ``files`` are the committed files: repository -> path -> bytes."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.address = ""
        self.pull_requests: dict[str, dict[str, bytes]] = {}
        self.query = ""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = path.strip("/").split("/")
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            self.files.setdefault(name, {})
            self.private[name] = asked.get("visibility") == "private" or bool(asked.get("private"))
            return 200, {}, json.dumps({"url": f"{self.address}/datasets/{name}"}).encode()
        if path.startswith("/api/validate-yaml"):
            return 200, {}, b'{"errors": [], "warnings": []}'
        if path == "/api/whoami-v2":
            return (
                200,
                {},
                json.dumps({"type": "user", "name": "me", "orgs": [{"name": "our-lab"}]}).encode(),
            )
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[1:3])
        if name not in self.files:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        files = self.files[name]
        if parts[0] == "api" and parts[4:5] == ["preupload"]:
            modes = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            return 200, {}, json.dumps({"files": modes}).encode()
        if parts[0] == "api" and parts[4:5] == ["commit"]:
            is_pull_request = "create_pr=1" in self.query
            files = self.pull_requests.setdefault(name, {}) if is_pull_request else files
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    files.pop(line["value"]["path"])
            url = f"{self.address}/datasets/{name}/commit/{SHA}"
            answer = {"commitUrl": url, "commitOid": SHA, "success": True}
            if is_pull_request:
                answer["pullRequestUrl"] = f"{self.address}/{name}/discussions/1"
            return 200, {}, json.dumps(answer).encode()
        if parts[0] == "api" and parts[4:5] == ["tree"]:
            entries = [
                {
                    "type": "file",
                    "path": path,
                    "size": len(data),
                    "oid": hashlib.sha1(data).hexdigest(),
                }
                for path, data in files.items()
            ]
            return 200, {}, json.dumps(entries).encode()
        if parts[4:5] == ["revision"] and parts[5:] not in (["main"], [SHA]):
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        if parts[0] == "api":
            siblings = [{"rfilename": path} for path in files]
            return (
                200,
                {},
                json.dumps(
                    {"id": name, "sha": SHA, "siblings": siblings, "private": False}
                ).encode(),
            )
        data = files.get("/".join(parts[5:]))
        if data is None:
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 200, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": SHA}, data


@pytest.fixture
def hub_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repositories]:
    repositories = Repositories()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            repositories.query = urlsplit(self.path).query
            status, headers, data = repositories.answer(
                self.command, unquote(urlsplit(self.path).path), body
            )
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(data))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_HEAD = do

        def log_message(self, *_: object) -> None:
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = repositories.address = f"http://127.0.0.1:{web.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    monkeypatch.chdir(tmp_path)
    yield repositories
    web.shutdown()
    web.server_close()
    thread.join()
