"""Decisions of ``compeval get``: how much is to be downloaded, whether the files are complete, and which images are
missing or may have changed. compeval/cli/benchmarks.py has the steps in order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compeval.base.files.untrusted import SOURCES
from compeval.base.sources import DataSource
from compeval.base.sources.obtain import check_file
from compeval.loaders.importing.get import are_outdated, explain_manual_download
from compeval.loaders.importing.images import ImageFinder
from compeval.loaders.importing.write_dataset import (
    ReadFile,
    count_by_config,
    is_correction,
    sum_counts,
)
from compeval.loaders.published import Benchmark, ImageSet

ASK_BYTES = 1_000_000_000
"""A larger download needs a confirmation."""


@dataclass
class ImagePlan:
    """The files that can be imported, and the images that have to be downloaded for them."""

    files: list[ReadFile] = field(default_factory=list)
    missing: dict[ImageSet, list[str]] = field(default_factory=dict)
    """Names of the images that are missing or outdated, each once, by their source."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Files whose missing images must be downloaded manually, with instructions."""

    @property
    def image_count(self) -> int:
        """Number of images to download."""
        return sum(len(names) for names in self.missing.values())

    @property
    def size(self) -> int | None:
        """Bytes to download, estimated from mean sizes; None if the size of an archive is unknown."""
        total = 0
        for images, names in self.missing.items():
            size = DataSource(files=images.archives).size
            if images.url:
                size = len(names) * images.bytes_per_image
            if size is None:
                return None
            total += size
        return total


def needs_confirmation(size: int | None) -> bool:
    """Return True if a download of ``size`` bytes is large, or if its size is unknown."""
    return size is None or size > ASK_BYTES


def measure_files_with_images(benchmark: Benchmark, data: Path) -> int:
    """Return the bytes of those pinned files that contain images, estimated from mean sizes; 0 if all are there."""
    files = benchmark.source.files
    folder = data / SOURCES / benchmark.name
    sets = benchmark.files.values()
    # An archive of a benchmark with separate images contains only its annotations.
    contain_images = any(images.columns for images in sets) or (
        any(file.makes for file in files) and not all(images.is_separate for images in sets)
    )
    are_complete = all(check_file(file, folder) == "complete" for file in files)
    return benchmark.image_bytes if contain_images and not are_complete else 0


def check_complete(benchmark: Benchmark, files: Iterable[ReadFile], existing: Path) -> None:
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


def plan_images(
    files: Iterable[ReadFile], finder: ImageFinder, existing: Path | None, *, skip_missing: bool
) -> ImagePlan:
    """Return which files can be imported, and which images have to be downloaded first.

    ``existing`` is a folder with the archives of the images, or None. A file whose missing images must be downloaded
    manually is left out, unless ``skip_missing`` drops their rows. Images that come with the files are not missing.
    """
    plan = ImagePlan()
    missing: dict[ImageSet, dict[str, None]] = {}
    for read in files:
        absent = _list_absent_images(read, finder, existing)
        manual = next((images for images in absent if images.is_manual), None)
        if manual and not skip_missing:
            instructions = f"{explain_manual_download(manual)} Name their folder with --images."
            plan.left_out[read.counts.file] = instructions
            continue
        plan.files.append(read)
        for images, names in absent.items():
            if not images.is_manual:
                missing.setdefault(images, {}).update(dict.fromkeys(names))
    plan.missing = {images: list(names) for images, names in missing.items()}
    return plan


def _list_absent_images(
    read: ReadFile, finder: ImageFinder, existing: Path | None
) -> dict[ImageSet, list[str]]:
    """Return the names of the missing or outdated images of a file, by their source."""
    absent: dict[ImageSet, list[str]] = {}
    for images, names in read.list_images().items():
        if not images.is_separate:
            continue
        if not are_outdated(images, finder.output, existing):
            names = [name for name in names if finder.find(images, name) is None]
        if names:
            absent[images] = names
    return absent


def list_images_to_compare(
    files: Sequence[ReadFile], data: Path, *, refresh: bool
) -> dict[ImageSet, list[str]]:
    """Return the names of the images whose version on the server is asked for, by their source: those of files that are
    others than the ones that were imported before; with ``refresh``, those of all files."""
    names: dict[ImageSet, dict[str, None]] = {}
    for read in files:
        if refresh or is_correction(read, data):
            for images, of_file in read.list_images().items():
                names.setdefault(images, {}).update(dict.fromkeys(of_file))
    return {images: list(of_images) for images, of_images in names.items()}
