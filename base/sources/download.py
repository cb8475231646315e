"""Download and verify one file, resuming after interruptions.

An incomplete download is stored as ``<name>.partial``; it is renamed to ``<name>`` when it is complete and verified.
``<name>.partial.version`` contains the server's version of the file (``ETag`` or ``Last-Modified``). The next attempt
requests only the missing bytes (``Range``, ``If-Range``); if the file on the server has changed, the server sends all
bytes again. The package Pooch cannot resume downloads.
"""

import errno
import hashlib
import os
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3

from compeval.base.files.hashes import hash_file
from compeval.base.plain_text import strip_url, strip_urls
from compeval.base.progress import ProgressCallback, no_progress

CHUNK = 1 << 20
MAX_FAILURES = 5
"""A download fails after this many consecutive attempts without a new byte."""
PAUSE = 1.0
"""Seconds before the second attempt; the pause doubles before every further attempt."""
HUB = "https://huggingface.co"
TIMEOUT = (20, 60)
"""Maximum seconds to connect, and maximum seconds between two pieces of data."""
REMEDY = (
    "Use a mirror (--mirror URL), or download the file manually and pass its folder (--from DIR)."
)


def download(
    url: str,
    path: Path,
    size: int | None = None,
    sha256: str | None = None,
    *,
    git_blob: str | None = None,
    known_version: str = "",
    report: ProgressCallback = no_progress,
    step: str = "",
) -> str:
    """Download the file at ``url`` to ``path`` and return the server's version of it, or "" if it states none.

    Nothing is written if the server has the version ``known_version``. Retries after interruptions and if the server is
    busy. ``report`` is called with ``step``.

    Raises FileNotFoundError if the server does not have the file, and ValueError for any other failure: an unreachable
    server, a wrong length or hash, an empty file, a web page instead of the file, or a full disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    version = path.with_name(f"{path.name}.partial.version")
    shown = strip_url(url)  # without a password
    failures = 0
    while True:
        previous_size = _size(partial)
        try:
            if not _append_rest(url, partial, version, size, known_version, report, step):
                return known_version
            break
        except (requests.ConnectionError, requests.Timeout) as error:
            failures = 1 if _size(partial) > previous_size else failures + 1
            if failures == MAX_FAILURES:
                raise ValueError(
                    f"{shown}: the connection failed {MAX_FAILURES} times in a row after {_size(partial):,} bytes "
                    f"({_explain(error, url)}). Run the same command again to resume. {REMEDY}"
                ) from None
        time.sleep(PAUSE * 2 ** (failures - 1))
    try:
        verify(partial, size, sha256, shown, git_blob)
    except ValueError:  # the file is complete but wrong
        partial.unlink()
        version.unlink(missing_ok=True)
        raise
    return _finish(partial, version, path)


def _explain(error: Exception, url: str) -> str:
    """Return the message of an error. Those of requests contain the query of a URL, which may be secret."""
    query = urlsplit(url).query
    return strip_urls(str(error).replace(f"?{query}", "") if query else str(error))


def _finish(partial: Path, version: Path, path: Path) -> str:
    """Rename a verified file. Returns the server's version of it, or ""."""
    partial.rename(path)
    server_version = version.read_text(encoding="utf-8") if version.exists() else ""
    version.unlink(missing_ok=True)
    return server_version


def verify(
    path: Path, size: int | None, sha256: str | None, name: str, git_blob: str | None = None
) -> None:
    """Raise ValueError if a file is empty or has another size or hash. ``name`` identifies the file in the message."""
    _check_size(path.stat().st_size, size, name)
    for kind, expected, compute in (
        ("SHA-256", sha256, hash_file),
        ("git blob", git_blob, compute_git_blob),
    ):
        if expected is not None and (digest := compute(path)) != expected:
            raise ValueError(
                f"{name}: {kind} {digest}, {expected} expected. The file differs from the registered file. {REMEDY}"
            )


