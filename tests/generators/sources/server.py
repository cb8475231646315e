"""A local web server that can cut connections and answer with errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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


@contextmanager
def serve(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requested_ranges.append(self.headers.get("Range"))
            if site.num_busy_answers:
                site.num_busy_answers -= 1
                self.send_error(503)
                return
            if site.refusal and not self.headers.get("Authorization"):
                self.send_error(site.refusal)
                return
            data = site.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            start = 0
            requested_range = self.headers.get("Range")
            if requested_range and site.supports_ranges and self.headers.get("If-Range") == site.etag:
                start = int(requested_range.removeprefix("bytes=").removesuffix("-"))
            if start and start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.send_header("Content-Type", site.content_type)
            if site.etag:
                self.send_header("ETag", site.etag)
            self.end_headers()
            self.wfile.write(data[start : start + site.cuts.pop(0)] if site.cuts else data[start:])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
