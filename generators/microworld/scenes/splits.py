"""Sample the scenes of the test set and of the training corpora.

Their image ids are disjoint, so no scene of a corpus is in the test set.
"""

from __future__ import annotations

from random import Random

from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.scenes.held_out import choose_held_out
from compeval.generators.microworld.scenes.object_sampler import make_zipf_weights
from compeval.generators.microworld.scenes.sampler import sample_scene

TEST_IDS = range(1, 1_000_000)
"""Image ids of test scenes. The image ids of the training corpus k start at ``1_000_000 * (k + 1)``."""
LANDSCAPE = (640, 480)
PORTRAIT = (480, 640)
PORTRAIT_PROBABILITY = 0.2
TEST_OBJECTS = {2: 15, 3: 25, 4: 30, 5: 20, 6: 10}
TRAINING_OBJECTS = {1: 10, 2: 40, 3: 35, 4: 15}
"""Number of objects in a scene -> frequency."""


def training_ids(corpus_index: int, num_images: int) -> range:
    """Return the image ids of a corpus; no other corpus and no test scene has the same ids."""
    start = 1_000_000 * (corpus_index + 1)
    assert start not in TEST_IDS
    assert num_images < 1_000_000
    return range(start, start + num_images)


def sample_test_scene(seed: int, image_id: int, unseen_renderings: float = 0.0) -> Scene:
    """Return a test scene; ``unseen_renderings`` is the share of scenes with drawings that training never shows."""
    rng = Random(f"{seed}:{image_id}:frame")
    width, height = sample_size(rng)
    count = _sample_count(rng, TEST_OBJECTS)
    unseen = Random(f"{seed}:{image_id}:renderings").random() < unseen_renderings
    return sample_scene(seed, image_id, width=width, height=height, n_objects=count, unseen=unseen)


def sample_training_scene(seed: int, corpus: str, image_id: int) -> Scene:
    """Return a scene without the content that the corpus holds out."""
    rng = Random(f"{seed}:{image_id}:frame")
    width, height = sample_size(rng)
    return sample_scene(
        seed,
        image_id,
        width=width,
        height=height,
        n_objects=_sample_count(rng, TRAINING_OBJECTS),
        forbidden=choose_held_out(seed, corpus),
        weights=make_zipf_weights(seed, corpus),
    )


def sample_size(rng: Random) -> tuple[int, int]:
    """Return a random width and height in pixels, landscape or portrait."""
    return PORTRAIT if rng.random() < PORTRAIT_PROBABILITY else LANDSCAPE


def _sample_count(rng: Random, weights: dict[int, int]) -> int:
    return rng.choices(list(weights), list(weights.values()))[0]
