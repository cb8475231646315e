import hashlib
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from compeval.base.sources.unpack import unpack


def write_zip(path: Path, members: dict[str, bytes], link: str | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        if link:
            member = zipfile.ZipInfo(link)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, "/etc/passwd")
    return path


def write_tar(path: Path, *members: tuple[str, bytes, str]) -> Path:
    """Write a tar; a member is (name, type, target of the link)."""
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            member.size = 3 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"abc"))
    return path


def hash_texts(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def test_zip_and_tar_are_unpacked(tmp_path: Path):
    archive = write_zip(
        tmp_path / "a.zip",
        {"images/1.jpg": b"one", "images/sub/2.jpg": b"four", "images/empty/": b""},
    )
    assert unpack(archive, tmp_path) == hash_texts(
        {"images/1.jpg": b"one", "images/sub/2.jpg": b"four"}
    )
    assert (tmp_path / "images" / "sub" / "2.jpg").read_bytes() == b"four"
    reports: list[tuple[str, int, int | None]] = []
    tar = write_tar(tmp_path / "a.tar.gz", ("t", tarfile.DIRTYPE, ""), ("t/1", tarfile.REGTYPE, ""))
    assert unpack(tar, tmp_path, lambda *counts: reports.append(counts), step="tar") == hash_texts(
        {"t/1": b"abc"}
    )
    assert ((tmp_path / "t" / "1").read_bytes(), reports) == (b"abc", [("tar", 3, 3)])


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "..\\out", "C:\\out", "a/.."])
def test_a_path_outside_the_folder_is_rejected(tmp_path: Path, name: str):
    (tmp_path / "in").mkdir()
    archives = (
        write_zip(tmp_path / "a.zip", {"fine": b"x", name: b"x"}),
        write_tar(
            tmp_path / "a.tar.gz", ("fine", tarfile.REGTYPE, ""), (name, tarfile.REGTYPE, "")
        ),
    )
    for archive in archives:
        with pytest.raises(
            ValueError, match=rf"{archive.name}: the path '.*' is outside the folder\. Nothing"
        ):
            unpack(archive, tmp_path / "in")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar.gz", "a.zip", "in"]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_devices_in_a_tar_are_rejected(tmp_path: Path, kind: bytes):
    (tmp_path / "in").mkdir()
    archive = write_tar(tmp_path / "a.tar.gz", ("fine", tarfile.REGTYPE, ""), ("bad", kind, "fine"))
    with pytest.raises(ValueError, match=r"'bad' is a link or a device"):
        unpack(archive, tmp_path / "in")
    assert list((tmp_path / "in").iterdir()) == []


def test_a_link_in_a_zip_is_rejected(tmp_path: Path):
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match=r"a\.zip: 'bad' is a link"):
        unpack(write_zip(tmp_path / "a.zip", {"fine": b"x"}, link="bad"), tmp_path / "in")
    assert list((tmp_path / "in").iterdir()) == []


def test_a_damaged_archive_and_an_unknown_suffix(tmp_path: Path):
    (tmp_path / "a.zip").write_bytes(b"PK and no more")
    (tmp_path / "a.rar").touch()
    with pytest.raises(ValueError, match=r"a\.zip: the archive is damaged"):
        unpack(tmp_path / "a.zip", tmp_path)
    with pytest.raises(ValueError, match=r"a\.rar: neither a zip nor a tar"):
        unpack(tmp_path / "a.rar", tmp_path)


@pytest.mark.parametrize(
    "names", [("a/1.jpg", "a/1.jpg"), ("a/1.jpg", "./a/1.jpg"), ("a/1.jpg", "a//1.jpg")]
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_path_are_an_error(tmp_path: Path, names: tuple[str, str]):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, name)
    (tmp_path / "in").mkdir()
    with pytest.raises(
        ValueError, match=r"a\.zip: '.*1\.jpg' is there twice\. Nothing was unpacked"
    ):
        unpack(tmp_path / "a.zip", tmp_path / "in")
    assert not list((tmp_path / "in").iterdir())
