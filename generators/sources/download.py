"""Download one file: resumed after an interruption, verified, and under its name only when it is complete.

The part that has arrived is kept as ``<name>.partial``, and the server's mark of its version (``ETag`` or
``Last-Modified``) as ``<name>.partial.version``. The next attempt requests only the rest (``Range``, ``If-Range``), and
a server whose file has changed sends all of it again. Pooch, which downloads and verifies as well, cannot resume.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import requests
import urllib3

CHUNK = 1 << 20
ATTEMPTS = 5
"""Failures in a row, without a new byte, after which a download is given up."""
PAUSE = 1.0
"""Seconds before the second attempt; doubled before each further one."""
TIMEOUT = (20, 60)
"""Seconds to connect, and between two pieces of data."""
REMEDY = "Name a mirror (--mirror URL), or download the file by hand and name its folder (--from DIR)."

Report = Callable[[int, int | None], None]
"""Called with the number of bytes that have arrived and the number that is expected."""


def download(
    url: str, path: Path, size: int | None = None, sha256: str | None = None, report: Report = lambda done, total: None
) -> None:
    """Write the file at ``url`` to ``path``. Interrupted connections and busy servers are tried again.

    FileNotFoundError if the server has no such file. ValueError for any other failure: an unreachable server, a wrong
    length or hash, an empty file, a web page in the file's place, a full disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, version = (path.with_name(f"{path.name}{suffix}") for suffix in (".partial", ".partial.version"))
    failures = 0
    while True:
        before = _size(partial)
        try:
            _append_rest(url, partial, version, size, report)
            break
        except (requests.ConnectionError, requests.Timeout) as error:
            failures = 1 if _size(partial) > before else failures + 1
            if failures == ATTEMPTS:
                raise ValueError(
                    f"{url}: the connection failed {ATTEMPTS} times in a row after {_size(partial):,} bytes ({error}). "
                    f"The same command resumes from there. {REMEDY}"
                ) from None
        time.sleep(PAUSE * 2 ** (failures - 1))
    try:
        verify(partial, size, sha256, url)
    except ValueError:  # the complete file is not the right one
        partial.unlink()
        version.unlink(missing_ok=True)
        raise
    partial.rename(path)
    version.unlink(missing_ok=True)


def verify(path: Path, size: int | None, sha256: str | None, name: str) -> None:
    """ValueError, which names the file ``name``, if it is empty or does not have the known size and hash."""
    _check_size(path.stat().st_size, size, name)
    if sha256 is not None:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sha256:
            raise ValueError(f"{name}: SHA-256 {digest}, {sha256} expected. It is not the pinned file. {REMEDY}")


def _check_size(actual: int, size: int | None, name: str) -> None:
    if actual == 0:
        raise ValueError(f"{name}: the file is empty. {REMEDY}")
    if size is not None and actual != size:
        raise ValueError(f"{name}: {actual:,} bytes, {size:,} expected. It is not the pinned file. {REMEDY}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _append_rest(url: str, partial: Path, version: Path, size: int | None, report: Report) -> None:
    """Append the missing bytes to ``partial``. ConnectionError or Timeout if a further attempt may succeed."""
    # A part without its version may belong to another file.
    start = _size(partial) if version.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": version.read_text()}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            if answer.headers.get("Content-Range") == f"bytes */{start}":
                return
            partial.unlink()
            raise requests.ConnectionError("more bytes had arrived than the file has")
        _check_status(url, answer)
        if answer.status_code != requests.codes.partial_content:
            start = 0
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        free = shutil.disk_usage(partial.parent).free
        if total is not None:
            _check_size(total, size, url)
            if total - start > free:
                raise ValueError(_disk_full(url, partial, f"{total - start:,} bytes are missing, {free:,} are free"))
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        version.write_text(mark) if mark else version.unlink(missing_ok=True)
        try:
            with partial.open("ab" if start else "wb") as file:
                # requests' own iter_content drops the bytes of a chunk during which the connection is interrupted.
                while chunk := answer.raw.read1(CHUNK, decode_content=False):
                    file.write(chunk)
                    report(start := start + len(chunk), total)
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError(str(error)) from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ValueError(_disk_full(url, partial, f"after {_size(partial):,} bytes")) from None
            raise
    if total is not None and _size(partial) < total:
        raise requests.ConnectionError(f"{_size(partial):,} of {total:,} bytes")


def _disk_full(url: str, partial: Path, detail: str) -> str:
    return f"{url}: no space left in {partial.parent} ({detail}). Free some; the same command resumes from there."


def _check_status(url: str, answer: requests.Response) -> None:
    """FileNotFoundError and ValueError for permanent failures, ConnectionError for temporary ones."""
    status = f"{answer.status_code} {answer.reason}"
    if answer.status_code in (requests.codes.not_found, requests.codes.gone):
        raise FileNotFoundError(f"{url}: {status}. The file is no longer there. {REMEDY}")
    if answer.status_code == requests.codes.too_many_requests or answer.status_code >= 500:
        raise requests.ConnectionError(status)
    if not answer.ok:
        raise ValueError(f"{url}: {status}. {REMEDY}")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise ValueError(f"{url}: the server sent a web page (a login, a quota) in place of the file. {REMEDY}")
