"""Download a published benchmark: its pinned files, and those images that its rows use.

The files are written to ``sources/<benchmark>/`` and the images to ``sources/<image set>/`` in a data folder, as
``compeval sources get`` does, so benchmarks share their images. Images that have a URL are downloaded one by one, all
others in archives. Existing files are skipped, and interrupted downloads resume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from generators.files.atomic import atomic_folder
from generators.files.untrusted import SOURCES, decode_image, read_file, resolve_below
from generators.sources import DataSource, RemoteFile
from generators.sources.download import REMEDY, download
from generators.sources.obtain import WORK_FOLDER, check_file, fetch
from generators.sources.unpack import unpack
from loaders.importing.identify import PublishedFile
from loaders.importing.images import ImageFinder
from loaders.importing.importing import ReadFile
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet

LOCK = "sources.lock"
"""File next to ``sources/``: the hashes that the publishers do not state."""
CONNECTIONS = 8
ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the name of a step, the number of finished bytes or images, and the total number (None if unknown)."""


def quiet(step: str, done: int, total: int | None) -> None:
    """No-op progress callback."""


def get_files(
    benchmark: Benchmark,
    data: Path,
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    report: ProgressCallback = quiet,
) -> list[PublishedFile]:
    """Download the pinned files of a benchmark to ``data/sources/<benchmark>/`` and return the files to import.

    If the folder ``existing`` lacks a pinned file, or if no file is pinned, all published files in it are used as they
    are. Raises ValueError or FileNotFoundError like :func:`generators.sources.obtain.fetch`.
    """
    if existing is not None and (files := _list_own_files(benchmark, existing)):
        return files
    folder = data / SOURCES / benchmark.name
    fetch(benchmark.source, folder, mirror=mirror, existing=existing, lock=data / LOCK, report=report)
    for archive in sorted(folder.rglob("*.zip")):
        if WORK_FOLDER not in archive.parts and not archive.with_suffix("").exists():
            with atomic_folder(archive.with_suffix("")) as scratch:
                unpack(archive, scratch)
    return list(_find_files(benchmark, folder))


def _list_own_files(benchmark: Benchmark, existing: Path) -> list[PublishedFile]:
    """Return the published files in a folder that lacks pinned files; none if it has all pinned files."""
    is_pinned = bool(benchmark.downloads) and all(_has(existing, file) for file in benchmark.downloads)
    return [] if is_pinned else list(_find_files(benchmark, existing))


def _find_files(benchmark: Benchmark, folder: Path) -> Iterator[PublishedFile]:
    for path in sorted(folder.rglob("*")):
        relative = PurePosixPath(path.relative_to(folder))
        if WORK_FOLDER in relative.parts or not path.is_file():
            continue
        if pattern := benchmark.find_pattern(relative):
            yield PublishedFile(path, benchmark, "/".join(relative.parts[-len(PurePosixPath(pattern).parts) :]))


def find_missing_images(
    files: Sequence[ReadFile], data: Path, image_folder: Path | None = None
) -> dict[ImageSet, list[str]]:
    """Return the images of published files that are neither in ``image_folder`` nor among the shared images.

    Images that come with the files are left out.
    """
    finder = ImageFinder(data, image_folder)
    missing: dict[ImageSet, dict[str, None]] = {}
    for read in files:
        for images, names in read.list_images().items():
            absent = [name for name in names if images.is_separate and finder.find(images, name) is None]
            missing.setdefault(images, {}).update(dict.fromkeys(absent))
    return {images: list(names) for images, names in missing.items() if names}


def leave_out_manual(
    files: Sequence[ReadFile], missing: Mapping[ImageSet, Sequence[str]]
) -> tuple[list[ReadFile], list[str]]:
    """Return the files whose missing images can be downloaded, and a message for each other file.

    Raises ValueError if no file is left.
    """
    manual = [images for images in missing if images.is_manual]
    usable: list[ReadFile] = []
    messages: list[str] = []
    for read in files:
        own = read.list_images()
        if images := next((images for images in manual if images in own), None):
            messages.append(f"{read.counts.file}: left out. {_explain_manual(images)} Name their folder with --images.")
        else:
            usable.append(read)
    if not usable:
        raise ValueError(f"{_explain_manual(manual[0])} Name their folder with --images.")
    return usable, messages


def _explain_manual(images: ImageSet) -> str:
    return f"The images of {images.name} must be downloaded manually. {images.how or ''}".strip()


def measure_download(missing: Mapping[ImageSet, Sequence[str]]) -> int | None:
    """Return the bytes to download, estimated from mean sizes; None if the size of an archive is unknown."""
    sizes: list[int | None] = []
    for images, names in missing.items():
        sizes += [len(names) * images.bytes_per_image] if images.url else [file.size for file in images.archives]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def measure_tables(benchmark: Benchmark, data: Path) -> int:
    """Return the bytes of those pinned files that contain images, estimated from mean sizes; 0 if all are there."""
    has_images = any(images.columns for images in benchmark.files.values()) or any(
        file.makes for file in benchmark.downloads
    )
    folder = data / SOURCES / benchmark.name
    is_here = all(check_file(file, folder) == "complete" for file in benchmark.downloads)
    return benchmark.image_bytes if has_images and not is_here else 0


def get_images(
    images: ImageSet,
    names: Sequence[str],
    data: Path,
    *,
    mirror: str | None = None,
    existing: Path | None = None,
    report: ProgressCallback = quiet,
) -> list[str]:
    """Download images to ``data/sources/<image set>/`` and return the names that the server does not have.

    Raises ValueError if the images have to be downloaded manually, or if the download fails.
    """
    folder = data / SOURCES / images.name
    if images.url is not None and existing is None:
        return _get_each(images, names, folder, mirror, report)
    if not images.archives:
        raise ValueError(_explain_manual(images))
    source = DataSource(images.name, images.name, "", "", "", images.archives, images.how)
    available = [file.name for file in images.archives if existing is None or _has(existing, file)]
    fetch(source, folder, available, mirror=mirror, existing=existing, lock=data / LOCK, report=report)
    return []


def _has(folder: Path, file: RemoteFile) -> bool:
    return any((folder / name).exists() for name in (file.name, file.final_name))


def _get_each(
    images: ImageSet, names: Sequence[str], folder: Path, mirror: str | None, report: ProgressCallback
) -> list[str]:
    """Download images one by one and return the names that the server does not have."""
    absent: list[str] = []
    step = f"images of {images.name}"
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        tasks: dict[Future[bool], str] = {pool.submit(_get_one, images, name, folder, mirror): name for name in names}
        try:
            for done, task in enumerate(as_completed(tasks), 1):
                if not task.result():
                    absent.append(tasks[task])
                report(step, done, len(names))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(absent)


def _get_one(images: ImageSet, name: str, folder: Path, mirror: str | None) -> bool:
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
