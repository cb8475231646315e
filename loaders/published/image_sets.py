"""The images that published benchmarks use (image_sets.yaml). Benchmarks of the same images share one copy of each.

A copy is in ``sources/<name>/`` next to the dataset folders, where ``compeval sources get`` writes the archives.
"""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from compeval.base.sources import RemoteFile, read_registry


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images that are downloaded one by one, in archives, or inside the published files. Compared by identity."""

    name: str
    """Source of the images in results, licences and sources/."""
    folders: tuple[str, ...]
    """Folders that usually contain the images."""
    _: KW_ONLY
    bytes_per_image: int = 0
    """Mean size of an image file."""
    url: str | None = None
    """The URL of an image is ``<url>/<path>``. None: there are only archives."""
    locate: Callable[[str], tuple[str, ...]] = lambda name: (name,)
    """Function that returns the possible paths of an image, given its name in a published file."""
    select: Callable[[Path, str], Path | None] | None = None
    """Function that returns an image in a folder, given its name in a published file. None: the name is its path."""
    archives: tuple[RemoteFile, ...] = ()
    """All images. Each archive is unpacked to one of ``folders``."""
    columns: tuple[str, ...] = ()
    """Columns with images, if the published files are tables that contain them (loaders/published/tables.py)."""
    joined_columns: tuple[str, ...] = ()
    """Columns with the parts of an image. Side by side, they become the image of the only column in ``columns``."""
    download_instructions: str | None = None
    """Instructions, if the images have to be downloaded manually."""

    @property
    def is_separate(self) -> bool:
        """True if the images are downloaded in addition to the published files."""
        return bool(self.url or self.archives or self.download_instructions)

    @property
    def is_manual(self) -> bool:
        """True if the images have to be downloaded manually."""
        return self.url is None and not self.archives


def _locate_coco(name: str) -> tuple[str, ...]:
    file = PurePosixPath(name).name
    if match := re.match(r"COCO_(train|val)2014_", file):
        return (f"{match[1]}2014/{file}",)
    return (f"val2017/{file}", f"train2017/{file}")


REGISTRY = read_registry()


@cache
def _read_declarations() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def read_image_set(name: str, **code: Any) -> ImageSet:
    """Return the images of a source as declared in image_sets.yaml.

    ``code``: the fields of :class:`ImageSet` that are functions, and archives that the registry lists otherwise.
    """
    declared = dict(_read_declarations()[name])
    folders, own_archives = (tuple(declared.pop(key, ())) for key in ("folders", "archives"))
    registered = REGISTRY[name].image_archives if name in REGISTRY else ()
    archives = tuple(RemoteFile(**file) for file in own_archives) or registered
    return ImageSet(name, folders, **{"archives": archives, **declared, **code})


COCO = read_image_set("coco", locate=_locate_coco, archives=REGISTRY["coco"].files)
VISUAL_GENOME = read_image_set(
    "visual_genome",
    locate=lambda name: tuple(
        f"{folder}/{PurePosixPath(name).name}" for folder in ("VG_100K", "VG_100K_2")
    ),
    archives=tuple(
        file for file in REGISTRY["visual_genome"].files if file.name.startswith("images")
    ),
)
FLICKR30K = read_image_set(
    "flickr30k", download_instructions=REGISTRY["flickr30k"].download_instructions
)
OPEN_IMAGES, SWIG, HAKE, VISUAL7W, VISDIAL = map(
    read_image_set, ("open_images", "swig", "hake", "visual7w", "visdial")
)
