import gzip
import io
import pickle
import tarfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from compeval.base.readers import shards


def write(path: Path, members: Sequence[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (2, 1), 7).save(buffer, "PNG")
    return buffer.getvalue()


def read(path: Path, *suffixes: str) -> list[shards.Sample]:
    return list(shards.read_samples(path, suffixes, Counter()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three members of 1,024 bytes each (a header and one block), followed by the end of the archive."""
    return write(tmp_path / "00000.tar", [(f"{number}.txt", b"a cup") for number in range(3)])


def test_members_of_one_key_are_a_sample_and_only_the_chosen_suffixes_are_read(tmp_path: Path):
    path = write(
        tmp_path / "a.tar",
        [("x/1.JPG", b"pixels"), ("x/1.txt", b"a cup"), ("x/1.b.txt", b"-"), ("2.txt", b"")],
    )
    first, second = read(path, "txt")
    assert (first.key, second.key, second.members["txt"].content) == ("x/1", "2", b"")
    image, text = first.members["jpg"], first.members["txt"]
    assert (image.content, text.content, first.members["b.txt"].content) == (None, b"a cup", b"-")
    assert path.read_bytes()[image.start : image.start + image.size] == b"pixels"
    assert list(first.members) == ["jpg", "txt", "b.txt"]


def test_a_gzipped_shard_is_the_same(file: Path, tmp_path: Path):
    zipped = tmp_path / "00000.tar.gz"
    zipped.write_bytes(gzip.compress(file.read_bytes()))
    assert read(zipped, "txt") == read(file, "txt")
    zipped.write_bytes(zipped.read_bytes()[:-20])
    with pytest.raises(
        ValueError, match=r"00000\.tar\.gz: the tar file is cut off or damaged \(.*\)\. Delete it"
    ):
        read(zipped)


@pytest.mark.parametrize("kept", [0, 300, 700, 1024, 1100, 2048, 3072])
@pytest.mark.parametrize("suffixes", [(), ("txt",)])
def test_a_shard_that_is_cut_off_anywhere_is_an_error(
    file: Path, kept: int, suffixes: tuple[str, ...]
):
    """tarfile raises no error between two members (1,024, 2,048, 3,072) and in a header (1,100)."""
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(
        ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"
    ):
        read(file, *suffixes)


def test_a_damaged_header_is_an_error(file: Path):
    whole = file.read_bytes()
    file.write_bytes(whole[:1024] + b"x" * 512 + whole[1536:])
    with pytest.raises(ValueError, match=r"00000\.tar: the tar file is cut off or damaged"):
        read(file)


def test_nothing_is_unpickled(tmp_path: Path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path / "harm").touch, ()

    members = [
        (f"1.{suffix}", pickle.dumps(Harmful()))
        for suffix in ("pyd", "pth", "pickle", "txt", "jpg")
    ]
    path = write(tmp_path / "a.tar", members)
    skipped = Counter[str]()
    assert len(read(path, "pyd", "pth", "pickle")) == 1
    assert list(shards.read_decoded_pairs(path, skipped)) == []
    assert skipped == {"with a caption that is not in UTF-8": 1}
    assert not (tmp_path / "harm").exists()


def test_a_bad_sample_is_skipped_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture):
    members = [
        *(("good.png", png()), ("good.txt", b" a cup\n")),
        *(("twice.png", png()), ("twice.txt", b"a hat"), ("twice.txt", b"a bat")),
        *(("text.txt", b"a cup"), ("image.png", png()), ("blank.png", png()), ("blank.txt", b" ")),
        *(
            ("bytes.png", png()),
            ("bytes.txt", b"caf\xe9"),
            ("cut.png", png()[:40]),
            ("cut.txt", b"a cup"),
        ),
    ]
    path, skipped = write(tmp_path / "a.tar", members), Counter[str]()
    (good, image), (twice, _) = shards.read_decoded_pairs(path, skipped)
    assert (good.key, good.caption, image.getpixel((1, 0)), twice.caption) == (
        "good",
        "a cup",
        (7, 7, 7),
        "a hat",
    )
    shards.print_skipped(path, skipped)
    assert capsys.readouterr().err == (
        f"{path}: samples skipped: 1 with a caption that is not in UTF-8, 1 with a second member of the same name, "
        "1 with an image that cannot be decoded, 2 without a caption, 1 without an image.\n"
    )


def test_nothing_is_printed_if_nothing_was_skipped(file: Path, capsys: pytest.CaptureFixture):
    shards.print_skipped(file, Counter())
    assert capsys.readouterr().err == ""


def test_archives_that_were_joined_are_read_to_the_last(file: Path, tmp_path: Path):
    second = write(tmp_path / "b.tar", [("3.txt", b"a hat")])
    joined = tmp_path / "joined.tar"
    joined.write_bytes(file.read_bytes() + second.read_bytes())
    samples = read(joined, "txt")
    assert [sample.key for sample in samples] == ["0", "1", "2", "3"]
    member = samples[-1].members["txt"]
    assert (
        joined.read_bytes()[member.start : member.start + member.size] == member.content == b"a hat"
    )
    zipped = tmp_path / "joined.tar.gz"
    zipped.write_bytes(gzip.compress(file.read_bytes()) + gzip.compress(second.read_bytes()))
    assert read(zipped, "txt") == samples
    joined.write_bytes(file.read_bytes() + b"not an archive")
    with pytest.raises(ValueError, match=r"joined\.tar: the tar file is cut off or damaged"):
        read(joined, "txt")


def write_links(path: Path) -> Path:
    """Write a sample, a second one whose image is a hard link to that of the first, and a dangling link."""
    write(path, [("1.png", png()), ("1.txt", b"a cup"), ("2.txt", b"a hat"), ("3.txt", b"-")])
    with tarfile.open(path, "a") as archive:
        for name, target in (("4.png", "1.png"), ("5.png", "0.png")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.LNKTYPE, target
            archive.addfile(member)
            text = tarfile.TarInfo(name.replace("png", "txt"))
            text.size = 1
            archive.addfile(text, io.BytesIO(b"x"))
    return path


def test_a_hard_link_is_the_file_that_it_links_to(tmp_path: Path):
    skipped = Counter[str]()
    path = write_links(tmp_path / "a.tar")
    pairs = list(shards.read_pairs(path, skipped))
    assert [(pair.key, pair.caption) for pair in pairs] == [("1", "a cup"), ("4", "x")]
    assert pairs[0].image == pairs[1].image
    assert pairs[0].image.content == png()
    assert skipped == {
        "with a hard link to a file that is not in the shard": 1,
        "without an image": 3,
    }
    located = list(shards.read_pairs(path, Counter(), read_images=False))
    assert [pair.image.start for pair in located] == [512, 512]
    zipped = tmp_path / "a.tar.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match=r"a\.tar\.gz: hard links .* Decompress it with gunzip"):
        list(shards.read_pairs(zipped, Counter()))


def test_the_files_that_macos_writes_next_to_others_are_no_samples(tmp_path: Path):
    members = [
        ("x/._1.png", b"\0\5"),
        ("x/._1.txt", b"\0\5"),
        ("x/1.png", png()),
        ("x/1.txt", b"a cup"),
    ]
    skipped = Counter[str]()
    pairs = list(shards.read_pairs(write(tmp_path / "a.tar", members), skipped))
    assert [pair.key for pair in pairs] == ["x/1"]
    assert not skipped
