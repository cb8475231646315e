"""Minimal pairs from the micro-world: the same scene with one atom, one relation or one binding changed.

    python -m compeval.generators.minimal_pairs && python -m compeval.loaders.cards.write minimal_pairs

Both directions are asked of the same rows: one image and two captions, one caption and two images (the protocol
``group`` of Winoground, arXiv:2204.03162). Each caption is true of one image only; the oracle checks it. Chance of the
image score and of the text score: 1/4, of the group score: 1/6.

Configs: ``object`` (another noun), ``attribute`` (another colour, pattern or state), ``relation`` (another relation of
the same two objects) and ``binding`` (two objects exchange their colours).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_settings
from compeval.base.schemas.rows import GROUP_SCHEMA
from compeval.base.storage import dataset
from compeval.generators.microworld.rendering.images import render_jpeg
from compeval.generators.microworld.scenes.minimal_pairs import HEIGHT, SAMPLERS, WIDTH, Pair

FOLDER = Path("minimal_pairs")
SIZE = WIDTH // 2, HEIGHT // 2
"""Width and height of an image in pixels."""
MAX_MISSES = 3_000
"""A config has no further pairs if this many samples in a row yield no new pair."""


@dataclass(frozen=True)
class MinimalPairsSettings:
    """The block ``minimal_pairs`` of params.yaml."""

    seed: int
    pairs: int
    """Maximum number of pairs per config."""


def make_pairs(config: str, settings: MinimalPairsSettings) -> Iterator[Pair]:
    """Yield at most ``settings.pairs`` pairs with distinct captions."""
    seen: set[frozenset[str]] = set()
    misses = number = 0
    while len(seen) < settings.pairs and misses < MAX_MISSES:
        number = number + 1
        misses = misses + 1
        pair = SAMPLERS[config](Random(f"{settings.seed}:minimal_pairs:{config}:{number}"), number)
        captions = frozenset(item.caption for item in pair or ())
        if pair and len(captions) == 2 and captions not in seen:
            seen.add(captions)
            misses = 0
            yield pair


def make_row(pair: Pair, config: str, number: int, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of GROUP_SCHEMA; ``number`` is the index of the pair in its config."""
    images = (render_jpeg(item.scene, SIZE, subsampling="4:4:4") for item in pair)
    return dataset.make_group_cells(images, (item.caption for item in pair)) | {
        "image_id": f"{config}-{number}",
        "categories": [{"by": "type", "name": config}],
        "provenance": dict(provenance),
    }


def write(folder: Path, settings: MinimalPairsSettings) -> None:
    """Replace ``folder`` by all configs."""
    provenance = {"source": "microworld", "captioner": "template", "seed": settings.seed}
    with atomic_folder(folder) as scratch:
        for config in SAMPLERS:
            rows = (
                make_row(pair, config, number, provenance)
                for number, pair in enumerate(make_pairs(config, settings))
            )
            dataset.write_config(scratch, config, {"test": rows}, GROUP_SCHEMA)


def main() -> None:
    """Write the folder minimal_pairs/."""
    write(FOLDER, read_settings(MinimalPairsSettings, "minimal_pairs"))


if __name__ == "__main__":
    stage.run(main)
