"""A smaller world, in which a model of minutes learns word order: two large things, whose relation is said.

In the whole world a small CLIP learns which things are in a picture long before it learns how they stand, from whatever
captions. Here there are the nouns of four themes, no small things and one pattern; a scene has two things, and nine
captions of ten say a relation between them, each as often as the others. The object seldom comes first in English ("a
table with a cup on it"); here it never does, or else word order would have to be learned twice.

Scenes are those of the whole world with things left out of it, so that all that reads annotations and draws
pictures stays as it is. Test scenes have image ids of their own.
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
"""What the small world leaves out of the whole one."""
THINGS = 2
THING_SHARE = 0.1
"""Captions that name one thing; the others say a relation."""


def scene_of(seed: int, image_id: int) -> Scene:
    """The scene of an image id: the same at every call."""
    width, height = frame(Random(f"{seed}:{image_id}:frame"))
    return sample_scene(seed, image_id, width=width, height=height, n_things=THINGS, forbidden=OTHERS)


def described(seed: int, scene: Scene, richness: float) -> tuple[str, Box]:
    """A training caption, and what its picture shows: the whole scene, or the region around what the caption names."""
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
    """A captioned picture of the view, ``size`` x ``size`` pixels."""
    return Example(scene.image_id, 0, jpeg(render(scene, (size, size), view)), caption, view)


def write_test_scenes(folder: Path, params: Params, images: int) -> None:
    """The files of a source (annotations in Visual Genome's, GQA's and Karpathy's formats, images) for test scenes."""

    def made() -> Iterator[tuple[Scene, bytes]]:
        for image_id in TEST_IDS[:images]:
            scene = scene_of(params.seed, image_id)
            yield scene, jpeg(render(scene, (scene.width, scene.height)))

    folder.mkdir(parents=True)
    scenes = list(write_images(folder, made()))
    write(annotate(scenes, params.seed, params.annotation_recall), folder)
