"""Rows of a made-up dataset, for tests of writers, loaders and evaluators."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.schemas.scene_graph import Box, SceneGraph, SceneObject
from compeval.base.storage.dataset import make_raw_row, write_config
from compeval.loaders.cards.card import front_matter, write_card
from compeval.loaders.datasets.stats import measure

BALL = SceneGraph((SceneObject("o1", "ball", ("red",), Box(10, 20, 40, 30)),))


def picture(folder: Path, image_id: int) -> Path:
    """A small JPEG whose pixels depend on ``image_id`` alone."""
    path = folder / f"{image_id}.jpg"
    pixels = np.random.default_rng(image_id).integers(0, 256, (8, 10, 3), np.uint8)
    Image.fromarray(pixels).resize((100, 80)).save(path)
    return path


def hard_negative_row(folder: Path, image_id: int) -> dict[str, Any]:
    """``red ball`` with two negatives."""
    row = make_raw_row(
        picture(folder, image_id),
        str(image_id),
        Box(10, 20, 40, 30),
        "red ball",
        BALL,
        {"source": "microworld", "captioner": "region", "seed": 0},
    )
    foils = [
        [{"type": "attribute", "from": "red", "to": "blue"}],
        [{"type": "object", "from": "ball", "to": "kite"}],
    ]
    return row | {"hard_negatives": ["blue ball", "red kite"], "foils": foils}


def toy_dataset(root: Path, name: str = "crepe", rows: int = 3) -> Path:
    """``root/name`` with the configs toy_hnatom (``rows`` rows) and toy_raw, card and statistics."""
    folder = root / name
    made = [hard_negative_row(root, index) for index in range(rows)]
    raw = [{key: row[key] for key in RAW_SCHEMA.names} for row in made]
    write_config(folder, "toy_hnatom", {"test": made}, HARD_NEGATIVE_SCHEMA)
    write_config(folder, "toy_raw", {"n4": raw, "n5": raw[:1]}, RAW_SCHEMA)
    stats = measure(folder) | {"source": "microworld"}
    write_card(folder, {"license": "mit"}, "A toy.\n", stats)
    assert (
        (folder / "README.md")
        .read_text(encoding="utf-8")
        .startswith(front_matter(stats, {"license": "mit"}))
    )
    return folder
