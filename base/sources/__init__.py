"""The registry of published data sources that are not benchmarks (registry.yaml).

The files of a published benchmark are declared in its module (loaders/benchmarks/).

    compeval sources list
    compeval sources get visual_genome [--from DIR | --mirror URL]
    compeval sources check visual_genome

``get`` writes the files of a source to ``sources/<name>/``, where the pipeline stages read them (params.yaml,
``source``).
"""

import re
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

REGISTRY = Path(__file__).with_name("registry.yaml")
COMMIT = re.compile(r"/[0-9a-f]{40}[/.]")
"""A full commit in the address of a file."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to download, from its ``url``, or from its ``name`` below the root of its source.

    ``makes`` is the file or folder inside an archive, or None if the file is not unpacked. ``size`` is in bytes.
    ``git_blob`` is the id of the file in the authors' git repository: the SHA-1 of its length and content. It pins
    files that are too large for the copies of the repository in which sizes and SHA-256 were read. ``size``, ``sha256``
    and ``git_blob`` are None if they are unknown.
    """

    url: str = ""
    name: str = ""
    makes: str | None = None
    size: int | None = None
    sha256: str | None = None
    git_blob: str | None = None
    optional: bool = False
    """True if a folder of the user may lack the file."""
    replaced_by: tuple[str, ...] = ()
    """Names of the files that together replace this one in other versions of the source."""

    @property
    def is_pinned(self) -> bool:
        """True if a download is compared with a known hash."""
        return self.sha256 is not None or self.git_blob is not None

    @property
    def may_change(self) -> bool:
        """True if neither a hash nor a full commit in the address says which version of the file is meant."""
        return not self.is_pinned and COMMIT.search(self.url) is None

    @property
    def final_name(self) -> str:
        """The file or folder after downloading and unpacking."""
        return self.makes or self.name


@dataclass(frozen=True)
class DataSource:
    """A data source with either ``files`` to download or instructions for a manual download."""

    name: str = ""
    """Name of the benchmark's module, which fills it in, or of the entry in registry.yaml."""
    title: str = ""
    homepage: str = ""
    licence: str = ""
    citation: str = ""
    files: tuple[RemoteFile, ...] = ()
    download_instructions: str | None = None
    image_archives: tuple[RemoteFile, ...] = ()
    """Archives of images that are downloaded when rows of a benchmark need them."""
    root: InitVar[str] = ""
    """Address of the folder that contains the files without a URL."""

    def __post_init__(self, root: str) -> None:
        files = tuple(_complete(file, root) for file in self.files)
        archives = tuple(_complete(file, root) for file in self.image_archives)
        # The dataclass is frozen for its users; here it is still being made.
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "image_archives", archives)

    @property
    def pinned(self) -> str:
        """Number of files with a known hash, of all; the first download of the others is recorded in sources.lock."""
        files = (*self.files, *self.image_archives)
        return f"{sum(file.is_pinned for file in files)} of {len(files)}"

    @property
    def unpinned(self) -> tuple[str, ...]:
        """Names of the files of which the first download is the version: no hash and no commit is known."""
        return tuple(file.name for file in (*self.files, *self.image_archives) if file.may_change)

    @property
    def size(self) -> int | None:
        """Total size of all files in bytes; None if the size of a file is unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes and len(sizes) == len(self.files) else None


@cache
def read_registry() -> dict[str, DataSource]:
    """Return name -> source, in the order of registry.yaml."""
    entries = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    return {name: _make_source(name, **entry) for name, entry in entries.items()}


def _make_source(name: str, files: Iterable[Any] = (), **entry: Any) -> DataSource:
    return DataSource(name, files=tuple(_make_file(**file) for file in files), **entry)


def _make_file(replaced_by: Iterable[str] = (), **entry: Any) -> RemoteFile:
    return RemoteFile(replaced_by=tuple(replaced_by), **entry)


def _complete(file: RemoteFile, root: str) -> RemoteFile:
    """Return a file with both its URL and its name, which is by default the last part of the URL."""
    return replace(
        file,
        url=file.url or f"{root}/{file.name}",
        name=file.name or PurePosixPath(urlsplit(file.url).path).name,
    )
