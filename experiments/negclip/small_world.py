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

from generators.classification import list_nouns
from generators.microworld.annotate import annotate, write_annotations
from generators.microworld.build import Params, render_full_size, write_images
from generators.microworld.captions.content import Content, SceneFacts
from generators.microworld.captions.views import shows_sizes
from generators.microworld.captions.wording import write_training_caption
from generators.microworld.corpora import sample_view
from generators.microworld.scene import Scene
from generators.microworld.scenes.held_out import HeldOut
from generators.microworld.scenes.sampler import sample_scene
from generators.microworld.scenes.splits import TEST_IDS, sample_size
from generators.microworld.world import ALL_NOUNS
from generators.schemas.scene_graph import Box

THEMES = "kitchen,playroom,shore,garden"
NOUNS = list_nouns(THEMES)
OTHERS = HeldOut(nouns=frozenset(ALL_NOUNS) - frozenset(NOUNS), attributes=frozenset({"small", "spotted", "checkered"}))
"""Held out from the whole micro-world."""
THINGS = 2
THING_SHARE = 0.1
"""Share of captions with one object; the others state a relation."""


def sample_small_scene(seed: int, image_id: int) -> Scene:
    """Return the scene of an image id, a function of its arguments."""
    width, height = sample_size(Random(f"{seed}:{image_id}:frame"))
    return sample_scene(seed, image_id, width=width, height=height, n_objects=THINGS, forbidden=OTHERS)


def sample_small_caption(seed: int, scene: Scene, richness: float) -> tuple[str, Box]:
    """Return a training caption and the view of its image: the whole scene, or the region around the named objects."""
    rng, names = Random(f"{seed}:{scene.image_id}:caption"), [item.id for item in scene.objects]
    if rng.random() < THING_SHARE:
        content = Content((rng.choice(names),))
    else:
        triple = rng.choice(scene.relations)
        content = Content((triple[0], triple[2]), (triple,))
    view = sample_view(scene, content.objects, rng)
    facts = SceneFacts.of(scene, names, sizes=shows_sizes(scene, view))
    return write_training_caption(facts, content, rng, richness, object_first=False), view


def write_test_scenes(folder: Path, params: Params, images: int) -> None:
    """Write images and annotations of test scenes in Visual Genome's, GQA's and Karpathy's formats."""

    def rendered() -> Iterator[tuple[Scene, bytes]]:
        for image_id in TEST_IDS[:images]:
            scene = sample_small_scene(params.seed, image_id)
            yield scene, render_full_size(scene)

    folder.mkdir(parents=True)
    scenes = list(write_images(folder, rendered()))
    write_annotations(annotate(scenes, params.seed, params.annotation_recall), folder)
