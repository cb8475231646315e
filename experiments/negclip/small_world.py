"""A smaller micro-world in which a tiny CLIP model learns word order within minutes: two objects and their relation.

In the whole micro-world, a small CLIP model learns which objects are in an image long before it learns their relations.
The small world has the nouns of four themes, no small objects and one pattern besides plain. A scene has two objects,
and nine of ten captions state their relation. The subject of a relation always comes first ("a cup on a table", not "a
table with a cup on it"), so a change of word order always changes the meaning.

The scenes are scenes of the whole micro-world with held-out nouns and attributes, so rendering and annotation are the
same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.annotate import annotate, write_annotations
from compeval.generators.microworld.build import Params, render_full_size, write_images
from compeval.generators.microworld.captions.content import Content, SceneFacts
from compeval.generators.microworld.captions.views import shows_sizes
from compeval.generators.microworld.captions.wording import write_training_caption
from compeval.generators.microworld.corpora import sample_view
from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.scenes.affordances import list_nouns
from compeval.generators.microworld.scenes.held_out import HeldOut
from compeval.generators.microworld.scenes.sampler import sample_scene
from compeval.generators.microworld.scenes.splits import TEST_IDS, sample_size

THEMES = "kitchen,playroom,shore,garden"
NOUNS = list_nouns(THEMES)
HELD_OUT = HeldOut.all_nouns_except(NOUNS, attributes=("small", "spotted", "checkered"))
NUM_OBJECTS = 2
ONE_OBJECT_SHARE = 0.1
"""Probability that a caption describes one object; the other captions state a relation."""


def sample_small_scene(seed: int, image_id: int) -> Scene:
    """Return the scene of an image id."""
    width, height = sample_size(Random(f"{seed}:{image_id}:frame"))
    return sample_scene(
        seed, image_id, width=width, height=height, n_objects=NUM_OBJECTS, forbidden=HELD_OUT
    )


def sample_small_caption(seed: int, scene: Scene, richness: float) -> tuple[str, Box]:
    """Return a training caption and the visible part of the scene: the whole scene, or a region around the named
    objects.

    ``richness`` is the probability of an optional attribute.
    """
    rng = Random(f"{seed}:{scene.image_id}:caption")
    names = [item.id for item in scene.objects]
    if rng.random() < ONE_OBJECT_SHARE:
        content = Content((rng.choice(names),))
    else:
        triple = rng.choice(scene.relations)
        content = Content((triple[0], triple[2]), (triple,))
    view = sample_view(scene, content.objects, rng)
    facts = SceneFacts.of(scene, names, sizes=shows_sizes(scene, view))
    return write_training_caption(facts, content, rng, richness, object_first=False), view


def write_test_scenes(folder: Path, params: Params, num_images: int) -> None:
    """Write images and annotations of test scenes in the formats of Visual Genome, GQA and Karpathy's splits."""

    def render_images() -> Iterator[tuple[Scene, bytes]]:
        for image_id in TEST_IDS[:num_images]:
            scene = sample_small_scene(params.seed, image_id)
            yield scene, render_full_size(scene)

    folder.mkdir(parents=True)
    scenes = list(write_images(folder, render_images()))
    write_annotations(annotate(scenes, params.seed, params.annotation_recall), folder)
