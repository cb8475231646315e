"""Webdataset shards: tar files whose members ``KEY.jpg``, ``KEY.txt`` and so on form samples.

webdataset groups the members into samples. Its decoders are not used, because the default ones unpickle members named
``.pyd`` and ``.pth``: contents are bytes here, images are decoded by Pillow and texts as UTF-8.

A shard that is cut off or damaged is an error. A bad sample is skipped and counted, with the reason.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

IMAGE_SUFFIXES = ("jpg", "jpeg", "png", "webp")


class Member(NamedTuple):
    """A file in a shard: where its bytes are if the shard is not compressed, and the bytes if they were read."""

    start: int
    size: int
    content: bytes | None


class Sample(NamedTuple):
    """The members of one key, by lower-case suffix."""

    key: str
    members: dict[str, Member]


class Pair(NamedTuple):
    """An image and its caption."""

    key: str
    image: Member
    caption: str


def read_samples(path: Path, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[Sample]:
    """The samples of a shard (``.tar`` or ``.tar.gz``) in its order; the members of a sample are adjacent.

    Only members with one of ``suffixes`` are read. ValueError for a shard that is cut off or damaged, at the latest
    after its last readable sample.
    """
    # Imported here because it loads PyTorch, which takes seconds.
    from webdataset.tariterators import group_by_keys

    def skip(_: Exception) -> bool:
        skipped["with a second member of the same name"] += 1
        return True

    try:
        for sample in group_by_keys(_members(path, suffixes), handler=skip):
            members = {suffix: member for suffix, member in sample.items() if isinstance(member, Member)}
            yield Sample(sample["__key__"], members)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: the tar file is cut off or damaged ({error}). Delete it, and make it again (`dvc repro` does, "
            "for what the pipeline made) or download it again."
        ) from None


def _members(path: Path, suffixes: Collection[str]) -> Iterator[dict[str, Any]]:
    """The regular files of a tar file, in the form that ``group_by_keys`` takes."""
    from webdataset.tariterators import base_plus_ext

    with tarfile.open(path, "r:gz" if path.suffix == ".gz" else "r:") as archive:
        for info in archive:
            if info.isreg():
                _, suffix = base_plus_ext(info.name)
                file = archive.extractfile(info) if suffix and suffix.lower() in suffixes else None
                member = Member(info.offset_data, info.size, file.read() if file else None)
                yield {"fname": info.name, "data": member, "__url__": str(path)}
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  (else it keeps all that it has listed)
        # A damaged header, and a file that was cut between two members, are no error for tarfile: it stops there.
        assert archive.fileobj is not None
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("it does not end as a tar file does")


def read_pairs(path: Path, skipped: Counter[str], *, read_images: bool = True) -> Iterator[Pair]:
    """The samples of a shard that have an image and a caption (``.txt``)."""
    for key, members in read_samples(path, ("txt", *IMAGE_SUFFIXES) if read_images else ("txt",), skipped):
        image = next((members[suffix] for suffix in IMAGE_SUFFIXES if suffix in members), None)
        try:
            caption = (members["txt"].content or b"").decode().strip() if "txt" in members else ""
        except UnicodeDecodeError:
            skipped["with a caption that is not in UTF-8"] += 1
            continue
        if image is None:
            skipped["without an image"] += 1
        elif not caption:
            skipped["without a caption"] += 1
        else:
            yield Pair(key, image, caption)


def read_decoded_pairs(path: Path, skipped: Counter[str]) -> Iterator[tuple[Pair, Image.Image]]:
    """The pairs of a shard whose image Pillow can decode, with the image (RGB)."""
    for pair in read_pairs(path, skipped):
        try:
            image = Image.open(io.BytesIO(pair.image.content or b"")).convert("RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            skipped["with an image that cannot be decoded"] += 1
            continue
        yield pair, image


def print_skipped(path: Path, skipped: Counter[str]) -> None:
    """Print to stderr how many samples of a shard or a folder of shards were skipped and why, if any were."""
    if skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items()))
        print(f"{path}: samples skipped: {reasons}.", file=sys.stderr)
