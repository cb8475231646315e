"""Images of compound nouns and their constituents: from the user's files, or drawn by the micro-world.

The files are named as by the authors of Compun: ``<noun>.*`` shows a compound, ``<noun>_n1.*`` and
``<noun>_n2.*`` show its constituents.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random
from typing import NamedTuple

from compeval.base.files.listing import is_hidden, list_files
from compeval.base.files.untrusted import ARCHIVE_ERRORS, decode_image, open_archive, read_file
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.images import place_object, render_jpeg
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS
from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.world import COLORS

SUFFIXES = ("", "_n1", "_n2")
"""Suffixes of the file names of a compound and of its two constituents."""
EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
SIZE = 224
"""Width and height of a drawn image, in pixels."""

WITHOUT_PATTERN = ("hole",)
"""Nouns that are always plain."""


class CompoundImages(NamedTuple):
    """The image files of a compound and its two constituents."""

    compound: bytes
    n1: bytes
    n2: bytes


@dataclass(frozen=True)
class ImageCollection:
    """The user's images in a folder or zip file, which may also contain other files.

    ``files`` maps a file stem in lower case, with underscores instead of spaces, to the files with this stem.
    """

    path: Path
    files: Mapping[str, Sequence[str]]

    @classmethod
    def open(cls, path: Path) -> ImageCollection:
        """Open a folder or a zip file. Raises FileNotFoundError if ``path`` is neither, and ValueError if it is
        damaged."""
        if path.is_dir():
            names = [str(file.relative_to(path)) for file in list_files(path, "**/*")]
        elif zipfile.is_zipfile(path):
            try:
                with open_archive(zipfile.ZipFile, path) as archive:
                    names = sorted(archive.namelist())
            except ARCHIVE_ERRORS as error:
                raise ValueError(
                    f"{path}: the zip file is damaged ({error}). Pack the images again."
                ) from None
        else:
            raise FileNotFoundError(
                f"{path}: neither a folder nor a zip file with Compun's images."
            )
        files: dict[str, list[str]] = {}
        for name in names:
            if PurePosixPath(name).suffix.lower() in EXTENSIONS and not is_hidden(
                PurePosixPath(name)
            ):
                files.setdefault(_make_key(PurePosixPath(name).stem), []).append(name)
        return cls(path, files)

    def of(self, noun: str) -> CompoundImages:
        """Return the images of a compound. Raises ValueError if one of the three is missing or unreadable."""
        return CompoundImages(*(self._read_image(f"{noun}{suffix}") for suffix in SUFFIXES))

    def _read_image(self, stem: str) -> bytes:
        """Return the first readable file with this stem."""
        error = "missing"
        for name in self.files.get(_make_key(stem), ()):
            try:
                data = self._read(name)
                decode_image(data)
            except (OSError, ValueError) as reason:
                error = str(reason)
            else:
                return data
        raise ValueError(f"{stem}: {error}")

    def _read(self, name: str) -> bytes:
        if self.path.is_dir():
            return read_file(self.path / name)
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(name)
        except ARCHIVE_ERRORS as error:
            raise ValueError(f"cannot be unpacked ({error})") from None


def _make_key(stem: str) -> str:
    return "_".join(stem.lower().split())


def can_draw(noun: str) -> bool:
    return noun in DRAWINGS


def render_compound(
    compound: str, n1: str, n2: str, renderings: int, seed: int
) -> Iterator[CompoundImages]:
    """Yield several renderings of a compound and its constituents, with random colours and backgrounds.

    The three images of one rendering have the same background and, if possible, the same colour. A model therefore
    cannot distinguish them by these.
    """
    for number in range(renderings):
        rng = Random(f"{seed}:compun:{compound}:{number}")
        background = rng.choice(BACKGROUNDS)
        color = rng.choice(list(COLORS))
        scenes = (sample_object_scene(noun, color, background, rng) for noun in (compound, n1, n2))
        yield CompoundImages(*(render_jpeg(scene, (SIZE, SIZE)) for scene in scenes))


def choose_color(noun: str, color: str, rng: Random) -> str:
    """Return ``color`` if the noun can have this colour, otherwise a random colour that it can have."""
    colors = DRAWINGS[noun].colors
    return color if not colors or color in colors else rng.choice(colors)


def sample_object_scene(noun: str, color: str, background: str, rng: Random) -> Scene:
    """Return a scene of 100 x 100 pixels with one object of random size and position."""
    drawing = DRAWINGS[noun]
    color = choose_color(noun, color, rng)
    side = rng.uniform(62, 86)
    width = side * min(drawing.aspect, 1)
    height = side / max(drawing.aspect, 1)
    center = 50 + rng.uniform(-0.5, 0.5) * (92 - width)
    ground = (
        48 + height / 2 + rng.uniform(-0.4, 0.4) * (92 - height)
        if drawing.hangs
        else rng.uniform(92, 96)
    )
    return Scene(
        0, 100, 100, background, (place_object(noun, color, "plain", side, center, ground),), ()
    )
