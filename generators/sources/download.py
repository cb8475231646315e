"""One file from a web server, whole or not at all.

What came of a file is kept beside it as ``<name>.partial`` with the server's mark of that version (``ETag`` or
``Last-Modified``), and a later call asks for the rest alone (``Range``, ``If-Range``): a server whose file has changed
sends all of it again. The final name is given only to a file of the right length and hash.

Pooch, which does the same for a registry, cannot resume.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import urllib3

CHUNK = 1 << 20
ATTEMPTS = 5
"""In a row without a new byte."""
PAUSE = 1.0
"""Seconds before the second attempt; doubled before each further one."""
TIMEOUT = (20, 60)
"""Seconds to connect, and between two pieces of data."""
ELSEWHERE = "Name a mirror (--mirror URL), or get the file by hand and name its folder (--from DIR)."

Report = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes that are expected."""


def download(
    url: str, path: Path, size: int | None = None, sha256: str | None = None, report: Report = lambda done, total: None
) -> None:
    """Write the file at ``url`` to ``path``. Cut connections and busy servers are tried again.

    FileNotFoundError where the server has no such file, ValueError for any other failure: a server that stays away, a
    wrong length, a wrong hash, an empty file, a web page in the file's place, a full disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Partial(path)
    failures = 0
    while True:
        before = partial.size
        try:
            _stream(url, partial, size, report)
            break
        except (requests.ConnectionError, requests.Timeout) as error:
            failures = 1 if partial.size > before else failures + 1
            if failures == ATTEMPTS:
                raise ValueError(
                    f"{url}: the connection failed {ATTEMPTS} times in a row, {partial.size:,} bytes came "
                    f"({_reason(error)}). The same command goes on from there. {ELSEWHERE}"
                ) from None
        time.sleep(PAUSE * 2 ** (failures - 1))
    with _dropped_on_error(partial):
        verify(partial.path, size, sha256, url)
    partial.path.rename(path)
    partial.forget()


def verify(path: Path, size: int | None, sha256: str | None, name: str) -> None:
    """ValueError, naming the file ``name``, if it is empty or not of the size and hash that are known."""
    found = path.stat().st_size
    if found == 0:
        raise ValueError(f"{name}: the file is empty. {ELSEWHERE}")
    if size is not None and found != size:
        raise ValueError(f"{name}: {found:,} bytes, {size:,} expected. It is not the file that is pinned. {ELSEWHERE}")
    if sha256 is not None:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sha256:
            raise ValueError(
                f"{name}: SHA-256 {digest}, {sha256} expected. It is not the file that is pinned. {ELSEWHERE}"
            )


class Partial:
    """The part of a file that came so far, and the mark of the version that it is of."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.partial")
        self._mark = path.with_name(f"{path.name}.partial.version")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> str | None:
        return self._mark.read_text() if self._mark.exists() else None

    @version.setter
    def version(self, mark: str | None) -> None:
        if mark is None:
            self._mark.unlink(missing_ok=True)
        else:
            self._mark.write_text(mark)

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)


@contextmanager
def _dropped_on_error(partial: Partial) -> Iterator[None]:
    """A whole file that is not the right one is of no use to a later call."""
    try:
        yield
    except ValueError:
        partial.forget()
        raise


class _Cut(requests.ConnectionError):
    """The answer ended before its length, or the server is busy."""


def _stream(url: str, partial: Partial, size: int | None, report: Report) -> None:
    """Append what is missing. requests' errors where it makes sense to ask again."""
    # Without its version nobody knows what a part is a part of.
    start = partial.size if partial.version else 0
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": str(partial.version)}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            if start == _length_in_range(answer):
                return
            partial.forget()
            raise _Cut("what came was longer than the file")
        _check_status(url, answer)
        if answer.status_code != requests.codes.partial_content:
            start = 0
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        with _dropped_on_error(partial):
            _check_length(url, total, size)
        free = shutil.disk_usage(partial.path.parent).free
        if total is not None and total - start > free:
            raise ValueError(_full(url, partial, f"{total - start:,} bytes are to come, {free:,} are free"))
        partial.version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        _append(url, answer, partial, start, total, report)
    if total is not None and partial.size < total:
        raise _Cut(f"{partial.size:,} of {total:,} bytes")


def _append(
    url: str, answer: requests.Response, partial: Partial, start: int, total: int | None, report: Report
) -> None:
    try:
        with partial.path.open("ab" if start else "wb") as file:
            done = start
            # requests' own iter_content drops what it has of a chunk when the connection is cut.
            while chunk := answer.raw.read1(CHUNK, decode_content=False):
                file.write(chunk)
                done += len(chunk)
                report(done, total)
    except urllib3.exceptions.HTTPError as error:
        raise _Cut(error) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ValueError(_full(url, partial, f"{partial.size:,} bytes came")) from None
        raise


def _full(url: str, partial: Partial, told: str) -> str:
    return f"{url}: no space left in {partial.path.parent} ({told}). Free some; the same command goes on from there."


def _check_status(url: str, answer: requests.Response) -> None:
    """FileNotFoundError and ValueError for answers that will not change, _Cut for those that may."""
    told = f"{answer.status_code} {answer.reason}"
    if answer.status_code in (requests.codes.not_found, requests.codes.gone):
        raise FileNotFoundError(f"{url}: {told}. The file is no longer there. {ELSEWHERE}")
    if answer.status_code == requests.codes.too_many_requests or answer.status_code >= 500:
        raise _Cut(told)
    if not answer.ok:
        raise ValueError(f"{url}: {told}. {ELSEWHERE}")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise ValueError(f"{url}: the server sent a web page (a login, a quota) in place of the file. {ELSEWHERE}")


def _check_length(url: str, total: int | None, size: int | None) -> None:
    if total == 0:
        raise ValueError(f"{url}: the file is empty. {ELSEWHERE}")
    if size is not None and total is not None and total != size:
        raise ValueError(f"{url}: {total:,} bytes, {size:,} expected. It is not the file that is pinned. {ELSEWHERE}")


def _length_in_range(answer: requests.Response) -> int | None:
    """The length that an answer 416 tells: ``Content-Range: bytes */1234``."""
    told = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(told) if told.isdigit() else None


def _reason(error: BaseException) -> str:
    """The innermost reason: requests wraps urllib3, which wraps the socket's."""
    while isinstance(inner := (error.args[0] if error.args else None), BaseException):
        error = inner
    return str(getattr(error, "reason", None) or error)