def compute_git_blob(path: Path) -> str:
    """Return the id of a file in a git repository: the SHA-1 of "blob", its length, a zero byte and its content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _check_size(actual: int, size: int | None, name: str) -> None:
    if actual == 0:
        raise ValueError(f"{name}: the file is empty. {REMEDY}")
    if size is not None and actual != size:
        raise ValueError(
            f"{name}: {actual:,} bytes, {size:,} expected. The file differs from the registered file. {REMEDY}"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _append_rest(
    url: str,
    partial: Path,
    version: Path,
    size: int | None,
    known_version: str,
    report: ProgressCallback,
    step: str,
) -> bool:
    """Append the missing bytes to ``partial``. Returns False if the server has the version ``known_version``.

    Raises ConnectionError or Timeout if another attempt may succeed.
    """
    # Without a version, the partial file may belong to another version of the file.
    start = _size(partial) if version.exists() else 0
    url, headers = _route(url)
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": version.read_text(encoding="utf-8")}
    elif known_version:
        is_etag = known_version.endswith('"')
        headers["If-None-Match" if is_etag else "If-Modified-Since"] = known_version
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            if answer.headers.get("Content-Range") == f"bytes */{start}":
                return True
            partial.unlink()
            raise requests.ConnectionError("the partial download is larger than the file")
        url = strip_url(url)  # in errors
        _check_status(url, answer)
        server_version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        is_unmodified = answer.status_code == requests.codes.not_modified
        if known_version and (is_unmodified or server_version == known_version):
            return False
        if answer.status_code != requests.codes.partial_content:
            start = 0
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        free = shutil.disk_usage(partial.parent).free
        if total is not None:
            _check_size(total, size, url)
            if total - start > free:
                raise ValueError(
                    _disk_full(url, partial, f"{total - start:,} bytes needed, {free:,} bytes free")
                )
        if server_version:
            version.write_text(server_version, encoding="utf-8")
        else:
            version.unlink(missing_ok=True)
        _write_body(url, answer, partial, start, total, report, step)
    if total is not None and _size(partial) < total:
        raise requests.ConnectionError(f"{_size(partial):,} of {total:,} bytes")
    return True


def _write_body(
    url: str,
    answer: requests.Response,
    partial: Path,
    start: int,
    total: int | None,
    report: ProgressCallback,
    step: str,
) -> None:
    """Write the bytes of an answer to ``partial`` from the position ``start`` on, and report the position.

    Raises ConnectionError if the connection is interrupted, and ValueError if the disk is full.
    """
    try:
        with partial.open("ab" if start else "wb") as file:
            # requests' own iter_content drops the bytes of a chunk during which the connection is interrupted.
            while chunk := answer.raw.read1(CHUNK, decode_content=False):
                file.write(chunk)
                start += len(chunk)
                report(step, start, total)
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(str(error)) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ValueError(_disk_full(url, partial, f"after {_size(partial):,} bytes")) from None


def _route(url: str) -> tuple[str, dict[str, str]]:
    """Return the URL and the headers of a request. Files of the Hugging Face Hub need the user's login if it is gated.

    $HF_ENDPOINT selects another server.
    """
    headers = {"Accept-Encoding": "identity"}
    if url.startswith(HUB):
        from huggingface_hub import get_token

        url = os.environ.get("HF_ENDPOINT", HUB).rstrip("/") + url.removeprefix(HUB)
        if token := get_token():
            headers["Authorization"] = f"Bearer {token}"
    return url, headers


def _disk_full(url: str, partial: Path, detail: str) -> str:
    return f"{url}: no space left in {partial.parent} ({detail}). Free space and run the same command again to resume."


def _check_status(url: str, answer: requests.Response) -> None:
    """Raise FileNotFoundError or ValueError for permanent failures, and ConnectionError for temporary failures."""
    status = f"{answer.status_code} {answer.reason}"
    if answer.status_code in (requests.codes.not_found, requests.codes.gone):
        raise FileNotFoundError(f"{url}: {status}. The server no longer has the file. {REMEDY}")
    if answer.status_code == requests.codes.too_many_requests or answer.status_code >= 500:
        raise requests.ConnectionError(status)
    if (
        answer.status_code in (requests.codes.unauthorized, requests.codes.forbidden)
        and "/resolve/" in url
    ):
        page = url.partition("/resolve/")[0]
        raise ValueError(
            f"{url}: {status}. Accept the terms at {page} and log in with `hf auth login`. {REMEDY}"
        )
    if not answer.ok:
        raise ValueError(f"{url}: {status}. {REMEDY}")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise ValueError(
            f"{url}: the server sent a web page instead of the file, such as a login page. {REMEDY}"
        )
