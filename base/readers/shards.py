"""Read webdataset shards: tar files in which the files ``KEY.jpg``, ``KEY.txt`` and so on form a sample.

The webdataset package groups the files into samples. Its decoders are not used, because they unpickle files with the
suffixes ``.pyd`` and ``.pth``. Here images are decoded by Pillow, and texts are decoded as UTF-8.

A damaged shard raises an error. A bad sample is skipped, and the reason is counted.
"""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from PIL import Image

from compeval.base.files.listing import is_hidden
from compeval.base.files.untrusted import decode_image
from compeval.base.texts import normalize_text

IMAGE_SUFFIXES = ("jpg", "jpeg", "png", "webp")


class Member(NamedTuple):
    """A file in a shard: the position of its bytes in an uncompressed shard, and the bytes if they were read."""

    start: int
    size: int
    content: bytes | None


class Sample(NamedTuple):
    """The files of one key, by lower-case suffix."""

    key: str
    members: dict[str, Member]


class Pair(NamedTuple):
    """An image and its caption."""

    key: str
    image: Member
    caption: str


def read_samples(path: Path, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[Sample]:
    """Yield the samples of a shard (``.tar`` or ``.tar.gz``) in file order.

    The files of a sample must be adjacent in the tar file. Only files with one of ``suffixes`` are read. Of archives
    that were joined (``cat a.tar b.tar``), all samples are read. A hard link is the file that it links to. Raises
    ValueError if the shard is damaged, possibly after readable samples were yielded, or if it is compressed and has
    hard links.
    """
    # Imported here because it loads PyTorch, which takes seconds.
    from webdataset.tariterators import group_by_keys

    def skip(_: Exception) -> bool:
        skipped["with a second member of the same name"] += 1
        return True

    try:
        for archive in _open_archives(path):
            for sample in group_by_keys(_members(path, archive, suffixes, skipped), handler=skip):
                members = {
                    suffix: member
                    for suffix, member in sample.items()
                    if isinstance(member, Member)
                }
                yield from _split_by_dots(Sample(sample["__key__"], members))
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: the tar file is cut off or damaged ({error}). Delete it and download it again, or run "
            "`dvc repro` if the pipeline wrote it."
        ) from None


def _split_by_dots(sample: Sample) -> Iterator[Sample]:
    """Yield the samples of a group whose keys have dots.

    webdataset ends a key at the first dot, so that ``a.1.jpg``, ``a.1.txt``, ``a.2.jpg`` and ``a.2.txt`` are one sample
    with the key ``a``. A file of another kind (``x.seg.png`` next to ``x.jpg`` and ``x.txt``) has no caption of its
    own.
    """
    by_key = defaultdict[str, dict[str, Member]](dict)
    for suffixes, member in sample.members.items():
        dotted, _, suffix = suffixes.rpartition(".")
        by_key[dotted][suffix] = member
    pairs = [
        key
        for key, members in by_key.items()
        if key and "txt" in members and members.keys() & {*IMAGE_SUFFIXES}
    ]
    if not pairs:
        yield sample
        return
    for dotted in ["", *pairs] if "" in by_key else list(by_key):
        yield Sample(f"{sample.key}.{dotted}" if dotted else sample.key, by_key[dotted])


def _open_archives(path: Path) -> Iterator[tarfile.TarFile]:
    """Yield the archives that a file consists of, usually one. Each has to be read before the next one is asked for."""
    with gzip.open(path) if _is_compressed(path) else path.open("rb") as file:
        while True:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                yield archive
            # tarfile stops without an error at a damaged header, or if the file ends between two members.
            file.seek(archive.offset)
            if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise tarfile.ReadError("the end-of-archive block is missing")
            # Blocks of zeros fill the archive up. tarfile stops at the first of them, whatever follows.
            while (block := file.read(tarfile.BLOCKSIZE)) == bytes(tarfile.BLOCKSIZE):
                pass
            if not block.strip(b"\0"):
                return
            file.seek(-len(block), os.SEEK_CUR)


def _is_compressed(path: Path) -> bool:
    return path.suffix == ".gz"


def _members(
    path: Path, archive: tarfile.TarFile, suffixes: Collection[str], skipped: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Yield the files of an archive in the format of ``group_by_keys``, without hidden ones (``._1.jpg`` of macOS)."""
    from webdataset.tariterators import base_plus_ext

    targets: dict[str, Member] | None = None
    for info in archive:
        if is_hidden(PurePosixPath(info.name)):
            continue
        _, suffix = base_plus_ext(info.name)
        is_read = bool(suffix) and suffix.lower().rpartition(".")[2] in suffixes
        member = Member(info.offset_data, info.size, None)
        if info.islnk():
            targets = _list_files(path) if targets is None else targets
            if info.linkname not in targets:
                skipped["with a hard link to a file that is not in the shard"] += 1
                continue
            member = targets[info.linkname]
        if info.isreg() or info.islnk():
            content = _read(archive, member) if is_read else None
            yield {
                "fname": info.name,
                "data": member._replace(content=content),
                "__url__": str(path),
            }
        archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  (keeps memory constant)


def _read(archive: tarfile.TarFile, member: Member) -> bytes:
    """Return the bytes of a member. Raises tarfile.ReadError if the file ends before them."""
    assert archive.fileobj is not None
    archive.fileobj.seek(member.start)
    content = archive.fileobj.read(member.size)
    if len(content) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    return content


def _list_files(path: Path) -> dict[str, Member]:
    """Return the regular files of a shard by name: what hard links can point to. Needs memory for all names.

    Raises ValueError for a compressed shard, in which each link would read the file from its beginning.
    """
    if _is_compressed(path):
        raise ValueError(
            f"{path}: hard links in a compressed tar file cannot be followed. Decompress it with gunzip."
        )
    files: dict[str, Member] = {}
    for archive in _open_archives(path):
        for info in archive:
            if info.isreg():
                files.setdefault(info.name, Member(info.offset_data, info.size, None))
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]
    return files


def read_pairs(path: Path, skipped: Counter[str], *, read_images: bool = True) -> Iterator[Pair]:
    """Yield the samples of a shard that have an image and a caption (``.txt``).

    With ``read_images=False``, the bytes of the images are not read.
    """
    for key, members in read_samples(
        path, ("txt", *IMAGE_SUFFIXES) if read_images else ("txt",), skipped
    ):
        images = [members[suffix] for suffix in IMAGE_SUFFIXES if suffix in members]
        try:
            caption = (
                normalize_text((members["txt"].content or b"").decode("utf-8-sig")).strip()
                if "txt" in members
                else ""
            )
        except UnicodeDecodeError:
            skipped["with a caption that is not in UTF-8"] += 1
            continue
        if len(images) != 1:
            skipped["with more than one image" if images else "without an image"] += 1
        elif not caption:
            skipped["without a caption"] += 1
        else:
            yield Pair(key, images[0], caption)


def read_decoded_pairs(path: Path, skipped: Counter[str]) -> Iterator[tuple[Pair, Image.Image]]:
    """Yield the pairs of a shard with their decoded images (RGB); skip images that Pillow cannot decode."""
    for pair in read_pairs(path, skipped):
        try:
            image = decode_image(pair.image.content or b"")
        except ValueError:
            skipped["with an image that cannot be decoded"] += 1
            continue
        yield pair, image


def print_skipped(path: Path, skipped: Counter[str]) -> None:
    """Print to stderr how many samples of ``path`` were skipped and why."""
    if skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items()))
        print(f"{path}: samples skipped: {reasons}.", file=sys.stderr)
