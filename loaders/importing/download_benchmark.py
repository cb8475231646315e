"""All steps of ``compeval get``: download the files, read them, download the missing images, and write the dataset."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from compeval.base.files.untrusted import SOURCES
from compeval.base.sources import DataSource
from compeval.base.sources.obtain import ProgressCallback, check_file
from compeval.loaders.importing.get import (
    are_outdated,
    explain_manual_download,
    get_files,
    get_images,
    update_images,
)
from compeval.loaders.importing.images import ImageFinder
from compeval.loaders.importing.selection import ALL, RowSelection
from compeval.loaders.importing.write_dataset import (
    ImportedFile,
    ReadFile,
    compare_counts,
    count_by_config,
    import_published,
    is_correction,
    read_all,
    sum_counts,
)
from compeval.loaders.published import Benchmark, ImageSet

ASK_BYTES = 1_000_000_000
"""A larger download needs a confirmation."""


class User(Protocol):
    """The user, who is informed and asked."""

    def inform(self, text: str) -> None: ...

    def warn(self, text: str) -> None:
        """Say what is missing from the result, also to a user who wants no notes."""
        ...

    def confirm(self, name: str) -> None:
        """Ask for the permission to download. Raises an error if it is not given."""
        ...

    def show_progress(self, *, in_bytes: bool) -> AbstractContextManager[ProgressCallback]: ...


@dataclass(frozen=True)
class Options:
    """How a benchmark is downloaded."""

    images: Path | None = None
    """Folder with images of the user."""
    existing: Path | None = None
    """Folder with the published files and archives. Nothing is downloaded then."""
    mirror: str | None = None
    selection: RowSelection = ALL
    partial: bool = False
    """Whether an incomplete copy in ``existing`` is imported."""
    refresh: bool = False
    """Whether images that were downloaded by their own URL are compared with the server's."""


def get_benchmark(
    benchmark: Benchmark, data: Path, options: Options, user: User
) -> list[ImportedFile]:
    """Download a benchmark with the images that its rows use, and write its dataset to the data folder.

    Raises ValueError or FileNotFoundError if a file or an image cannot be downloaded or read.
    """
    finder = ImageFinder(data, options.images)
    if options.existing is None and (size := _measure_files_with_images(benchmark, data)):
        user.inform(f"The published files contain the images, about {size / 1e9:.2f} GB.")
        if size > ASK_BYTES:
            user.confirm(benchmark.name)
    with user.show_progress(in_bytes=True) as report:
        files = get_files(benchmark, data, options.mirror, options.existing, report)
    read = read_all(files, data, options.selection)
    if options.existing and not (options.partial or any(options.selection)):
        _check_complete(benchmark, read, options.existing)
    read, missing = _list_missing_images(read, finder, options, user)
    _update_images(read, data, options, user)
    if missing:
        count, size = sum(map(len, missing.values())), _measure_images(missing)
        about = "of unknown size" if size is None else f"about {size / 1e9:.2f} GB"
        user.inform(f"{count:,} images are missing, {about}.")
        if options.existing is None and (size is None or size > ASK_BYTES):
            user.confirm(benchmark.name)
    for images, names in missing.items():
        _get_images(images, list(names), data, options, user)
    imported = import_published(
        read, options.images, data, skip_missing=options.selection.skip_missing
    )
    for difference in compare_counts(benchmark, imported):
        user.warn(difference)
    return imported


def get_published_files(benchmark: Benchmark, data: Path, options: Options, user: User) -> Path:
    """Download the published files of a benchmark without images, and return their folder. Nothing is imported.

    Raises ValueError or FileNotFoundError if a file cannot be downloaded.
    """
    with user.show_progress(in_bytes=True) as report:
        get_files(benchmark, data, options.mirror, options.existing, report)
    return data / SOURCES / benchmark.name


