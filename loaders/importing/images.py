"""Find the images of published rows by name, and list those that are missing or may have changed."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from compeval.base.files.untrusted import SOURCES, find_file
from compeval.base.sources import DataSource
from compeval.base.sources.obtain import is_other_version
from compeval.base.storage.image_ids import ImageIds
from compeval.loaders.importing.read_published import ReadFile
from compeval.loaders.importing.row_counts import read_imported
from compeval.loaders.published import ImageSet

CACHED_PATHS = 10_000
"""Rows of one image usually follow each other."""


class ImageFinder:
    """Finds images in a folder of the user, or else among the shared images of a data folder."""

    def __init__(self, output: Path, folder: Path | None = None) -> None:
        """Search ``folder`` if it is given, and ``sources/<set>/`` in the data folder ``output``.

        Raises FileNotFoundError if there is no such folder.
        """
        if folder is not None and not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such image folder.")
        self.output = output
        self.folder = folder
        self.ids = ImageIds()
        """Ids of the images whose published rows state none."""
        self._cached_search = lru_cache(CACHED_PATHS)(self._search)

    def find(self, images: ImageSet, name: str) -> Path | None:
        """Return the path of an image, or None if it is missing."""
        try:
            return self._cached_search(images, name)
        except FileNotFoundError:  # not cached, so an image is found after its download
            return None

    def _search(self, images: ImageSet, name: str) -> Path:
        """Return the path of an image. Raises FileNotFoundError if it is missing."""
        if images.select is None:
            paths = map(find_file, self._list_candidates(images, name))
        else:
            select = images.select
            paths = (
                select(folder / subfolder, name)
                for folder in self._list_folders(images)
                for subfolder in ("", *images.folders)
            )
        path = next(filter(None, paths), None)
        if path is None:
            raise FileNotFoundError(name)
        return path

    def _list_folders(self, images: ImageSet) -> list[Path]:
        shared = self.output / SOURCES / images.name
        return [*([self.folder] if self.folder else []), *([shared] if shared.is_dir() else [])]

    def _list_candidates(self, images: ImageSet, name: str) -> list[Path]:
        """Return all possible paths of an image, which are never outside the folders.

        These are the full name, the name without one or more leading folders, and the file name in each subfolder in
        which images of the source are usually stored.
        """
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        suffixes = [Path(*parts[start:]) for start in range(len(parts))]
        suffixes += [Path(folder, part) for folder in images.folders for part in parts[-1:]]
        return [folder / suffix for folder in self._list_folders(images) for suffix in suffixes]

    def check_distinct(self, images: ImageSet, names: Collection[str]) -> None:
        """Raise ValueError if two published names are one file, because their folders are missing here."""
        if images.select is not None:
            return
        name_of: dict[Path, str] = {}
        for name in names:
            path = self.find(images, name)
            if (
                path
                and name_of.setdefault(path, name) != name
                and not _is_same_name(name, name_of[path])
            ):
                raise ValueError(
                    f"{name_of[path]} and {name} are two images, but both are found as {path}. Keep their folders "
                    "below the image folder."
                )

    def require(self, images: ImageSet, names: Collection[str]) -> None:
        """Raise FileNotFoundError if images are missing. The message names the first and counts all."""
        missing = [name for name in names if self.find(images, name) is None]
        if missing:
            searched = dict.fromkeys(
                str(path.parent) for path in self._list_candidates(images, missing[0])
            )
            raise FileNotFoundError(
                f"{missing[0]}: image not found in {', '.join(searched) or self.output / SOURCES / images.name}; "
                f"{len(missing):,} of {len(names):,} images are missing. Name their folder with --images, or drop "
                f"their rows with --skip-missing. {images.download_instructions or ''}".rstrip()
            )


def _is_same_name(name: str, other: str) -> bool:
    """Return True if one name is the other without leading folders."""
    parts = PurePosixPath(name).parts
    other_parts = PurePosixPath(other).parts
    shorter = min(len(parts), len(other_parts))
    return parts[-shorter:] == other_parts[-shorter:]


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
        absent: dict[ImageSet, Sequence[str]] = {}
        for images, names in read.images.items():
            if not images.is_separate:
                continue
            # All images of an outdated archive are replaced.
            if not _are_outdated(images, finder.output, existing):
                names = [name for name in names if finder.find(images, name) is None]
            if names:
                absent[images] = names
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


def _are_outdated(images: ImageSet, data: Path, existing: Path | None) -> bool:
    """Return True if images of the data folder were unpacked from another version of their archive than that which is
    registered, or which the folder ``existing`` contains."""
    archives = images.archives if existing or not images.url else ()
    folder = data / SOURCES / images.name
    return any(is_other_version(file, folder, existing=existing) for file in archives)


def explain_manual_download(images: ImageSet) -> str:
    instructions = images.download_instructions or ""
    return f"The images of {images.name} must be downloaded manually. {instructions}".strip()


def explain_absent(
    images: ImageSet, absent: Sequence[str], count: int, existing: Path | None
) -> str:
    """Return the message for images of ``count`` missing ones that the server, or else ``existing``, does not have."""
    if existing is None:
        return (
            f"{images.url}: the server does not have {len(absent):,} of {count:,} images; the first is {absent[0]}. "
            "Name a folder that has them with --images, or drop their rows with --skip-missing."
        )
    return (
        f"{existing}: no archive of {images.name}. {len(absent):,} images are missing; the first is {absent[0]}. Name "
        "their folder with --images, leave out --from to download them, or drop their rows with --skip-missing."
    )


def list_images_to_compare(
    files: Sequence[ReadFile], data: Path, *, refresh: bool
) -> dict[ImageSet, list[str]]:
    """Return the names of the images whose version on the server is asked for, by their source.

    These are the images of files that are others than the ones that were imported before; with ``refresh``, those of
    all files.
    """
    names: dict[ImageSet, dict[str, None]] = {}
    for read in files:
        earlier = read_imported(data / read.file.benchmark.name).get(read.counts.file)
        is_correction = earlier is not None and earlier["sha256"] != read.counts.sha256
        if refresh or is_correction:
            for images, of_file in read.images.items():
                names.setdefault(images, {}).update(dict.fromkeys(of_file))
    return {images: list(of_images) for images, of_images in names.items()}
