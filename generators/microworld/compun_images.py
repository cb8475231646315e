"""Pictures of compound nouns and their constituents: from a user's collection, or drawn by the micro-world.

Files of a collection are named as by the authors of Compun: ``<noun>.*`` shows a compound, ``<noun>_n1.*`` and
``<noun>_n2.*`` show its constituents.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.pictures import place_object, render_jpeg
from generators.microworld.rendering.renderer import BACKGROUNDS
from generators.microworld.scene import Scene
from generators.microworld.world import COLORS

PARTS = ("", "_n1", "_n2")
"""Suffixes of the pictures of a compound and of its constituents."""
EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
SIZE = 224
"""Side of a drawn picture, in pixels."""

_COLORS = {
    **dict.fromkeys(("sun", "sunflower", "light"), ("yellow", "orange")),
    **dict.fromkeys(("banana", "banana tree"), ("yellow", "green")),
    "hole": ("black",),
}
"""The colours of nouns that do not occur in all of them."""
WITHOUT_PATTERN = ("hole",)


class CompoundImages(NamedTuple):
    """Encoded pictures of a compound and its two constituents."""

    compound: bytes
    n1: bytes
    n2: bytes


@dataclass(frozen=True)
class ImageCollection:
    """A user's pictures: file stem (lower-case, with underscores for spaces) -> file name."""

    place: Path
    files: Mapping[str, str]

    @classmethod
    def open(cls, place: Path) -> ImageCollection:
        """Open a folder or a zip file. Raises FileNotFoundError if there is neither."""
        if place.is_dir():
            names = [str(path.relative_to(place)) for path in sorted(place.rglob("*"))]
        elif zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as archive:
                names = sorted(archive.namelist())
        else:
            raise FileNotFoundError(f"{place}: neither a folder nor a zip with Compun's pictures.")
        pictures = (name for name in names if PurePosixPath(name).suffix.lower() in EXTENSIONS)
        return cls(place, {_key(PurePosixPath(name).stem): name for name in pictures})

    def check(self, nouns: Iterable[str]) -> None:
        """Raise ValueError with every picture that is missing or unreadable."""
        missing = [f"{noun}{part}" for noun in nouns for part in PARTS if _key(f"{noun}{part}") not in self.files]
        broken = [name for name in self.files.values() if not _is_readable(self._read(name))]
        if missing or broken:
            problems = [f"{len(missing)} are missing: {', '.join(missing)}"] if missing else []
            problems += [f"{len(broken)} are unreadable: {', '.join(broken)}"] if broken else []
            raise ValueError(f"{self.place}: of Compun's pictures {'; '.join(problems)}. None is left out silently.")

    def of(self, noun: str) -> CompoundImages:
        return CompoundImages(*(self._read(self.files[_key(f"{noun}{part}")]) for part in PARTS))

    def _read(self, name: str) -> bytes:
        if self.place.is_dir():
            return (self.place / name).read_bytes()
        with zipfile.ZipFile(self.place) as archive:
            return archive.read(name)


def _key(stem: str) -> str:
    return "_".join(stem.lower().split())


def _is_readable(data: bytes) -> bool:
    try:
        Image.open(io.BytesIO(data)).convert("RGB")
    except (UnidentifiedImageError, OSError):
        return False
    return True


def can_draw(noun: str) -> bool:
    return noun in DRAWINGS


def render_compound(compound: str, n1: str, n2: str, renderings: int, seed: int) -> Iterator[CompoundImages]:
    """Yield several renderings of a compound and its constituents, each with another colour and background.

    The three pictures of one rendering share colour and background if possible, so that neither distinguishes them.
    """
    for number in range(renderings):
        rng = Random(f"{seed}:compun:{compound}:{number}")
        background, color = rng.choice(BACKGROUNDS), rng.choice(list(COLORS))
        scenes = (single_object_scene(noun, color, background, rng) for noun in (compound, n1, n2))
        yield CompoundImages(*(render_jpeg(scene, (SIZE, SIZE)) for scene in scenes))


def allowed_color(noun: str, color: str, rng: Random) -> str:
    """Return the colour, or another one if the noun does not occur in it."""
    return color if color in _COLORS.get(noun, (color,)) else rng.choice(_COLORS[noun])


def single_object_scene(noun: str, color: str, background: str, rng: Random) -> Scene:
    """Return a scene of 100 x 100 with one object of random size and position."""
    drawing = DRAWINGS[noun]
    color = allowed_color(noun, color, rng)
    side = rng.uniform(62, 86)
    width = side * min(drawing.aspect, 1)
    height = side / max(drawing.aspect, 1)
    center = 50 + rng.uniform(-0.5, 0.5) * (92 - width)
    ground = 48 + height / 2 + rng.uniform(-0.4, 0.4) * (92 - height) if drawing.hangs else rng.uniform(92, 96)
    return Scene(0, 100, 100, background, (place_object(noun, color, "plain", side, center, ground),), ())
