"""Pictures of compound nouns and their constituents: a user's, in the Compun authors' naming, or the micro-world's.

The authors name a compound's picture ``<noun>.*``, those of its constituents ``<noun>_n1.*`` and ``<noun>_n2.*``.
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
from generators.microworld.rendering.pictures import jpeg, placed
from generators.microworld.rendering.renderer import BACKGROUNDS
from generators.microworld.scene import Scene
from generators.microworld.world import COLORS

PARTS = ("", "_n1", "_n2")
"""Suffixes of the pictures of a compound and of its constituents."""
EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
SIZE = 224
"""Side of a drawn picture, in pixels."""

_OWN_COLORS = {
    **dict.fromkeys(("sun", "sunflower", "light"), ("yellow", "orange")),
    **dict.fromkeys(("banana", "banana tree"), ("yellow", "green")),
    "hole": ("black",),
}
"""What comes in few colours; the others come in all."""
PLAIN = ("hole",)
"""What has no pattern."""


class Pictures(NamedTuple):
    """Encoded pictures of a compound and its two constituents."""

    compound: bytes
    n1: bytes
    n2: bytes


@dataclass(frozen=True)
class Collection:
    """A user's pictures by file stem, lower-case, with underscores for spaces."""

    place: Path
    files: Mapping[str, str]

    @classmethod
    def open(cls, place: Path) -> Collection:
        """A folder or a zip. FileNotFoundError if there is neither."""
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
        """ValueError that lists every picture that is missing or unreadable."""
        missing = [f"{noun}{part}" for noun in nouns for part in PARTS if _key(f"{noun}{part}") not in self.files]
        broken = [name for name in self.files.values() if not _is_readable(self._read(name))]
        if missing or broken:
            told = [f"{len(missing)} are missing: {', '.join(missing)}"] if missing else []
            told += [f"{len(broken)} are unreadable: {', '.join(broken)}"] if broken else []
            raise ValueError(f"{self.place}: of Compun's pictures {'; '.join(told)}. None is left out silently.")

    def of(self, noun: str) -> Pictures:
        return Pictures(*(self._read(self.files[_key(f"{noun}{part}")]) for part in PARTS))

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


def drawable(noun: str) -> bool:
    """Whether the micro-world can draw it."""
    return noun in DRAWINGS


def drawn(compound: str, n1: str, n2: str, renderings: int, seed: int) -> Iterator[Pictures]:
    """Several renderings of a compound and its constituents, each in a colour and before a backdrop of its own.

    The three pictures of one rendering share colour and backdrop where they can, so that neither tells them apart.
    """
    for number in range(renderings):
        rng = Random(f"{seed}:compun:{compound}:{number}")
        background, color = rng.choice(BACKGROUNDS), rng.choice(list(COLORS))
        yield Pictures(*(jpeg(portrait(noun, color, background, rng), (SIZE, SIZE)) for noun in (compound, n1, n2)))


def possible_color(noun: str, color: str, rng: Random) -> str:
    """The colour, or another where the thing does not come in it."""
    return color if color in _OWN_COLORS.get(noun, (color,)) else rng.choice(_OWN_COLORS[noun])


def portrait(noun: str, color: str, background: str, rng: Random) -> Scene:
    """A scene of 100 x 100 with one thing, of some size at some place; in another colour where it has not that one."""
    drawing = DRAWINGS[noun]
    color = possible_color(noun, color, rng)
    side = rng.uniform(62, 86)
    width = side * min(drawing.aspect, 1)
    height = side / max(drawing.aspect, 1)
    center = 50 + rng.uniform(-0.5, 0.5) * (92 - width)
    ground = 48 + height / 2 + rng.uniform(-0.4, 0.4) * (92 - height) if drawing.hangs else rng.uniform(92, 96)
    return Scene(0, 100, 100, background, (placed(noun, color, "plain", side, center, ground),), ())
