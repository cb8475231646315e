"""ControlledImCaps from the micro-world: pairs of pictures whose captions differ in exactly one word.

    python -m generators.controlledimcaps && python -m loaders.cards.controlledimcaps

Source: Kamath, Hessel and Chang 2023, section 2.2 and Figure 3: six types, 600 pairs of COCO photographs. Differs from
it in: the pictures of a pair are drawn and differ in what their captions say and in nothing else; the two verb types
are left out, since no drawing of this world shows an action; the temporal type is an umbrella before and after
opening. A config is a type, a row is a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from generators.language import inflection
from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.pictures import place_object, render_jpeg
from generators.microworld.rendering.renderer import BACKGROUNDS
from generators.microworld.scene import DrawnObject, Scene
from generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS
from generators.schemas.rows import GROUP_SCHEMA
from generators.storage import dataset, stage
from generators.storage.atomic import atomic_folder
from generators.storage.params import read_settings

FOLDER = Path("controlledimcaps")
WIDTH, HEIGHT = 144, 96
"""Of a scene; a picture has twice as many pixels."""
MOST_MISSES = 10_000
STANDING = [noun for noun in ALL_NOUNS if not DRAWINGS[noun].hangs]


class Half(NamedTuple):
    """A caption and the things of its picture."""

    caption: str
    things: tuple[DrawnObject, ...]


Pair = tuple[Half, Half]


def _a(phrase: str) -> str:
    return f"{inflection.choose_article(phrase.split()[0])} {phrase}"


def _thing(noun: str, color: str, pattern: str, share: float, ground: float, side: float = 58) -> DrawnObject:
    """A thing around ``share`` (0 left, 1 right) of the picture's width."""
    return place_object(noun, color, pattern, side, share * WIDTH, ground)


def make_spatial_1(rng: Random) -> Pair:
    """ "a red cup on the left": the same cup stands on the other side."""
    noun, look, ground = rng.choice(STANDING), _look(rng), rng.uniform(84, 92)
    share = rng.uniform(0.24, 0.30)
    left, right = (
        Half(f"{_a(f'{look[0]} {noun}')} on the {side}", (_thing(noun, *look, place, ground),))
        for side, place in (("left", share), ("right", 1 - share))
    )
    return left, right


def make_spatial_2(rng: Random) -> Pair:
    """ "a cup to the left of a box": the two have changed places."""
    first, second = rng.sample(STANDING, 2)
    looks, grounds = [_look(rng), _look(rng)], [rng.uniform(84, 92), rng.uniform(84, 92)]
    left, right = (
        Half(
            f"{_a(first)} to the {side} of {_a(second)}",
            (_thing(first, *looks[0], place, grounds[0]), _thing(second, *looks[1], 1 - place, grounds[1])),
        )
        for side, place in (("left", 0.26), ("right", 0.74))
    )
    return left, right


def make_temporal(rng: Random) -> Pair:
    """ "a red umbrella before opening": first it is closed, then it is open."""
    color, pattern = _look(rng)
    name = f"{color} {pattern} umbrella" if pattern != "plain" else f"{color} umbrella"
    share, ground = rng.uniform(0.35, 0.65), rng.uniform(84, 92)
    before, after = (
        Half(f"{_a(name)} {time} opening", (_thing(noun, color, pattern, share, ground, 72),))
        for time, noun in (("before", "closed umbrella"), ("after", "umbrella"))
    )
    return before, after


def make_adjective(rng: Random) -> Pair:
    """ "a red cup": the same cup in another colour. Both colours have the same article."""
    noun, share, ground = rng.choice(STANDING), rng.uniform(0.35, 0.65), rng.uniform(84, 92)
    colors = rng.sample([color for color in COLORS if color != "orange"], 2)
    first, second = (
        Half(_a(f"{color} {noun}"), (_thing(noun, color, "plain", share, ground, 72),)) for color in colors
    )
    return first, second


TYPES: dict[str, Callable[[Random], Pair]] = {
    "spatial_1": make_spatial_1,
    "spatial_2": make_spatial_2,
    "temporal": make_temporal,
    "adjective": make_adjective,
}
"""Config -> what makes a pair of it."""


def _look(rng: Random) -> tuple[str, str]:
    return rng.choice(list(COLORS)), rng.choice(PATTERNS)


@dataclass(frozen=True)
class Settings:
    """The block ``controlledimcaps`` of params.yaml."""

    seed: int
    make_pairs: int
    """Of each type, at most: a type may have fewer captions to offer."""


def make_pairs(make: Callable[[Random], Pair], count: int, rng: Random) -> Iterator[Pair]:
    """Pairs with distinct captions, ``count`` of them or as many as there are."""
    seen: set[frozenset[str]] = set()
    misses = 0
    while len(seen) < count and misses < MOST_MISSES:
        pair = make(rng)
        captions = frozenset(half.caption for half in pair)
        misses = misses + 1 if captions in seen else 0
        if captions not in seen:
            seen.add(captions)
            yield pair


def make_row(pair: Pair, kind: str, number: int, background: str, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A row of GROUP_SCHEMA."""
    scenes = (Scene(0, WIDTH, HEIGHT, background, half.things, ()) for half in pair)
    images = (render_jpeg(scene, (2 * WIDTH, 2 * HEIGHT)) for scene in scenes)
    return dataset.make_group_cells(images, (half.caption for half in pair)) | {
        "image_id": f"{kind}-{number}",
        "categories": [{"by": "type", "name": kind}],
        "provenance": dict(provenance),
    }


def make_rows(kind: str, settings: Settings, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a config; both pictures of a pair have the same backdrop."""
    rng = Random(f"{settings.seed}:controlledimcaps:{kind}")
    for number, pair in enumerate(make_pairs(TYPES[kind], settings.pairs, rng)):
        yield make_row(pair, kind, number, rng.choice(BACKGROUNDS), provenance)


def write(folder: Path, settings: Settings) -> None:
    """Write every config below ``folder``."""
    provenance = {"source": "microworld", "captioner": "template", "seed": settings.seed}
    with atomic_folder(folder) as scratch:
        for kind in TYPES:
            dataset.write_config(scratch, kind, {"test": make_rows(kind, settings, provenance)}, GROUP_SCHEMA)


def main() -> None:
    """Write the folder controlledimcaps/."""
    write(FOLDER, read_settings(Settings, "controlledimcaps"))


if __name__ == "__main__":
    stage.run(main)
