"""Download the files of a published benchmark, and the images that its rows use.

The files are written to ``sources/<benchmark>/`` and the images to ``sources/<image set>/`` in a data folder, as
``compeval sources get`` does, so benchmarks share their images. Images that have a URL are downloaded one by one, all
others in archives. Interrupted downloads resume. Files that are there are kept as long as they are those of the
registered version, or of the given folder (generators/sources/obtain.py). An image that is downloaded by its own URL is
kept by its name, which its publisher uses for no other image; delete it to download it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from generators.files.atomic import atomic_folder
from generators.files.file_state import is_made_from, record_origin
from generators.files.untrusted import SOURCES, decode_image, read_file, resolve_below
from generators.sources import DataSource, RemoteFile
from generators.sources.download import REMEDY, download
from generators.sources.obtain import WORK_FOLDER, ProgressCallback, fetch, is_other_version
from generators.sources.unpack import unpack
from loaders.importing.identify import PublishedFile
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet

LOCK = "sources.lock"
"""File next to ``sources/``: the hashes that the publishers do not state."""
CONNECTIONS = 8


def get_files(
    benchmark: Benchmark, data: Path, mirror: str | None, existing: Path | None, report: ProgressCallback
) -> list[PublishedFile]:
    """Download the pinned files of a benchmark to ``data/sources/<benchmark>/`` and return the files to import.

    If the folder ``existing`` lacks a pinned file, or if no file is pinned, all published files in it are used as they
    are. Raises ValueError or FileNotFoundError like :func:`generators.sources.obtain.fetch`.
    """
    if existing is not None:
        has_pinned = benchmark.source.files and all(_has(existing, file) for file in benchmark.source.files)
        if not has_pinned and (files := list(_find_files(benchmark, existing))):
            return files
    folder = data / SOURCES / benchmark.name
    fetch(benchmark.source, folder, mirror=mirror, existing=existing, lock=data / LOCK, report=report)
    for archive in sorted(folder.rglob("*.zip")):
        if WORK_FOLDER not in archive.parts and not is_made_from(archive.with_suffix(""), archive):
            with atomic_folder(archive.with_suffix("")) as scratch:
                unpack(archive, scratch)
                record_origin(scratch, archive)
    return list(_find_files(benchmark, folder))


def _has(folder: Path, file: RemoteFile) -> bool:
    return any((folder / name).exists() for name in (file.name, file.final_name))


def _find_files(benchmark: Benchmark, folder: Path) -> Iterator[PublishedFile]:
    for path in sorted(folder.rglob("*")):
        relative = PurePosixPath(path.relative_to(folder))
        pattern = benchmark.find_pattern(relative)
        if pattern and WORK_FOLDER not in relative.parts and path.is_file():
            yield PublishedFile(path, benchmark, "/".join(relative.parts[-len(PurePosixPath(pattern).parts) :]))


def explain_manual_download(images: ImageSet) -> str:
    return f"The images of {images.name} must be downloaded manually. {images.download_instructions or ''}".strip()


def are_outdated(images: ImageSet, data: Path, existing: Path | None) -> bool:
    """Return True if images of the data folder were unpacked from another version of their archive than that which is
    registered, or which the folder ``existing`` contains."""
    archives = images.archives if existing or not images.url else ()
    return any(is_other_version(file, data / SOURCES / images.name, existing=existing) for file in archives)


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
        return _get_each(images, names, folder, mirror, report)
    if not images.archives:
        raise ValueError(explain_manual_download(images))
    available = [file.name for file in images.archives if existing is None or _has(existing, file)]
    source = DataSource(images.name, files=images.archives)
    fetch(source, folder, available, mirror=mirror, existing=existing, lock=data / LOCK, report=report)
    return []


def _get_each(
    images: ImageSet, names: Sequence[str], folder: Path, mirror: str | None, report: ProgressCallback
) -> list[str]:
    """Download images one by one and return the names that the server does not have."""
    absent: list[str] = []
    get_one = partial(_get_one, images, folder, mirror)
    # Closing the iterator cancels the downloads that have not begun.
    with ThreadPoolExecutor(CONNECTIONS) as pool, closing(pool.map(get_one, names)) as results:  # pyright: ignore
        for done, (name, is_available) in enumerate(zip(names, results, strict=True), 1):
            absent += [] if is_available else [name]
            report(f"images of {images.name}", done, len(names))
    return sorted(absent)


def _get_one(images: ImageSet, folder: Path, mirror: str | None, name: str) -> bool:
    """Download one image, unless it exists. Returns False if the server does not have it.

    Raises ValueError if the downloaded file is not an image.
    """
    root = f"{mirror.rstrip('/')}/{images.name}" if mirror else images.url
    for path in images.locate(name):
        target, scratch = resolve_below(folder, path), resolve_below(folder / WORK_FOLDER, path)
        if target.is_file():
            return True
        url = f"{root}/{quote(path)}"
        try:
            download(url, scratch)
        except FileNotFoundError:
            continue
        try:
            decode_image(read_file(scratch))
        except ValueError as error:
            scratch.unlink()
            raise ValueError(f"{url}: not an image ({error}). {REMEDY}") from None
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch.replace(target)
        return True
    return False
