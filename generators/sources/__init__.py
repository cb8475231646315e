"""The registry of published data sources (registry.yaml).

    compeval sources list
    compeval sources get visual_genome [--from DIR | --mirror URL]
    compeval sources check visual_genome

``get`` writes the files of a source to ``sources/<name>/``, where the pipeline stages read them (params.yaml,
``source``).
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
    """A file to download.

    ``makes`` is the file or folder inside an archive, or None if the file is not unpacked. ``size`` is in bytes.
    ``size`` and ``sha256`` are None if they are unknown.
    """

    url: str
    name: str
    makes: str | None
    size: int | None
    sha256: str | None

    def choose_url(self, source: str, mirror: str | None) -> str:
        """Return ``<mirror>/<source>/<name>`` if there is a mirror, otherwise the original URL."""
        return f"{mirror.rstrip('/')}/{source}/{self.name}" if mirror else self.url

    @property
    def final_name(self) -> str:
        """The file or folder after downloading and unpacking."""
        return self.makes or self.name


@dataclass(frozen=True)
class DataSource:
    """A data source with either ``files`` to download or instructions for a manual download (``how``)."""

    name: str
    title: str
    homepage: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...] = ()
    how: str | None = None

    @property
    def size(self) -> int | None:
        """Total size of all files in bytes; None if the size of a file is unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes and len(sizes) == len(self.files) else None


@cache
def read_registry() -> dict[str, DataSource]:
    """Return name -> source, in the order of registry.yaml."""
    entries = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    return {
        name: DataSource(name, **entry | {"files": tuple(map(_make_remote_file, entry.get("files", ())))})
        for name, entry in entries.items()
    }


def _make_remote_file(entry: dict[str, Any]) -> RemoteFile:
    name = entry.get("name") or PurePosixPath(urlsplit(entry["url"]).path).name
    return RemoteFile(entry["url"], name, entry.get("makes"), entry["size"], entry["sha256"])
