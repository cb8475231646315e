"""The real data and where it comes from: registry.yaml, read.

    compeval sources list
    compeval sources get visual_genome [--from DIR | --mirror URL]
    compeval sources check visual_genome

A source is got into ``sources/<name>/``, where the stages look for it (params.yaml, ``source``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import yaml

REGISTRY = Path(__file__).with_name("registry.yaml")


@dataclass(frozen=True)
class RemoteFile:
    """One file to download. ``size`` is in bytes; None, like ``sha256``, where it is not known."""

    url: str
    name: str
    makes: str | None
    """What the archive unpacks to, a file or a folder; None for a file that stays as it is."""
    size: int | None
    sha256: str | None

    def mirrored(self, source: str, mirror: str | None) -> str:
        """The file's address; below a mirror it is ``<mirror>/<source>/<name>``."""
        return f"{mirror.rstrip('/')}/{source}/{self.name}" if mirror else self.url

    @property
    def result(self) -> str:
        """What is there when the file was got."""
        return self.makes or self.name


@dataclass(frozen=True)
class Source:
    name: str
    title: str
    homepage: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...] = ()
    how: str | None = None
    """What a person has to do where no program may fetch it."""

    @property
    def size(self) -> int | None:
        """Bytes of all files together; None where one of them has no known size."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes and len(sizes) == len(self.files) else None


def read_registry(path: Path) -> dict[str, Source]:
    """Name -> source, in the order of the file."""

    def remote(entry: dict) -> RemoteFile:
        name = entry.get("name") or PurePosixPath(urlsplit(entry["url"]).path).name
        return RemoteFile(entry["url"], name, entry.get("makes"), entry["size"], entry["sha256"])

    return {
        name: Source(name, **entry | {"files": tuple(map(remote, entry.get("files", ())))})
        for name, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items()
    }


@cache
def registry() -> dict[str, Source]:
    return read_registry(REGISTRY)
