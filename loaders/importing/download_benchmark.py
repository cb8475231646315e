"""Download the files of a published benchmark, and the images that its rows use.

The steps of ``compeval get`` are in compeval/cli/benchmarks.py, in order. The files are written to
``sources/<benchmark>/`` and the images to ``sources/<image set>/`` in a data folder, as ``compeval sources get`` does,
so benchmarks share their images. Images that have a URL are downloaded one by one, all others in archives. Interrupted
downloads resume. Files that are there are kept as long as they are those of the registered version, or of the given
folder (base/sources/obtain.py). The server's version of an image that was downloaded by its own URL is recorded
(``.downloads/<image>.json``). If the published files are others than those that were imported before, or on request,
the server is asked whether it has another version.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from urllib.parse import quote

from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.files.file_state import confirm_state, is_made_from, read_state, record_origin
from compeval.base.files.listing import list_files
from compeval.base.files.untrusted import SOURCES, decode_image, read_file, resolve_below
from compeval.base.plain_text import strip_url
from compeval.base.progress import ProgressCallback
from compeval.base.sources import DataSource
from compeval.base.sources.download import REMEDY, download
from compeval.base.sources.obtain import (
    WORK_FOLDER,
    fetch,
    has_file,
)
from compeval.base.sources.unpack import unpack
from compeval.loaders.importing.identify import PublishedFile, find_files
from compeval.loaders.published import Benchmark, ImageSet

ASK_BYTES = 1_000_000_000
"""A larger download needs a confirmation."""
CONNECTIONS = 8
LOCK = "sources.lock"
"""File next to ``sources/``: the hashes that the publishers do not state."""


# The published files


def needs_confirmation(size: int | None) -> bool:
    """Return True if a download of ``size`` bytes is large, or if its size is unknown."""
    return size is None or size > ASK_BYTES


def find_or_download_files(
    benchmark: Benchmark,
    data: Path,
    mirror: str | None,
    existing: Path | None,
    report: ProgressCallback,
) -> list[PublishedFile]:
    """Return the published files of a benchmark, downloaded, or found in the folder ``existing`` if it is given.

    Downloads are written to ``data/sources/<benchmark>/``. If ``existing`` has all pinned files, they are verified and
    linked to that folder. If it lacks some, or if no file is pinned, the files of the benchmark in it are used where
    they are. Raises ValueError or FileNotFoundError like :func:`compeval.base.sources.obtain.fetch`.
    """
    pinned = benchmark.source.files
    if existing is not None and not (pinned and all(has_file(existing, file) for file in pinned)):
        files = find_files(benchmark, existing)
        if files:
            return files
    folder = data / SOURCES / benchmark.name
    fetch(
        benchmark.source, folder, mirror=mirror, existing=existing, lock=data / LOCK, report=report
    )
    # Archives inside the archives that the registry names.
    for archive in list_files(folder, "**/*.zip"):
        unpacked = archive.with_suffix("")
        if not is_made_from(unpacked, archive):
            with atomic_folder(unpacked) as scratch:
                unpack(archive, scratch)
                record_origin(scratch, archive)
    return find_files(benchmark, folder)


# The images of their rows


def download_images(
    images: ImageSet,
    names: Sequence[str],
    data: Path,
    mirror: str | None,
    existing: Path | None,
    report: ProgressCallback,
) -> list[str]:
    """Download images to ``data/sources/<image set>/``; with ``existing``, unpack the archives in this folder.

    Returns the names that the server does not have, or all names if ``existing`` has no archive. Raises ValueError if
    the download fails.
    """
    if existing is None and images.url is not None:
        return _download_each(images, names, data, mirror, report, replace=False)
    archives = [
        file.name for file in images.archives if existing is None or has_file(existing, file)
    ]
    if not archives:
        return [*names]
    fetch(
        DataSource(images.name, files=images.archives),
        data / SOURCES / images.name,
        archives,
        mirror=mirror,
        existing=existing,
        lock=data / LOCK,
        report=report,
    )
    return []


def update_images(
    images: ImageSet, names: Sequence[str], data: Path, mirror: str | None, report: ProgressCallback
) -> list[str]:
    """Replace the images that were downloaded by their own URL and of which the server has another version.

    Returns the names that the server no longer has. Images that came in another way are not touched.
    """
    if images.url is None:
        return []
    return _download_each(images, names, data, mirror, report, replace=True)


def _download_each(
    images: ImageSet,
    names: Sequence[str],
    data: Path,
    mirror: str | None,
    report: ProgressCallback,
    *,
    replace: bool,
) -> list[str]:
    """Download images one by one, or ``replace`` the ones that are there. Returns the names that the server lacks."""
    folder = data / SOURCES / images.name
    root = f"{mirror.rstrip('/')}/{images.name}" if mirror else str(images.url)
    download_one = _update_image if replace else _download_missing_image
    absent: list[str] = []
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        results = pool.map(download_one, repeat(images), repeat(root), repeat(folder), names)
        try:
            for done, (name, is_available) in enumerate(zip(names, results, strict=True), 1):
                if not is_available:
                    absent.append(name)
                report(f"images of {images.name}", done, len(names))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # the downloads that have not begun
            raise
    return sorted(absent)


def _download_missing_image(images: ImageSet, root: str, folder: Path, name: str) -> bool:
    """Download one image, unless it exists. Returns False if the server does not have it."""
    for path in images.locate(name):
        if resolve_below(folder, path).is_file():
            return True
        try:
            _download_image(root, folder, path)
            return True
        except FileNotFoundError:
            continue
    return False


def _update_image(images: ImageSet, root: str, folder: Path, name: str) -> bool:
    """Download an image again if it or the server's version has changed. Returns False if the server does not have
    it."""
    for path in images.locate(name):
        record = _get_record(folder, path)
        target = resolve_below(folder, path)
        if not (record.is_file() and target.is_file()):
            continue
        entry = json.loads(record.read_text(encoding="utf-8"))
        is_same = entry["url"] == strip_url(f"{root}/{quote(path)}") and confirm_state(
            target, entry["state"]
        )
        try:
            _download_image(root, folder, path, entry["version"] if is_same else "")
        except FileNotFoundError:
            return False
    return True


def _download_image(root: str, folder: Path, path: str, known_version: str = "") -> None:
    """Download an image, unless the server has the version ``known_version``, and record the server's version.

    Raises ValueError if the downloaded file is not an image, and FileNotFoundError if the server does not have it.
    """
    target = resolve_below(folder, path)
    scratch = resolve_below(folder / WORK_FOLDER, path)
    url = f"{root}/{quote(path)}"
    version = download(url, scratch, known_version=known_version)
    url = strip_url(url)  # in errors and in the record
    if not scratch.exists():
        return
    try:
        decode_image(read_file(scratch))
    except ValueError as error:
        scratch.unlink()
        raise ValueError(f"{url}: not an image ({error}). {REMEDY}") from None
    record = {"url": url, "version": version, "state": read_state(scratch)}
    write_json(_get_record(folder, path), record)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch.replace(target)


def _get_record(folder: Path, path: str) -> Path:
    return resolve_below(folder / WORK_FOLDER, f"{path}.json")
