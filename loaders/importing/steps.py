"""All steps of ``compeval get``: download the files, read them, download the missing images, and write the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loaders.importing.get import (
    ProgressCallback,
    find_missing_images,
    get_files,
    get_images,
    leave_out_manual,
    measure_download,
    measure_tables,
)
from loaders.importing.importing import ImportedFile, ReadFile, compare_counts, import_published, read_all
from loaders.published.declaration import Benchmark
from loaders.published.image_sets import ImageSet

ASK_BYTES = 1_000_000_000
"""A larger download needs a confirmation."""


class User(Protocol):
    """The user, who is informed and asked."""

    def inform(self, text: str) -> None: ...

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
    skip_missing: bool = False
    repair: bool = False


def get_benchmark(benchmark: Benchmark, data: Path, options: Options, user: User) -> list[ImportedFile]:
    """Download a benchmark with the images that its rows use, and write its dataset to the data folder.

    Raises ValueError or FileNotFoundError if a file or an image cannot be downloaded or read.
    """
    if options.images is not None and not options.images.is_dir():
        raise FileNotFoundError(f"{options.images}: no such image folder.")
    if options.existing is None and (size := measure_tables(benchmark, data)):
        user.inform(f"The published files contain the images, about {size / 1e9:.2f} GB.")
        if size > ASK_BYTES:
            user.confirm(benchmark.name)
    with user.show_progress(in_bytes=True) as report:
        files = get_files(benchmark, data, mirror=options.mirror, existing=options.existing, report=report)
    read = read_all(files, data, repair=options.repair, skip_missing=options.skip_missing)
    read, missing = _leave_out_manual(read, data, options, user)
    if missing:
        count, size = sum(map(len, missing.values())), measure_download(missing)
        about = "of unknown size" if size is None else f"about {size / 1e9:.2f} GB"
        user.inform(f"{count:,} images are missing, {about}.")
        if options.existing is None and (size is None or size > ASK_BYTES):
            user.confirm(benchmark.name)
    _get_missing(missing, data, options, user)
    imported = import_published(read, options.images, data, skip_missing=options.skip_missing)
    for difference in compare_counts(benchmark, imported):
        user.inform(difference)
    return imported


def _leave_out_manual(
    read: list[ReadFile], data: Path, options: Options, user: User
) -> tuple[list[ReadFile], dict[ImageSet, list[str]]]:
    """Return the files to import and the images to download, without those that have to be downloaded manually."""
    missing = find_missing_images(read, data, options.images)
    if missing and not options.skip_missing:
        read, left_out = leave_out_manual(read, missing)
        for message in left_out:
            user.inform(message)
        missing = find_missing_images(read, data, options.images) if left_out else missing
    return read, {image_set: names for image_set, names in missing.items() if not image_set.is_manual}


def _get_missing(missing: Mapping[ImageSet, Sequence[str]], data: Path, options: Options, user: User) -> None:
    """Download the missing images. Raises FileNotFoundError if the server lacks one, unless its rows are dropped."""
    for image_set, names in missing.items():
        with user.show_progress(in_bytes=not image_set.url) as report:
            absent = get_images(image_set, names, data, mirror=options.mirror, existing=options.existing, report=report)
        if absent and not options.skip_missing:
            raise FileNotFoundError(
                f"{image_set.url}: the server does not have {len(absent):,} of {len(names):,} images; the first is "
                f"{absent[0]}. Name a folder that has them with --images, or drop their rows with --skip-missing."
            )
