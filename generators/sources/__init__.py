"""Where the real data is published: registry.yaml, read.

    compeval sources list
    compeval sources get visual_genome [--from DIR | --mirror URL]
    compeval sources check visual_genome

The files of a source are brought to ``sources/<name>/``, which the stages read (params.yaml, ``source``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

REGISTRY = Path(__file__).with_name("registry.yaml")


@dataclass(frozen=True)
class RemoteFile:
    """A file to download. ``makes`` is the file or folder that an archive unpacks to, None for any other file; ``size``
    is in bytes; ``size`` and ``sha256`` are None if they are not known."""

    url: str
    name: str
    makes: str | None
    size: int | None
    sha256: str | None

    def mirrored(self, source: str, mirror: str | None) -> str:
        """The file's address; on a mirror ``<mirror>/<source>/<name>``."""
        return f"{mirror.rstrip('/')}/{source}/{self.name}" if mirror else self.url

    @property
    def result(self) -> str:
        """The file or folder that is there in the end."""
        return self.makes or self.name


@dataclass(frozen=True)
class DataSource:
    """A source with its files or, if no program may fetch them, with instructions for a person (``how``)."""

    name: str
    title: str
    homepage: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...] = ()
    how: str | None = None

    @property
    def size(self) -> int | None:
        """Bytes of all files together; None if one of them has no known size."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes and len(sizes) == len(self.files) else None


@cache
def read_registry() -> dict[str, DataSource]:
    """Name -> source, in the order of registry.yaml."""
    entries = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    return {
        name: DataSource(name, **entry | {"files": tuple(map(_remote_file, entry.get("files", ())))})
        for name, entry in entries.items()
    }


def _remote_file(entry: dict[str, Any]) -> RemoteFile:
    name = entry.get("name") or PurePosixPath(urlsplit(entry["url"]).path).name
    return RemoteFile(entry["url"], name, entry.get("makes"), entry["size"], entry["sha256"])
