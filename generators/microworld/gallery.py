"""Write contact sheets of the micro-world: images with many labelled nouns, attributes, relations, compounds or scenes.

python -m compeval.generators.microworld.gallery all docs              # every sheet, as docs/NAME.jpg
python -m compeval.generators.microworld.gallery nouns docs/nouns.jpg  # one sheet

``nouns``: every rendering, state and pose of every noun; ``attributes``, ``relations``, ``compounds``: an example of
each; ``scenes``: the first 24 test scenes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
import skia
from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.compun_images import can_draw, sample_object_scene
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.images import place_object
from compeval.generators.microworld.rendering.pictures import RENDERINGS
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS, render
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.scenes.splits import TEST_IDS, sample_test_scene
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS, RELATIONS

COMPOUNDS = Path("sample/words/compun.csv")
_MARGIN = 6
_LABEL = 18
JPEG_QUALITY = 85


def make_contact_sheet(tiles: Sequence[tuple[str, np.ndarray]], columns: int) -> np.ndarray:
    """Return labelled images in rows of ``columns``: uint8 (height, width, 3). Tiles may differ in size."""
    cell_height = max(tile.shape[0] for _, tile in tiles) + _LABEL + _MARGIN
    cell_width = max(tile.shape[1] for _, tile in tiles) + _MARGIN
    rows = -(-len(tiles) // columns)
    sheet = np.full(
        (rows * cell_height + _MARGIN, columns * cell_width + _MARGIN, 4), 255, np.uint8
    )
    canvas = skia.Surface(sheet, skia.kRGBA_8888_ColorType).getCanvas()
    font = skia.Font(skia.Typeface("DejaVu Sans"), 12)
    ink = skia.Paint(Color=0xFF333333, AntiAlias=True)
    for index, (label, tile) in enumerate(tiles):
        x = _MARGIN + index % columns * cell_width
        y = _MARGIN + index // columns * cell_height
        sheet[y : y + tile.shape[0], x : x + tile.shape[1], :3] = tile
        canvas.drawString(label, x + 2, y + tile.shape[0] + 13, font, ink)
    return sheet[..., :3]


def render_noun(
    noun: str, color: str, pattern: str, background: str, pixels: int, share: float = 0.84
) -> np.ndarray:
    """Return a square image of one object, whose longer side is ``share`` of the image's side."""
    aspect = DRAWINGS[noun].aspect
    height = share * 100 / max(aspect, 1)
    box = Box(
        50 - height * aspect / 2,
        94 - height if height > 40 else 72 - height / 2,
        height * aspect,
        height,
    )
    item = DrawnObject(noun, noun, color, pattern, "medium", box, 0)
    return render(Scene(0, 100, 100, background, (item,), ()), (pixels, pixels))


def make_nouns_sheet() -> np.ndarray:
    """Return every drawing of every noun at 96 pixels, cycling through all colours and patterns."""
    appearances = cycle((color, pattern) for pattern in PATTERNS for color in COLORS)
    backgrounds = cycle(BACKGROUNDS)
    tiles = []
    for noun in ALL_NOUNS:
        for rendering in RENDERINGS[noun].pictures:
            for name in rendering.values():
                color, pattern = next(appearances)
                tiles.append((name, render_noun(name, color, pattern, next(backgrounds), 96)))
    return make_contact_sheet(tiles, columns=14)


def make_attributes_sheet() -> np.ndarray:
    """Return every colour, pattern, size and state; each size is shown next to the opposite one."""
    tiles = [(color, render_noun("cup", color, "plain", "studio", 120)) for color in COLORS]
    tiles += [
        (pattern, render_noun("shirt", "blue", pattern, "studio", 120)) for pattern in PATTERNS
    ]
    small, large = (
        place_object("ball", "red", "plain", side, center, 92)
        for side, center in ((30 * 0.62, 20), (30 * 1.5, 66))
    )
    tiles.append(
        ("small and large", render(Scene(0, 100, 100, "studio", (small, large), ()), (120, 120)))
    )
    for noun in ALL_NOUNS:
        for state in RENDERINGS[noun].states:
            name = RENDERINGS[noun].pictures[0][state]
            tiles.append((f"{state} {noun}", render_noun(name, "green", "plain", "studio", 120)))
    return make_contact_sheet(tiles, columns=8)


def make_relations_sheet(per_relation: int = 4, seed: int = 0, count: int = 800) -> np.ndarray:
    """Return up to ``per_relation`` scenes of each relation, from the first ``count`` test scenes with few objects."""
    shown: dict[str, list[tuple[str, np.ndarray]]] = {relation: [] for relation in RELATIONS}
    for image_id in TEST_IDS[:count]:
        scene = sample_test_scene(seed, image_id)
        nouns = {item.id: item.noun for item in scene.objects}
        for subject, relation, target in scene.relations:
            if len(scene.objects) <= 3 and len(shown[relation]) < per_relation:
                label = f"{nouns[subject]} {relation} {nouns[target]}"
                if label not in dict(shown[relation]):
                    shown[relation].append(
                        (label, render(scene, (scene.width * 3 // 8, scene.height * 3 // 8)))
                    )
    return make_contact_sheet(
        [tile for tiles in shown.values() for tile in tiles], columns=2 * per_relation
    )


def make_compounds_sheet() -> np.ndarray:
    """Return every drawn compound next to its two constituents."""
    tiles = []
    with COMPOUNDS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            names = [name.lower() for name in (row["compound"], row["n1"], row["n2"])]
            if all(map(can_draw, names)):
                rng = Random(names[0])
                scenes = [
                    sample_object_scene(name, rng.choice(list(COLORS)), "studio", rng)
                    for name in names
                ]
                labels = (f"{names[0]} ({row['category']})", *names[1:])
                tiles += [
                    (label, render(scene, (112, 112)))
                    for label, scene in zip(labels, scenes, strict=True)
                ]
    return make_contact_sheet(tiles, columns=12)


def make_scenes_sheet(count: int = 24, seed: int = 0, columns: int = 6) -> np.ndarray:
    """Return the first test scenes at half their size, labelled with their image ids."""
    scenes = [sample_test_scene(seed, image_id) for image_id in TEST_IDS[:count]]
    tiles = [
        (str(scene.image_id), render(scene, (scene.width // 2, scene.height // 2)))
        for scene in scenes
    ]
    return make_contact_sheet(tiles, columns)


SHEETS = {
    "nouns": make_nouns_sheet,
    "attributes": make_attributes_sheet,
    "relations": make_relations_sheet,
    "compounds": make_compounds_sheet,
    "scenes": make_scenes_sheet,
}


def write_sheet(name: str, path: Path) -> None:
    Image.fromarray(SHEETS[name]()).save(path, quality=JPEG_QUALITY, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("all", *SHEETS):
        raise SystemExit(
            f"usage: python -m compeval.generators.microworld.gallery all FOLDER | {'|'.join(SHEETS)} OUT.jpg"
        )
    if sys.argv[1] == "all":
        for sheet in SHEETS:
            write_sheet(sheet, Path(sys.argv[2]) / f"{sheet}.jpg")
    else:
        write_sheet(sys.argv[1], Path(sys.argv[2]))
