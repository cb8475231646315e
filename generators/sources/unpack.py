"""Archives, unpacked into one folder and nowhere else.

Refused before anything is written: a member whose path leaves the folder, and links and devices of any kind, which no
published dataset needs.
"""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

Report = Callable[[int, int | None], None]
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError)


def unpack(archive: Path, folder: Path, report: Report = lambda done, total: None) -> dict[str, int]:
    """Unpack a zip or tar into ``folder``; gives path -> size of its files.

    ValueError for an archive that is broken, unsafe or of another kind, and where the space does not suffice.
    """
    try:
        if archive.name.endswith(TARS):
            return _unpack_tar(archive, folder, report)
        if archive.suffix == ".zip":
            return _unpack_zip(archive, folder, report)
    except BROKEN as error:
        raise ValueError(f"{archive.name}: the archive is broken ({error}). Delete it and get it again.") from None
    raise ValueError(f"{archive.name}: neither a zip nor a tar.")


def _unpack_zip(archive: Path, folder: Path, report: Report) -> dict[str, int]:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            _check(archive, member.filename, plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
        files = [member for member in members if not member.is_dir()]
        total = _check_space(archive, folder, sum(member.file_size for member in files))
        done = 0
        for member in files:
            opened.extract(member, folder)
            report(done := done + member.file_size, total)
    return {str(PurePosixPath(member.filename)): member.file_size for member in files}


def _unpack_tar(archive: Path, folder: Path, report: Report) -> dict[str, int]:
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        for member in members:
            _check(archive, member.name, plain=member.isreg() or member.isdir())
        files = [member for member in members if member.isreg()]
        total = _check_space(archive, folder, sum(member.size for member in files))
        done = 0
        for member in files:
            _copy(opened, member, folder / member.name)
            report(done := done + member.size, total)
    return {str(PurePosixPath(member.name)): member.size for member in files}


def _copy(opened: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """A file's bytes alone, without owner and mode: what ``extract`` with a filter does from Python 3.11.4 on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = opened.extractfile(member)
    assert content is not None, "a regular file"
    with content, path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _check(archive: Path, name: str, *, plain: bool) -> None:
    path, windows = PurePosixPath(name), PureWindowsPath(name)
    if path.is_absolute() or windows.drive or windows.root or ".." in windows.parts:
        raise ValueError(f"{archive.name}: its member {name!r} leaves the folder. The archive is refused.")
    if not plain:
        raise ValueError(f"{archive.name}: its member {name!r} is a link or a device. The archive is refused.")


def _check_space(archive: Path, folder: Path, total: int) -> int:
    free = shutil.disk_usage(folder).free
    if total > free:
        raise ValueError(f"{archive.name}: it unpacks to {total:,} bytes, {free:,} are free in {folder}. Free some.")
    return total
