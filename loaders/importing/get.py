"""Download the files of a published benchmark, and the images that its rows use.

The files are written to ``sources/<benchmark>/`` and the images to ``sources/<image set>/`` in a data folder, as
``compeval sources get`` does, so benchmarks share their images. Images that have a URL are downloaded one by one, all
others in archives. Interrupted downloads resume. Files that are there are kept as long as they are those of the
registered version, or of the given folder (base/sources/obtain.py). The server's version of an image that was
downloaded by its own URL is recorded (``.downloads/<image>.json``). If the published files are others than those that
were imported before, or on request, the server is asked whether it has another version.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.files.file_state import is_made_from, read_state, record_origin, refresh
from compeval.base.files.listing import list_files
from compeval.base.files.untrusted import SOURCES, decode_image, read_file, resolve_below
from compeval.base.plain_text import strip_url
from compeval.base.sources import DataSource, RemoteFile
from compeval.base.sources.download import REMEDY, download
from compeval.base.sources.obtain import WORK_FOLDER, ProgressCallback, fetch, is_other_version
from compeval.base.sources.unpack import unpack
from compeval.loaders.importing.identify import PublishedFile
from compeval.loaders.published import Benchmark, ImageSet

LOCK = "sources.lock"
"""File next to ``sources/``: the hashes that the publishers do not state."""
CONNECTIONS = 8


def get_files(
    benchmark: Benchmark,
    data: Path,
    mirror: str | None,
    existing: Path | None,
    report: ProgressCallback,
) -> list[PublishedFile]:
    """Download the pinned files of a benchmark to ``data/sources/<benchmark>/`` and return the files to import.

    If the folder ``existing`` lacks a pinned file, or if no file is pinned, all published files in it are used as they
    are. Raises ValueError or FileNotFoundError like :func:`compeval.base.sources.obtain.fetch`.
    """
    if existing is not None:
        has_pinned = benchmark.source.files and all(
            _has(existing, file) for file in benchmark.source.files
        )
        if not has_pinned and (files := list(_find_files(benchmark, existing))):
            return files
    folder = data / SOURCES / benchmark.name
    fetch(
        benchmark.source, folder, mirror=mirror, existing=existing, lock=data / LOCK, report=report
    )
    for archive in list_files(folder, "**/*.zip"):
        if not is_made_from(archive.with_suffix(""), archive):
            with atomic_folder(archive.with_suffix("")) as scratch:
                unpack(archive, scratch)
                record_origin(scratch, archive)
    return list(_find_files(benchmark, folder))


def _has(folder: Path, file: RemoteFile) -> bool:
    return any((folder / name).exists() for name in (file.name, file.final_name))


def _find_files(benchmark: Benchmark, folder: Path) -> Iterator[PublishedFile]:
    for path in list_files(folder, "**/*"):
        relative = PurePosixPath(path.relative_to(folder))
        pattern = benchmark.find_pattern(relative)
        if pattern:
            yield PublishedFile(
                path, benchmark, "/".join(relative.parts[-len(PurePosixPath(pattern).parts) :])
            )


def explain_manual_download(images: ImageSet) -> str:
    return f"The images of {images.name} must be downloaded manually. {images.download_instructions or ''}".strip()


def are_outdated(images: ImageSet, data: Path, existing: Path | None) -> bool:
    """Return True if images of the data folder were unpacked from another version of their archive than that which is
    registered, or which the folder ``existing`` contains."""
    archives = images.archives if existing or not images.url else ()
    return any(
        is_other_version(file, data / SOURCES / images.name, existing=existing) for file in archives
    )


def get_images(
    images: ImageSet,
    names: Sequence[str],
    data: Path,
    mirror: str | None,
    existing: Path | None,
    report: ProgressCallback,
) -> list[str]:
    """Download images to ``data/sources/<image set>/`` and return the names that the server does not have.

    Raises ValueError if the images have to be downloaded manually, or if the download fails.
    """
    folder = data / SOURCES / images.name
    if images.url is not None and existing is None:
        return _get_each(images, names, partial(_get_one, images, folder, mirror), report)
    if not images.archives:
        raise ValueError(explain_manual_download(images))
    available = [file.name for file in images.archives if existing is None or _has(existing, file)]
    source = DataSource(images.name, files=images.archives)
    fetch(
        source, folder, available, mirror=mirror, existing=existing, lock=data / LOCK, report=report
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
    return _get_each(
        images, names, partial(_update_one, images, data / SOURCES / images.name, mirror), report
    )


def _get_each(
    images: ImageSet, names: Sequence[str], get_one: Callable[[str], bool], report: ProgressCallback
) -> list[str]:
    """Download images one by one and return the names that the server does not have."""
    absent: list[str] = []
    # Closing the iterator cancels the downloads that have not begun.
    with ThreadPoolExecutor(CONNECTIONS) as pool, closing(pool.map(get_one, names)) as results:  # pyright: ignore
        for done, (name, is_available) in enumerate(zip(names, results, strict=True), 1):
            absent += [] if is_available else [name]
            report(f"images of {images.name}", done, len(names))
    return sorted(absent)


def _get_one(images: ImageSet, folder: Path, mirror: str | None, name: str) -> bool:
    """Download one image, unless it exists. Returns False if the server does not have it."""
    for path in images.locate(name):
        if resolve_below(folder, path).is_file():
            return True
        try:
            _download_image(images, folder, mirror, path)
            return True
        except FileNotFoundError:
            continue
    return False


def _update_one(images: ImageSet, folder: Path, mirror: str | None, name: str) -> bool:
    """Download an image again if it or the server's version has changed. Returns False if the server does not have
    it."""
    for path in images.locate(name):
        if (record := _get_record(folder, path)).is_file() and (
            target := resolve_below(folder, path)
        ).is_file():
            known = json.loads(record.read_text(encoding="utf-8"))
            is_same = known["url"] == strip_url(_make_url(images, mirror, path)) and refresh(
                target, known["state"]
            )
            try:
                _download_image(images, folder, mirror, path, known["version"] if is_same else "")
            except FileNotFoundError:
                return False
    return True


def _make_url(images: ImageSet, mirror: str | None, path: str) -> str:
    root = f"{mirror.rstrip('/')}/{images.name}" if mirror else images.url
    return f"{root}/{quote(path)}"


def _get_record(folder: Path, path: str) -> Path:
    return resolve_below(folder / WORK_FOLDER, f"{path}.json")


def _download_image(
    images: ImageSet, folder: Path, mirror: str | None, path: str, known: str = ""
) -> None:
    """Download an image, unless the server has the version ``known``, and record the server's version.

    Raises ValueError if the downloaded file is not an image, and FileNotFoundError if the server does not have it.
    """
    target, scratch = resolve_below(folder, path), resolve_below(folder / WORK_FOLDER, path)
    url = _make_url(images, mirror, path)
    version = download(url, scratch, known=known)
    url = strip_url(url)  # in errors and in the record
    if not scratch.exists():
        return
    try:
        decode_image(read_file(scratch))
    except ValueError as error:
        scratch.unlink()
        raise ValueError(f"{url}: not an image ({error}). {REMEDY}") from None
    write_json(
        _get_record(folder, path), {"url": url, "version": version, "state": read_state(scratch)}
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch.replace(target)
