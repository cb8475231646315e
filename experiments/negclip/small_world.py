"""A smaller micro-world in which a tiny CLIP learns word order within minutes: two large objects and their relation.

In the whole micro-world a small CLIP learns which objects are in an image long before it learns their relations. The
small world has the nouns of four themes, no small objects and one pattern. A scene has two objects, and nine of ten
captions state their relation. The object of a relation never comes first ("a table with a cup on it"), so that word
order has one meaning.

Scenes are those of the whole micro-world with objects held out, so rendering and annotation are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from generators.classification import nouns_of
from generators.microworld.annotate import annotate, write
from generators.microworld.build import WHOLE_SHARE, Example, Params, frame, jpeg, write_images
from generators.microworld.captions.content import Content, Facts
from generators.microworld.captions.views import is_whole, region_box
from generators.microworld.captions.wording import training_caption
from generators.microworld.rendering.renderer import render
from generators.microworld.scene import Scene
from generators.microworld.scenes.held_out import ALL_NOUNS, LeftOut
from generators.microworld.scenes.sampler import TEST_IDS, sample_scene
from generators.schemas.scene_graph import Box

THEMES = "kitchen,playroom,shore,garden"
NOUNS = nouns_of(THEMES)
OTHERS = LeftOut(
    frozenset(ALL_NOUNS) - frozenset(NOUNS), frozenset({"small", "spotted", "checkered"}), frozenset(), frozenset()
)
"""Held out from the whole micro-world."""
THINGS = 2
THING_SHARE = 0.1
"""Share of captions with one object; the others state a relation."""


def scene_of(seed: int, image_id: int) -> Scene:
    """Return the scene of an image id, a function of its arguments."""
    width, height = frame(Random(f"{seed}:{image_id}:frame"))
    return sample_scene(seed, image_id, width=width, height=height, n_things=THINGS, forbidden=OTHERS)


def described(seed: int, scene: Scene, richness: float) -> tuple[str, Box]:
    """Return a training caption and the view of its image: the whole scene, or the region around the named objects."""
    rng, names = Random(f"{seed}:{scene.image_id}:caption"), [thing.id for thing in scene.things]
    if rng.random() < THING_SHARE:
        content = Content((rng.choice(names),))
    else:
        triple = rng.choice(scene.relations)
        content = Content((triple[0], triple[2]), (triple,))
    whole = Box(0, 0, scene.width, scene.height)
    view = whole if rng.random() < WHOLE_SHARE else region_box(scene, content.things, rng)
    facts = Facts.of(scene, names, sizes=is_whole(scene, view))
    return training_caption(facts, content, rng, richness, object_first=False), view


def drawn(scene: Scene, size: int, caption: str, view: Box) -> Example:
    """Render the view at ``size`` x ``size`` pixels."""
    return Example(scene.image_id, 0, jpeg(render(scene, (size, size), view)), caption, view)


def write_test_scenes(folder: Path, params: Params, images: int) -> None:
    """Write images and annotations of test scenes in Visual Genome's, GQA's and Karpathy's formats."""

    def rendered() -> Iterator[tuple[Scene, bytes]]:
        for image_id in TEST_IDS[:images]:
            scene = scene_of(params.seed, image_id)
            yield scene, jpeg(render(scene, (scene.width, scene.height)))

    folder.mkdir(parents=True)
    scenes = list(write_images(folder, rendered()))
    write(annotate(scenes, params.seed, params.annotation_recall), folder)
