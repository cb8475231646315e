"""ControlledImCaps from the micro-world: pairs of images whose captions differ in exactly one word.

    python -m compeval.generators.controlledimcaps && python -m compeval.loaders.cards.write controlledimcaps

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 2.2 and Figure 3. The paper has 600 pairs of COCO
photographs of six types. A config is a type, and a row is a pair. Chance of the image score and of the text score: 1/4.

Differences from the paper: the images are drawn, and the two images of a pair differ only in what their captions say.
There are no verb types: minimal_pairs.py shows actions. The temporal type shows an umbrella before and after
opening.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_settings
from compeval.base.schemas.rows import GROUP_SCHEMA
from compeval.base.storage import dataset
from compeval.generators.language import inflection
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.images import place_object, render_jpeg
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS

FOLDER = Path("controlledimcaps")
WIDTH = 144
HEIGHT = 96
"""Size of a scene. An image is twice as wide and twice as high, in pixels."""
MAX_MISSES = 10_000
"""A type has no further pairs if this many samples in a row only repeat pairs."""
STANDING = [noun for noun in ALL_NOUNS if not DRAWINGS[noun].hangs]
"""Nouns that stand on the ground."""


class CaptionedObjects(NamedTuple):
    """A caption and the objects of its image."""

    caption: str
    objects: tuple[DrawnObject, ...]


Pair = tuple[CaptionedObjects, CaptionedObjects]


def _add_article(phrase: str) -> str:
    return f"{inflection.choose_article(phrase.split()[0])} {phrase}"


def _place(
    noun: str, color: str, pattern: str, center: float, ground: float, side: float = 58
) -> DrawnObject:
    """Return an object centred at ``center`` (0 left edge, 1 right edge) that stands at the height ``ground``."""
    return place_object(noun, color, pattern, side, center * WIDTH, ground)


def _sample_appearance(rng: Random) -> tuple[str, str]:
    """Return a colour and a pattern."""
    return rng.choice(list(COLORS)), rng.choice(PATTERNS)


def make_spatial_1(rng: Random) -> Pair:
    """Return a pair like "a red cup on the left" and "a red cup on the right", with the same cup."""
    noun = rng.choice(STANDING)
    appearance = _sample_appearance(rng)
    ground = rng.uniform(84, 92)
    left_center = rng.uniform(0.24, 0.30)
    left, right = (
        CaptionedObjects(
            f"{_add_article(f'{appearance[0]} {noun}')} on the {side}",
            (_place(noun, *appearance, center, ground),),
        )
        for side, center in (("left", left_center), ("right", 1 - left_center))
    )
    return left, right


def make_spatial_2(rng: Random) -> Pair:
    """Return a pair like "a cup to the left of a box" and "a cup to the right of a box"."""
    first, second = rng.sample(STANDING, 2)
    appearances = [_sample_appearance(rng), _sample_appearance(rng)]
    grounds = [rng.uniform(84, 92), rng.uniform(84, 92)]
    left, right = (
        CaptionedObjects(
            f"{_add_article(first)} to the {side} of {_add_article(second)}",
            (
                _place(first, *appearances[0], center, grounds[0]),
                _place(second, *appearances[1], 1 - center, grounds[1]),
            ),
        )
        for side, center in (("left", 0.26), ("right", 0.74))
    )
    return left, right


def make_temporal(rng: Random) -> Pair:
    """Return a pair like "a red umbrella before opening" (a closed umbrella) and "a red umbrella after opening"."""
    color, pattern = _sample_appearance(rng)
    name = f"{color} {pattern} umbrella" if pattern != "plain" else f"{color} umbrella"
    center = rng.uniform(0.35, 0.65)
    ground = rng.uniform(84, 92)
    before, after = (
        CaptionedObjects(
            f"{_add_article(name)} {time} opening",
            (_place(noun, color, pattern, center, ground, 72),),
        )
        for time, noun in (("before", "closed umbrella"), ("after", "umbrella"))
    )
    return before, after


def make_adjective(rng: Random) -> Pair:
    """Return a pair like "a red cup" and "a blue cup". No cup is orange, so that both captions begin with "a"."""
    noun = rng.choice(STANDING)
    center = rng.uniform(0.35, 0.65)
    ground = rng.uniform(84, 92)
    colors = rng.sample([color for color in COLORS if color != "orange"], 2)
    first, second = (
        CaptionedObjects(
            _add_article(f"{color} {noun}"), (_place(noun, color, "plain", center, ground, 72),)
        )
        for color in colors
    )
    return first, second


TYPES: dict[str, Callable[[Random], Pair]] = {
    "spatial_1": make_spatial_1,
    "spatial_2": make_spatial_2,
    "temporal": make_temporal,
    "adjective": make_adjective,
}
"""Config -> function that samples a pair."""


@dataclass(frozen=True)
class ControlledImCapsSettings:
    """The block ``controlledimcaps`` of params.yaml."""

    seed: int
    pairs: int
    """Maximum number of pairs per type; some types have fewer distinct pairs of captions."""


def make_pairs(make_pair: Callable[[Random], Pair], max_count: int, rng: Random) -> Iterator[Pair]:
    """Yield at most ``max_count`` pairs with distinct captions."""
    seen: set[frozenset[str]] = set()
    misses = 0
    while len(seen) < max_count and misses < MAX_MISSES:
        pair = make_pair(rng)
        captions = frozenset(item.caption for item in pair)
        misses = misses + 1 if captions in seen else 0
        if captions not in seen:
            seen.add(captions)
            yield pair


def make_row(
    pair: Pair, config: str, number: int, background: str, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a row of GROUP_SCHEMA; ``number`` is the index of the pair in its config."""
    scenes = (Scene(0, WIDTH, HEIGHT, background, item.objects, ()) for item in pair)
    images = (render_jpeg(scene, (2 * WIDTH, 2 * HEIGHT)) for scene in scenes)
    return dataset.make_group_cells(images, (item.caption for item in pair)) | {
        "image_id": f"{config}-{number}",
        "categories": [{"by": "type", "name": config}],
        "provenance": dict(provenance),
    }


def make_rows(
    config: str, settings: ControlledImCapsSettings, provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a config; both images of a pair have the same background."""
    rng = Random(f"{settings.seed}:controlledimcaps:{config}")
    for number, pair in enumerate(make_pairs(TYPES[config], settings.pairs, rng)):
        yield make_row(pair, config, number, rng.choice(BACKGROUNDS), provenance)


def write(folder: Path, settings: ControlledImCapsSettings) -> None:
    """Replace ``folder`` by all configs."""
    provenance = {"source": "microworld", "captioner": "template", "seed": settings.seed}
    with atomic_folder(folder) as scratch:
        for config in TYPES:
            dataset.write_config(
                scratch, config, {"test": make_rows(config, settings, provenance)}, GROUP_SCHEMA
            )


def main() -> None:
    """Write the folder controlledimcaps/."""
    write(FOLDER, read_settings(ControlledImCapsSettings, "controlledimcaps"))


if __name__ == "__main__":
    stage.run(main)
