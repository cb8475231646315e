"""The image sets that several published benchmarks use and of which they share one copy. The images of one benchmark
only are declared in its module.

A copy is in ``sources/<name>/`` next to the dataset folders, where ``compeval sources get`` writes the archives.
"""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path, PurePosixPath

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


_SOURCES = read_registry()
COCO = ImageSet(
    "coco",
    ("val2017", "val2014", "train2014", "train2017", "images"),
    bytes_per_image=163_000,
    url="http://images.cocodataset.org",
    locate=_locate_coco,
    archives=_SOURCES["coco"].files,
)
VISUAL_GENOME = ImageSet(
    "visual_genome",
    ("VG_100K", "VG_100K_2", "images"),
    bytes_per_image=140_000,
    url="https://cs.stanford.edu/people/rak248",
    locate=lambda name: tuple(
        f"{folder}/{PurePosixPath(name).name}" for folder in ("VG_100K", "VG_100K_2")
    ),
    archives=tuple(
        file for file in _SOURCES["visual_genome"].files if file.name.startswith("images")
    ),
)
FLICKR30K = ImageSet(
    "flickr30k",
    ("flickr30k-images", "images"),
    download_instructions=_SOURCES["flickr30k"].download_instructions,
)
OPEN_IMAGES = ImageSet(
    "open_images",
    ("train", "validation", "test", "images"),
    bytes_per_image=330_000,
    url="https://open-images-dataset.s3.amazonaws.com",
)
SWIG = ImageSet(
    "swig",
    ("images_512", "images"),
    archives=(
        RemoteFile(
            url="https://swig-data-weights.s3.us-east-2.amazonaws.com/images_512.zip",
            name="images_512.zip",
            makes="images_512",
        ),
    ),
)
HAKE = ImageSet(
    "hake",
    ("hake", "images"),
    download_instructions="Download the images of HAKE (https://github.com/DirtyHarryLYL/HAKE).",
)
VISUAL7W = ImageSet(
    "visual7w",
    ("visual7w", "images"),
    download_instructions="Download the images of Visual7W (http://ai.stanford.edu/~yukez/visual7w/).",
)
VISDIAL = ImageSet(
    "visdial",
    ("VisualDialog_val2018", "images"),
    download_instructions=(
        "Download the validation images of VisDial v1.0 (https://visualdialog.org/data)."
    ),
)
