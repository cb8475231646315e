"""Read webdataset shards: tar files in which the files ``KEY.jpg``, ``KEY.txt`` and so on form a sample.

The webdataset package groups the files into samples. Its decoders are not used, because they unpickle files with the
suffixes ``.pyd`` and ``.pth``. Here images are decoded by Pillow, and texts are decoded as UTF-8.

A damaged shard raises an error. A bad sample is skipped, and the reason is counted.
"""

from __future__ import annotations

import gzip
import sys
import tarfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from compeval.base.files.untrusted import decode_image

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

    The files of a sample must be adjacent in the tar file. Only files with one of ``suffixes`` are read. Raises
    ValueError if the shard is damaged, possibly after readable samples were yielded.
    """
    # Imported here because it loads PyTorch, which takes seconds.
    from webdataset.tariterators import group_by_keys

    def skip(_: Exception) -> bool:
        skipped["with a second member of the same name"] += 1
        return True

    try:
        for sample in group_by_keys(_members(path, suffixes), handler=skip):
            members = {
                suffix: member for suffix, member in sample.items() if isinstance(member, Member)
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
    with the key ``a``. A file of another kind (``x.seg.png`` beside ``x.jpg`` and ``x.txt``) has no caption of its own.
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


def _members(path: Path, suffixes: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the regular files of a tar file in the format of ``group_by_keys``."""
    from webdataset.tariterators import base_plus_ext

    with tarfile.open(path, "r:gz" if path.suffix == ".gz" else "r:") as archive:
        for info in archive:
            if info.isreg():
                _, suffix = base_plus_ext(info.name)
                is_read = bool(suffix) and suffix.lower().rpartition(".")[2] in suffixes
                file = archive.extractfile(info) if is_read else None
                member = Member(info.offset_data, info.size, file.read() if file else None)
                yield {"fname": info.name, "data": member, "__url__": str(path)}
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  (keeps memory constant)
        # tarfile stops without an error at a damaged header, or if the file ends between two members.
        assert archive.fileobj is not None
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end-of-archive block is missing")


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
                (members["txt"].content or b"").decode("utf-8-sig").strip()
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
