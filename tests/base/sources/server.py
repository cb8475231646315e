"""A local web server that can cut connections and answer with errors, and archives to serve."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compeval.base.sources import RemoteFile, download


@dataclass
class Site:
    """The files and the behaviour of the server."""

    files: dict[str, bytes] = field(default_factory=dict)
    """Path -> content."""
    cuts: list[int] = field(default_factory=list)
    """Number of bytes after which each of the next answers is cut off."""
    num_busy_answers: int = 0
    """Number of requests that are answered with status 503."""
    refusal: int | None = None
    """Status of the answer to a request without an ``Authorization`` header."""
    etag: str | None = '"one"'
    supports_ranges: bool = True
    content_type: str = "application/octet-stream"
    requested_ranges: list[str | None] = field(default_factory=list)
    """The ``Range`` header of each request."""
    url: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        requested_range, data = request.headers.get("Range"), self.files.get(request.path)
        self.requested_ranges.append(requested_range)
        if self.num_busy_answers:
            self.num_busy_answers -= 1
            request.send_error(503)
        elif self.refusal and not request.headers.get("Authorization"):
            request.send_error(self.refusal)
        elif data is None:
            request.send_error(404)
        else:
            start = 0
            if (
                requested_range
                and self.supports_ranges
                and request.headers.get("If-Range") == self.etag
            ):
                start = int(requested_range.removeprefix("bytes=").removesuffix("-"))
            is_complete = start and start >= len(data)
            request.send_response(416 if is_complete else 206 if start else 200)
            if is_complete:
                request.send_header("Content-Range", f"bytes */{len(data)}")
            request.send_header("Content-Length", str(max(0, len(data) - start)))
            request.send_header("Content-Type", self.content_type)
            if self.etag:
                request.send_header("ETag", self.etag)
            request.end_headers()
            request.wfile.write(
                data[start : start + self.cuts.pop(0)] if self.cuts else data[start:]
            )


@pytest.fixture(scope="session")
def running_site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def site(running_site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return the server, without files. Downloads are repeated without a pause."""
    monkeypatch.setattr(download, "PAUSE", 0.0)
    vars(running_site).update(vars(Site(url=running_site.url)))
    return running_site


def make_zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def pin(
    name: str, content: bytes, makes: str | None = None, url: str = "http://nowhere.invalid"
) -> RemoteFile:
    return RemoteFile(
        f"{url}/{name}", name, makes, len(content), hashlib.sha256(content).hexdigest()
    )
