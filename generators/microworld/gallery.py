"""Write contact sheets of the micro-world: one image with many labelled nouns or scenes.

python -m generators.microworld.gallery nouns docs/nouns.jpg      # every noun in several sizes, colours and patterns
python -m generators.microworld.gallery scenes docs/scenes.jpg    # the first 24 test scenes
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import skia
from PIL import Image

from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.renderer import BACKGROUNDS, render
from generators.microworld.scene import DrawnObject, Scene
from generators.microworld.scenes.splits import TEST_IDS, sample_test_scene
from generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS
from generators.schemas.scene_graph import Box

_MARGIN, _LABEL = 6, 18
JPEG_QUALITY = 85


def make_contact_sheet(tiles: Sequence[tuple[str, np.ndarray]], columns: int) -> np.ndarray:
    """Return labelled images in rows of ``columns``: uint8 (height, width, 3). Tiles may differ in size."""
    cell_height = max(tile.shape[0] for _, tile in tiles) + _LABEL + _MARGIN
    cell_width = max(tile.shape[1] for _, tile in tiles) + _MARGIN
    rows = -(-len(tiles) // columns)
    sheet = np.full((rows * cell_height + _MARGIN, columns * cell_width + _MARGIN, 4), 255, np.uint8)
    canvas = skia.Surface(sheet, skia.kRGBA_8888_ColorType).getCanvas()
    font, ink = skia.Font(skia.Typeface("DejaVu Sans"), 12), skia.Paint(Color=0xFF333333, AntiAlias=True)
    for index, (label, tile) in enumerate(tiles):
        x, y = _MARGIN + index % columns * cell_width, _MARGIN + index // columns * cell_height
        sheet[y : y + tile.shape[0], x : x + tile.shape[1], :3] = tile
        canvas.drawString(label, x + 2, y + tile.shape[0] + 13, font, ink)
    return sheet[..., :3]


def render_noun(noun: str, color: str, pattern: str, background: str, pixels: int, share: float = 0.84) -> np.ndarray:
    """Return a square image of one object, whose longer side is ``share`` of the image's side."""
    aspect = DRAWINGS[noun].aspect
    height = share * 100 / max(aspect, 1)
    box = Box(50 - height * aspect / 2, 94 - height if height > 40 else 72 - height / 2, height * aspect, height)
    item = DrawnObject(noun, noun, color, pattern, "medium", box, 0)
    return render(Scene(0, 100, 100, background, (item,), ()), (pixels, pixels))


def make_nouns_sheet() -> np.ndarray:
    """Return every noun at three sizes, cycling through all colours and patterns."""
    appearances = cycle((color, pattern) for pattern in PATTERNS for color in COLORS)
    backgrounds = cycle(BACKGROUNDS)
    tiles = []
    for noun in ALL_NOUNS:
        for pixels in (160, 96, 64):
            color, pattern = next(appearances)
            tiles.append((f"{color} {noun}", render_noun(noun, color, pattern, next(backgrounds), pixels)))
    return make_contact_sheet(tiles, columns=9)


def make_scenes_sheet(count: int = 24, seed: int = 0, columns: int = 6) -> np.ndarray:
    """Return the first test scenes at half their size, labelled with their image ids."""
    scenes = [sample_test_scene(seed, image_id) for image_id in TEST_IDS[:count]]
    tiles = [(str(scene.image_id), render(scene, (scene.width // 2, scene.height // 2))) for scene in scenes]
    return make_contact_sheet(tiles, columns)


SHEETS = {"nouns": make_nouns_sheet, "scenes": make_scenes_sheet}


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SHEETS:
        raise SystemExit("usage: python -m generators.microworld.gallery nouns|scenes OUT.jpg")
    Image.fromarray(SHEETS[sys.argv[1]]()).save(Path(sys.argv[2]), quality=JPEG_QUALITY, optimize=True)
