"""Push to and load from a server on the loopback that imitates the Hub's endpoints."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typer.testing import CliRunner

from compeval import load_dataset
from compeval.cli import app
from generators.dataset import CHOICE_SCHEMA, write_config
from loaders import hub
from loaders.cards import measure, write_card
from tests.rows import picture, toy_dataset

SHA = "0" * 40


class Repositories:
    """What was created and committed: repository -> path -> bytes."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.address = ""

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
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    files.pop(line["value"]["path"])
            url = f"{self.address}/datasets/{name}/commit/{SHA}"
            return 200, {}, json.dumps({"commitUrl": url, "commitOid": SHA, "success": True}).encode()
        if parts[0] == "api" and parts[4:5] == ["tree"]:
            entries = [
                {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for path, data in files.items()
            ]
            return 200, {}, json.dumps(entries).encode()
        if parts[0] == "api":
            siblings = [{"rfilename": path} for path in files]
            return 200, {}, json.dumps({"id": name, "sha": SHA, "siblings": siblings, "private": False}).encode()
        data = files.get("/".join(parts[5:]))
        if data is None:
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 200, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": SHA}, data


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repositories]:
    repositories = Repositories()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, data = repositories.answer(self.command, unquote(urlsplit(self.path).path), body)
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


def made(root: Path, rows: int = 3) -> Path:
    root.mkdir()
    return toy_dataset(root, rows=rows)


def push(*arguments: object):
    return CliRunner().invoke(app, ["push", *map(str, arguments)])


def test_what_is_pushed_is_what_is_loaded(server: Repositories, tmp_path: Path):
    folder = made(tmp_path / "data")
    pushed = push("crepe", "me/microworld-crepe", "--data", tmp_path / "data", "--private")
    assert pushed.stdout.endswith(f"/datasets/me/microworld-crepe/commit/{SHA}\n"), pushed.output
    assert server.private == {"me/microworld-crepe": True}
    stored = server.files["me/microworld-crepe"]
    assert stored == {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    rows = load_dataset("me/microworld-crepe", "toy_hnatom", "test")
    assert rows["caption"] == ["red ball"] * 3
    assert rows[0]["image"].size == (40, 30)  # pyright: ignore
    assert rows.to_dict() == load_dataset("crepe", "toy_hnatom", "test", data_dir=tmp_path / "data").to_dict()


def test_a_second_push_takes_the_place_of_the_first(server: Repositories, tmp_path: Path):
    push(made(tmp_path / "a"), "me/microworld-crepe")
    server.files["me/microworld-crepe"]["gone/test-00000-of-00001.parquet"] = b"old"
    server.files["me/microworld-crepe"]["picture.png"] = b"the owner's"
    push(made(tmp_path / "b", rows=5), "me/microworld-crepe")
    assert "gone/test-00000-of-00001.parquet" not in server.files["me/microworld-crepe"]
    assert "picture.png" in server.files["me/microworld-crepe"]
    assert load_dataset("me/microworld-crepe", "toy_hnatom", "test").num_rows == 5


def test_a_name_that_hides_the_micro_world_is_refused(server: Repositories, tmp_path: Path):
    refused = push(toy_dataset(tmp_path), "me/crepe")
    assert refused.exit_code == 2
    assert "made from the micro-world" in refused.stderr
    assert "me/microworld-crepe, for example" in refused.stderr
    assert server.files == {}


def test_pixels_stay_at_home_where_their_licence_says_so(server: Repositories, tmp_path: Path):
    row = {
        "image": {"bytes": picture(tmp_path, 1).read_bytes(), "path": None},
        **{"crop_id": "c", "image_id": "1", "caption": "a", "hard_negatives": ["b"]},
        **dict.fromkeys(("x", "y", "width", "height"), 9.0),
        "categories": [],
        "provenance": {"source": "coco", "captioner": "", "seed": 0, "code": ""},
    }
    folder = tmp_path / "sugarcrepe"
    write_config(folder, "swap_obj", {"test": [row]}, CHOICE_SCHEMA)
    write_card(folder, {"license": "mit"}, "# SugarCrepe\n", measure(folder))
    assert hub.image_sources(folder) == ["coco"]
    hub.push(folder, "me/sugarcrepe")
    loaded = load_dataset("me/sugarcrepe", "swap_obj", "test")
    assert "image" not in loaded.column_names  # pyright: ignore
    assert loaded[0]["image_id"] == "1"  # pyright: ignore
    card = server.files["me/sugarcrepe"]["README.md"].decode()
    assert "This repository holds no pixels: the licence of the images (coco)" in card
    assert "image" in load_dataset(str(folder), "swap_obj", "test").column_names, "the folder here keeps them"


def test_names_are_looked_up_here_then_in_a_folder_then_on_the_hub(server: Repositories, tmp_path: Path):
    toy_dataset(tmp_path, rows=1)
    push(made(tmp_path / "far", rows=2), "me/microworld-crepe")
    assert load_dataset("crepe", "toy_hnatom", "test").num_rows == 1
    assert load_dataset("far/crepe", "toy_hnatom", "test").num_rows == 2
    with pytest.raises(ValueError, match=r"me/gone: not to be had from the Hub \(.*404"):
        load_dataset("me/gone", "toy_hnatom")
    with pytest.raises(ValueError, match=r"Unknown config of me/microworld-crepe 'toy'\. Did you mean"):
        load_dataset("me/microworld-crepe", "toy")
    server.files["me/other"] = {"README.md": b"no data"}
    with pytest.raises(ValueError, match=r"me/other: it has no stats\.json"):
        load_dataset("me/other", "toy_hnatom")