def _get_images(
    images: ImageSet, names: list[str], data: Path, options: Options, user: User
) -> None:
    """Download images. Raises FileNotFoundError if the server lacks some, unless their rows are dropped."""
    with user.show_progress(in_bytes=not images.url) as report:
        absent = get_images(images, names, data, options.mirror, options.existing, report)
    if absent and not options.selection.skip_missing:
        raise FileNotFoundError(
            f"{images.url}: the server does not have {len(absent):,} of {len(names):,} images; the first is "
            f"{absent[0]}. Name a folder that has them with --images, or drop their rows with --skip-missing."
        )


def _update_images(files: list[ReadFile], data: Path, options: Options, user: User) -> None:
    """Compare images that were downloaded by their own URL with the server's, if their file is another one than that
    which was imported before, or on request."""
    names: dict[ImageSet, dict[str, None]] = {}
    for read in files:
        if options.existing is None and (options.refresh or is_correction(read, data)):
            for images, of_file in read.list_images().items():
                names.setdefault(images, {}).update(dict.fromkeys(of_file))
    for images in names:
        with user.show_progress(in_bytes=False) as report:
            absent = update_images(images, [*names[images]], data, options.mirror, report)
        if absent:
            user.warn(
                f"{images.name}: the server no longer has {len(absent):,} images, which stay; the first is {absent[0]}."
            )


def _check_complete(benchmark: Benchmark, files: list[ReadFile], existing: Path) -> None:
    """Raise ValueError if a config has fewer rows than were published. Configs whose file is not there are left out."""
    counts = count_by_config(
        ("/".join(key), len(rows)) for read in files for key, rows in read.splits.items()
    )
    incomplete = [
        f"{benchmark.name}/{config}: {count:,} of {expected:,} rows"
        for config, expected in benchmark.rows.items()
        if 0 < (count := sum_counts(counts, config)) < expected
    ]
    if incomplete:
        raise ValueError(
            f"{existing}: not all of {benchmark.name}. Nothing was imported; --partial imports it as it is.\n"
            + "\n".join(incomplete)
        )


def _measure_files_with_images(benchmark: Benchmark, data: Path) -> int:
    """Return the bytes of those pinned files that contain images, estimated from mean sizes; 0 if all are there."""
    files, folder = benchmark.source.files, data / SOURCES / benchmark.name
    sets = benchmark.files.values()
    # An archive of a benchmark with separate images contains only its annotations.
    contain_images = any(images.columns for images in sets) or (
        any(file.makes for file in files) and not all(images.is_separate for images in sets)
    )
    are_complete = all(check_file(file, folder) == "complete" for file in files)
    return benchmark.image_bytes if contain_images and not are_complete else 0


def _measure_images(missing: dict[ImageSet, dict[str, None]]) -> int | None:
    """Return the bytes to download, estimated from mean sizes; None if the size of an archive is unknown."""
    sizes = [
        len(names) * images.bytes_per_image
        if images.url
        else DataSource("", files=images.archives).size
        for images, names in missing.items()
    ]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _list_missing_images(
    files: list[ReadFile], finder: ImageFinder, options: Options, user: User
) -> tuple[list[ReadFile], dict[ImageSet, dict[str, None]]]:
    """Return the files to import, and the names of the images to download: those that are missing or outdated.

    A file whose missing images must be downloaded manually is left out, unless their rows are dropped. Raises
    ValueError if no file is left. Images that come with the files are not missing.
    """
    usable: list[ReadFile] = []
    missing: dict[ImageSet, dict[str, None]] = {}
    reason = ""
    for read in files:
        absent = {
            images: [name for name in names if is_outdated or finder.find(images, name) is None]
            for images, names in read.list_images().items()
            for is_outdated in [are_outdated(images, finder.output, options.existing)]
            if images.is_separate
        }
        manual = next(
            (images for images, names in absent.items() if names and images.is_manual), None
        )
        if manual and not options.selection.skip_missing:
            reason = f"{explain_manual_download(manual)} Name their folder with --images."
            user.warn(f"{read.counts.file}: left out. {reason}")
            continue
        usable.append(read)
        for images, names in absent.items():
            if names and not images.is_manual:
                missing.setdefault(images, {}).update(dict.fromkeys(names))
    if reason and not usable:
        raise ValueError(reason)
    return usable, missing
