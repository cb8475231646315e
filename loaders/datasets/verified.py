"""Compare the files of a dataset folder with their recorded SHA-256, once.

The cache folder remembers which files were equal to their hash, with their size and times, so a file is hashed again
only after it has been written again. The time of the last change of status (ctime) detects writes that restore the
modification time. All configs share the image files, so their list is read again only if a file in the folder of the
images has been written.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from compeval.base.files.atomic import write_json
from compeval.base.files.cache_folder import cache_folder
from compeval.base.files.hashes import hash_file
from compeval.base.files.untrusted import resolve_below, safe_name
from compeval.base.storage import parquet
from compeval.base.storage.crops import IMAGES
from compeval.base.storage.dataset import ROWS_PER_GROUP
from compeval.loaders.datasets.image_sources import find_image_columns

State = tuple[str, int, int, int]
"""Name, size, time of modification and time of the last change of status of a file."""


def verify_files(folder: Path, stats: dict[str, Any], names: Iterable[str]) -> None:
    """Compare the parquet files ``names`` of a dataset folder with the hashes in its stats.json.

    Raises ValueError, which names the first file that differs.
    """
    with _open_states(folder) as verified_states:
        for name in names:
            if _verify(
                folder / name, stats["files"][name]["sha256"], "stats.json", name, verified_states
            ):
                try:
                    _check_crop_ids(folder / name)
                except ValueError:
                    del verified_states[name]
                    raise


def _check_crop_ids(path: Path) -> None:
    """Raise ValueError if two rows of a file have the same crop id and store different images.

    A crop is encoded once, for all rows with its id.
    """
    schema = parquet.read_schema(path)
    for column in find_image_columns(schema):
        name = column.replace("image", "crop_id")
        if column == "image_path" or name not in schema.names:
            continue
        first: dict[str, bytes] = {}
        for batch in parquet.read_batches(path, ROWS_PER_GROUP, [name, column]):
            files = batch.column(column).field("bytes")
            for crop_id, file in zip(batch.column(name).to_pylist(), files, strict=True):
                if file.is_valid:
                    digest = hashlib.blake2b(file.as_buffer(), digest_size=16).digest()
                    if first.setdefault(crop_id, digest) != digest:
                        raise ValueError(
                            f"{path}: rows with the {name} {crop_id!r} have different images. Equal ids mean equal "
                            "pixels: build the dataset again."
                        )


def verify_images(folder: Path, stats: dict[str, Any]) -> None:
    """Compare all image files of a dataset folder with their lists, and the lists with the hashes in its stats.json.

    Raises ValueError, which names the first file that differs.
    """
    verified = _VERIFIED.get()
    images = tuple(stats.get("images", {}).items())
    if not images or (verified is not None and (folder, images) in verified):
        return
    folders = sorted({resolve_below(folder, name).parent for name, _ in images})
    _verify_images(folder, images, tuple(map(_read_states, folders)))
    if verified is not None:
        verified.add((folder, images))


@contextmanager
def verify_images_once() -> Iterator[None]:
    """Verify the images of a dataset for its first task only: their files are many, and all tasks share them."""
    token = _VERIFIED.set(set())
    try:
        yield
    finally:
        _VERIFIED.reset(token)


_VERIFIED: ContextVar[set[Any] | None] = ContextVar("verified", default=None)
"""Folders and lists of images that were verified within ``verify_images_once``; None outside of it."""


def _read_states(folder: Path) -> frozenset[State]:
    """Return the name, size and times of all files of a folder; nothing if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            states = ((entry.name, entry.stat()) for entry in entries)
            return frozenset(
                (name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in states
            )
    except OSError:  # reported when the list is read
        return frozenset()


@lru_cache(maxsize=100)
def _verify_images(
    folder: Path, lists: tuple[tuple[str, str], ...], states: tuple[frozenset[State], ...]
) -> None:
    """Compare the image files of a dataset folder with their lists, given the paths and hashes of these lists.

    ``states`` are those of all files in the folders of the lists: as long as they stay the same, the result does.
    """
    with _open_states(folder / IMAGES) as verified_states:
        for name, sha256 in lists:
            hashes = resolve_below(folder, name)
            _verify(hashes, sha256, "stats.json", name, verified_states)
            for image, image_sha256 in _read_hashes(hashes):
                _verify(image, image_sha256, name, str(image.relative_to(folder)), verified_states)


@contextmanager
def _open_states(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the states of the files that were equal to their hash before; new ones are added."""
    memory = (
        cache_folder()
        / "verified"
        / f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.json"
    )
    try:
        stored = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        stored = None
    verified_states = dict(stored) if isinstance(stored, dict) else {}
    try:
        yield verified_states
    finally:  # also after a file that differs, so that the files before it are not hashed again
        if verified_states != stored:
            with suppress(OSError):  # a cache folder that is not writable
                write_json(memory, verified_states)


def _read_hashes(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the image files of a list in the format of ``sha256sum``, and their hashes.

    Raises ValueError, which names the list, if it is not in UTF-8 or a name is unsafe.
    """
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            sha256, _, name = line.partition("  ")
            yield path.parent / safe_name(name), sha256
    except ValueError as error:
        raise ValueError(f"{path}: not a list of hashes ({error}). {_REMEDY}") from None


def _verify(
    path: Path, sha256: str, origin: str, name: str, verified_states: dict[str, str]
) -> bool:
    """Raise ValueError if the hash of a file differs, unless it was equal before and the file is not newer.

    Returns True if the file was read. ``origin`` is the file that contains the expected hash.
    """
    try:
        status = path.stat()
        state = f"{sha256} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        if verified_states.get(name) == state:
            return False
        digest = hash_file(path)
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read ({error.strerror}), but {origin} lists it. {_REMEDY}"
        ) from None
    if digest != sha256:
        raise ValueError(f"{path}: SHA-256 {digest}, {sha256} expected ({origin}). {_REMEDY}")
    verified_states[name] = state
    return True


_REMEDY = (
    "The file has changed since the dataset was built. Restore it with `dvc checkout --force`, build it again with "
    "`dvc repro`, or delete and download it again."
)
