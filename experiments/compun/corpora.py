"""Two caption corpora that differ only in compound nouns: one shows and names the drawn compounds, one never does.

    python -m experiments.compun.corpora        # writes sources/compun/{compounds,constituents}/

Compun (Kumar et al. 2024) tests whether a model distinguishes a compound from its constituents; these corpora vary
whether the model has seen it. Both show one to three objects side by side, and both name every constituent. In half of
the scenes the first object is a compound in the corpus ``compounds`` and one of its constituents in the corpus
``constituents``; the other objects are the same. Images and captions are the micro-world's (microworld/corpora.py).
Test images (compun_images.py) are other renderings of the same nouns.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random

from generators.compun import Noun, read_nouns, select_drawable_nouns
from generators.microworld.build import WORKERS, Params
from generators.microworld.compun_images import WITHOUT_PATTERN, allowed_color
from generators.microworld.corpora import IMAGES_PER_SCENE, Example, make_examples, write_corpus
from generators.microworld.rendering.drawing import DRAWINGS
from generators.microworld.rendering.pictures import place_object
from generators.microworld.rendering.renderer import BACKGROUNDS
from generators.microworld.scene import DrawnObject, Scene
from generators.microworld.scenes.affordances import SIZE_FACTOR, TYPICAL_SIDE
from generators.microworld.scenes.object_sampler import PATTERN_WEIGHTS, SIZE_WEIGHTS
from generators.microworld.scenes.spatial_relations import MARGIN, Layout, Link, find_ambiguities, find_relations
from generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS
from generators.schemas.scene_graph import Box
from generators.storage import stage
from generators.storage.atomic import atomic_folder

FOLDER = Path("sources/compun")
COMPOUNDS, CONSTITUENTS = "compounds", "constituents"
FIRST_ID = 30_000_000
"""First image id, above those of all other scenes."""
WIDTH, HEIGHT = 640, 480
GROUND, SKY = (0.75, 0.95), (0.15, 0.55)
"""Ground level of standing objects and upper edge of hanging ones, as shares of the height."""
THINGS = {1: 5, 2: 4, 3: 1}
"""Weights of the number of objects in a scene."""
SIDE = 180
"""Default side of a medium object in pixels."""


def sample_nouns(rng: Random, variant: str, nouns: list[Noun]) -> list[str]:
    """Return the nouns of a scene. The random draws do not depend on the variant."""
    compound, constituent = rng.choice(nouns), rng.randrange(2)
    is_compound = rng.random() < 0.5 and variant == COMPOUNDS
    first = compound.name if is_compound else (compound.n1, compound.n2)[constituent]
    parts = {part for noun in nouns for part in (noun.n1, noun.n2)}
    company = sorted({*ALL_NOUNS, *parts} - {compound.n1, compound.n2})
    number = rng.choices(list(THINGS), list(THINGS.values()))[0]
    return [first, *rng.sample(company, number - 1)]


def sample_compun_scene(seed: int, variant: str, nouns: list[Noun], image_id: int) -> Scene:
    """Return a scene of objects side by side, without borderline relations."""
    rng = Random(f"{seed}:compun_corpora:{image_id}")
    cast, background = sample_nouns(rng, variant, nouns), rng.choice(BACKGROUNDS)
    things = [_looking(f"{seed}:{image_id}:{number}", noun) for number, noun in enumerate(cast)]
    while True:
        layout = place_in_a_row([_sized(thing, rng) for thing in things], rng)
        if layout and not find_ambiguities(layout):
            return Scene(image_id, WIDTH, HEIGHT, background, layout.objects, find_relations(layout))


def _looking(key: str, noun: str) -> DrawnObject:
    """Return an object with a colour and a pattern, not yet placed."""
    rng = Random(key)
    color = allowed_color(noun, rng.choice(list(COLORS)), rng)
    patterns = ("plain",) if noun in WITHOUT_PATTERN else PATTERNS
    pattern = rng.choices(patterns, [PATTERN_WEIGHTS[name] for name in patterns])[0]
    return place_object(noun, color, pattern, TYPICAL_SIDE.get(noun, SIDE), 0, 0)


def _sized(thing: DrawnObject, rng: Random) -> DrawnObject:
    size = rng.choices(list(SIZE_WEIGHTS), list(SIZE_WEIGHTS.values()))[0]
    factor = SIZE_FACTOR[size]
    return replace(thing, size=size, box=Box(0, 0, factor * thing.box.width, factor * thing.box.height))


def place_in_a_row(things: list[DrawnObject], rng: Random) -> Layout | None:
    """Place the objects from left to right in random order, hanging ones in the air; None if they do not fit."""
    things = rng.sample(things, len(things))
    room = WIDTH - 2 * MARGIN - sum(thing.box.width for thing in things)
    if room < 0 or max(thing.box.height for thing in things) > GROUND[0] * HEIGHT:
        return None
    cuts = sorted(rng.uniform(0, room) for _ in things)
    x, used, row, links = MARGIN, 0.0, [], {}
    for thing, cut in zip(things, cuts, strict=True):
        x += cut - used
        if not DRAWINGS[thing.noun].hangs:
            y = rng.uniform(*GROUND) * HEIGHT - thing.box.height
            links[thing.id] = Link("on", None)
        else:
            y = min(rng.uniform(*SKY) * HEIGHT, HEIGHT - MARGIN - thing.box.height)
        box = thing.box._replace(x=round(x, 1), y=round(y, 1))
        row.append(replace(thing, box=box, depth=1 - y / 1000))
        x, used = x + thing.box.width, cut
    return Layout(tuple(row), links)


def make_scene_examples(seed: int, variant: str, nouns: list[Noun], size: int, image_id: int) -> list[Example]:
    return make_examples(seed, sample_compun_scene(seed, variant, nouns, image_id), size)


def build(folder: Path, nouns: list[Noun], params: Params, workers: int = WORKERS) -> None:
    """Write both corpora atomically."""
    ids = range(FIRST_ID, FIRST_ID + -(-params.train_images // IMAGES_PER_SCENE))
    with atomic_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        for variant in (COMPOUNDS, CONSTITUENTS):
            pairs = pool.map(
                partial(make_scene_examples, params.seed, variant, nouns, params.train_size), ids, chunksize=50
            )
            write_corpus(scratch / variant, chain.from_iterable(pairs))


def main() -> None:
    build(FOLDER, select_drawable_nouns(read_nouns(Path("data/words/compun.csv"))), Params.read())


if __name__ == "__main__":
    stage.run(main)
