"""Scenes of the experiment ``compun``: one to three objects side by side, with or without drawn compound nouns.

In half of the scenes, the first object is a compound in the corpus ``compounds``, and one of its constituents in the
corpus ``constituents``. All other random choices are the same in both corpora.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.compun import Noun
from compeval.generators.microworld.compun_images import WITHOUT_PATTERN, choose_color
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.images import place_object
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.scenes.affordances import SIZE_FACTOR, TYPICAL_SIDE
from compeval.generators.microworld.scenes.object_sampler import PATTERN_WEIGHTS, SIZE_WEIGHTS
from compeval.generators.microworld.scenes.spatial_relations import (
    MARGIN,
    Layout,
    Link,
    find_ambiguities,
    find_relations,
)
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS

COMPOUNDS = "compounds"
CONSTITUENTS = "constituents"
WIDTH = 640
HEIGHT = 480
GROUND = (0.75, 0.95)
SKY = (0.15, 0.55)
"""Ranges of the ground level of standing objects and the upper edge of hanging objects, as fractions of the height."""
NUM_OBJECTS = {1: 5, 2: 4, 3: 1}
"""Number of objects in a scene -> frequency."""
DEFAULT_SIDE = 180
"""Side of a medium-sized object in pixels, for nouns without a typical side."""


def sample_scene(seed: int, corpus: str, nouns: list[Noun], image_id: int) -> Scene:
    """Return a scene of a corpus (``compounds`` or ``constituents``) in which every relation is clear."""
    rng = Random(f"{seed}:compun_corpora:{image_id}")
    scene_nouns = sample_nouns(rng, corpus, nouns)
    background = rng.choice(BACKGROUNDS)
    objects = [
        _sample_object(f"{seed}:{image_id}:{number}", noun)
        for number, noun in enumerate(scene_nouns)
    ]
    while True:
        layout = place_in_a_row([_resize(item, rng) for item in objects], rng)
        if layout and not find_ambiguities(layout):
            return Scene(
                image_id, WIDTH, HEIGHT, background, layout.objects, find_relations(layout)
            )


def sample_nouns(rng: Random, corpus: str, nouns: list[Noun]) -> list[str]:
    """Return the nouns of a scene. Both corpora draw the same random numbers."""
    compound = rng.choice(nouns)
    constituent = rng.randrange(2)
    is_compound = rng.random() < 0.5 and corpus == COMPOUNDS
    first = compound.name if is_compound else (compound.n1, compound.n2)[constituent]
    constituents = {part for noun in nouns for part in (noun.n1, noun.n2)}
    other_nouns = sorted({*ALL_NOUNS, *constituents} - {compound.n1, compound.n2})
    count = rng.choices(list(NUM_OBJECTS), list(NUM_OBJECTS.values()))[0]
    return [first, *rng.sample(other_nouns, count - 1)]


def _sample_object(key: str, noun: str) -> DrawnObject:
    """Return an object with a random colour and pattern, which has no position yet."""
    rng = Random(key)
    color = choose_color(noun, rng.choice(list(COLORS)), rng)
    patterns = ("plain",) if noun in WITHOUT_PATTERN else PATTERNS
    pattern = rng.choices(patterns, [PATTERN_WEIGHTS[name] for name in patterns])[0]
    return place_object(noun, color, pattern, TYPICAL_SIDE.get(noun, DEFAULT_SIDE), 0, 0)


def _resize(item: DrawnObject, rng: Random) -> DrawnObject:
    """Return the object with a random size."""
    size = rng.choices(list(SIZE_WEIGHTS), list(SIZE_WEIGHTS.values()))[0]
    factor = SIZE_FACTOR[size]
    return replace(
        item, size=size, box=Box(0, 0, factor * item.box.width, factor * item.box.height)
    )


def place_in_a_row(objects: list[DrawnObject], rng: Random) -> Layout | None:
    """Place the objects from left to right in random order. Returns None if they do not fit into the scene."""
    objects = rng.sample(objects, len(objects))
    free_width = WIDTH - 2 * MARGIN - sum(item.box.width for item in objects)
    if free_width < 0 or max(item.box.height for item in objects) > GROUND[0] * HEIGHT:
        return None
    # The free width to the left of each object.
    offsets = sorted(rng.uniform(0, free_width) for _ in objects)
    x = MARGIN
    previous_offset = 0.0
    placed = []
    links = {}
    for item, offset in zip(objects, offsets, strict=True):
        x += offset - previous_offset
        if not DRAWINGS[item.noun].hangs:
            y = rng.uniform(*GROUND) * HEIGHT - item.box.height
            links[item.id] = Link("on", None)
        else:
            y = min(rng.uniform(*SKY) * HEIGHT, HEIGHT - MARGIN - item.box.height)
        box = item.box._replace(x=round(x, 1), y=round(y, 1))
        placed.append(replace(item, box=box, depth=1 - y / 1000))
        x = x + item.box.width
        previous_offset = offset
    return Layout(tuple(placed), links)
