"""Unpack archives into one folder and nowhere else.

Refused before anything is written: a member whose path leaves the folder, and links and devices of any kind, which no
published dataset needs. Only the bytes of a member are copied, without its owner and mode: ``tarfile``'s ``filter``,
which allows links, is missing in Python before 3.11.4.
"""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, NamedTuple

Report = Callable[[int, int | None], None]
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError)


class Member(NamedTuple):
    name: str
    size: int
    is_file: bool
    is_folder: bool
    open: Callable[[], IO[bytes] | None]


def unpack(archive: Path, folder: Path, report: Report = lambda done, total: None) -> dict[str, int]:
    """Unpack a zip or tar into ``folder`` and return path -> size of its files.

    ValueError for an archive that is broken, unsafe or of another kind, and if the disk is too small.
    """
    try:
        with _members(archive) as members:
            for member in members:
                _check(archive, member)
            files = {str(PurePosixPath(member.name)): member for member in members if member.is_file}
            total, free = sum(member.size for member in files.values()), shutil.disk_usage(folder).free
            if total > free:
                raise ValueError(f"{archive.name}: it unpacks to {total:,} bytes, {free:,} are free in {folder}.")
            done = 0
            for name, member in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                content = member.open()
                assert content is not None, "a regular file"
                with content, (folder / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
                report(done := done + member.size, total)
            return {name: member.size for name, member in files.items()}
    except BROKEN as error:
        raise ValueError(f"{archive.name}: the archive is broken ({error}). Delete it and download it again.") from None


@contextmanager
def _members(archive: Path) -> Iterator[list[Member]]:
    if archive.name.endswith(TARS):
        with tarfile.open(archive) as tar:
            yield [Member(m.name, m.size, m.isreg(), m.isdir(), lambda m=m: tar.extractfile(m)) for m in tar]
    elif archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            yield [_zip_member(opened, info) for info in opened.infolist()]
    else:
        raise ValueError(f"{archive.name}: neither a zip nor a tar.")


def _zip_member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    is_plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
    is_folder = info.is_dir()
    return Member(
        info.filename, info.file_size, is_plain and not is_folder, is_plain and is_folder, lambda: opened.open(info)
    )


def _check(archive: Path, member: Member) -> None:
    path, windows = PurePosixPath(member.name), PureWindowsPath(member.name)
    if path.is_absolute() or windows.drive or windows.root or ".." in windows.parts:
        raise ValueError(f"{archive.name}: its member {member.name!r} leaves the folder. The archive is refused.")
    if not (member.is_file or member.is_folder):
        raise ValueError(f"{archive.name}: its member {member.name!r} is a link or a device. The archive is refused.")
