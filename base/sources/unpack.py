"""Unpack zip and tar archives safely.

An archive is rejected before anything is written if it contains a path outside the target folder, a link or a device.
Only the contents of files are unpacked, without owner and mode. ``tarfile``'s own ``filter`` allows links, and Python
before 3.11.4 does not have it.
"""

import hashlib
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, NamedTuple

from compeval.base.files.untrusted import ARCHIVE_ERRORS, open_archive
from compeval.base.progress import ProgressCallback, no_progress

BLOCK_BYTES = 1 << 20
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


class Member(NamedTuple):
    """A file or folder in an archive."""

    name: str
    size: int
    is_file: bool
    is_folder: bool
    open: Callable[[], IO[bytes] | None]


def unpack(
    archive: Path, folder: Path, report: ProgressCallback = no_progress, step: str = ""
) -> dict[str, str]:
    """Unpack a zip or tar into ``folder`` and return path -> SHA-256 of its files. ``report`` is called with ``step``.

    Raises ValueError if the archive is damaged, unsafe or neither zip nor tar, and OSError without enough disk space.
    """
    try:
        with _members(archive) as members:
            for member in members:
                _check(archive, member)
            files = _name_files(archive, members)
            total = sum(member.size for member in files.values())
            free = shutil.disk_usage(folder).free
            if total > free:
                raise OSError(
                    f"{archive.name}: {total:,} bytes needed, {free:,} bytes free in {folder}. Free space and run the "
                    "same command again."
                )
            done = 0
            hashes: dict[str, str] = {}
            for name, member in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                digest = hashlib.sha256()
                with (folder / name).open("wb") as file:
                    for block in _read_blocks(member):
                        file.write(block)
                        digest.update(block)
                hashes[name] = digest.hexdigest()
                done += member.size
                report(step, done, total)
            return hashes
    except ARCHIVE_ERRORS as error:
        raise ValueError(
            f"{archive.name}: the archive is damaged ({error}). Delete it and download it again."
        ) from None


def _name_files(archive: Path, members: Iterable[Member]) -> dict[str, Member]:
    """Return the files among the members by path. Raises ValueError if two have the same path."""
    files: dict[str, Member] = {}
    for member in members:
        if not member.is_file:
            continue
        name = str(PurePosixPath(member.name))
        if name in files:
            raise ValueError(
                f"{archive.name}: {member.name!r} is there twice. Nothing was unpacked."
            )
        files[name] = member
    return files


@contextmanager
def _members(archive: Path) -> Iterator[list[Member]]:
    if archive.name.endswith(TARS):
        with open_archive(tarfile.open, archive) as tar:
            yield [
                Member(m.name, m.size, m.isreg(), m.isdir(), lambda m=m: tar.extractfile(m))
                for m in tar
            ]
    elif archive.suffix == ".zip":
        with open_archive(zipfile.ZipFile, archive) as zip_file:
            yield [_make_zip_member(zip_file, info) for info in zip_file.infolist()]
    else:
        raise ValueError(f"{archive.name}: neither a zip nor a tar file.")


def _read_blocks(member: Member) -> Iterator[bytes]:
    """Yield the content of a file. An error in reading is not confused with one in writing, such as a full disk."""
    try:
        content = member.open()
        assert content is not None, "a regular file"
        with content:
            while block := content.read(BLOCK_BYTES):
                yield block
    except OSError as error:
        raise zipfile.BadZipFile(str(error)) from None


def _make_zip_member(zip_file: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    is_folder = info.is_dir()
    # 0: made on a system whose files have no type.
    is_plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
    return Member(
        info.filename,
        info.file_size,
        is_plain and not is_folder,
        is_plain and is_folder,
        lambda: zip_file.open(info),
    )


def _check(archive: Path, member: Member) -> None:
    """Raise ValueError if a member is unsafe to unpack."""
    path = PurePosixPath(member.name)
    windows = PureWindowsPath(member.name)
    if (
        not path.parts
        or path.is_absolute()
        or windows.drive
        or windows.root
        or ".." in windows.parts
    ):
        raise ValueError(
            f"{archive.name}: the path {member.name!r} is outside the folder. Nothing was unpacked."
        )
    if not (member.is_file or member.is_folder):
        raise ValueError(
            f"{archive.name}: {member.name!r} is a link or a device. Nothing was unpacked."
        )
