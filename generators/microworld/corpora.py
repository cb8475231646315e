"""Training corpora: captioned images in webdataset shards.

An image shows a whole scene or a region of a scene, like the crops of the test sets. Its caption describes the view.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.captions.content import (
    TRAINING_KINDS,
    SceneFacts,
    choose_content,
)
from compeval.generators.microworld.captions.views import sample_region, shows_sizes
from compeval.generators.microworld.captions.wording import (
    TRAINING_RICHNESS,
    write_training_caption,
)
from compeval.generators.microworld.rendering.images import render_jpeg
from compeval.generators.microworld.scene import Scene

EXAMPLES_PER_SHARD = 2000
IMAGES_PER_SCENE = 3
"""More than one, because sampling a scene takes longer than rendering it."""
WHOLE_SCENE = 0.15
"""Probability that an image shows the whole scene."""


@dataclass(frozen=True, slots=True)
class Example:
    """A training image with its caption; ``view`` is the part of the scene and ``number`` the index among its
    images."""

    image_id: int
    number: int
    jpeg: bytes
    caption: str
    view: Box


def make_examples(
    seed: int, scene: Scene, size: int, richness: float = TRAINING_RICHNESS
) -> list[Example]:
    """Return ``IMAGES_PER_SCENE`` captioned images of one scene, each ``size`` x ``size`` pixels."""
    captioned_views = [
        sample_caption(seed, scene, number, richness) for number in range(IMAGES_PER_SCENE)
    ]
    return [
        make_example(scene, number, size, caption, view)
        for number, (caption, view) in enumerate(captioned_views)
    ]


def make_example(scene: Scene, number: int, size: int, caption: str, view: Box) -> Example:
    return Example(
        scene.image_id, number, render_jpeg(scene, (size, size), view, "4:4:4"), caption, view
    )


def sample_caption(
    seed: int, scene: Scene, number: int, richness: float = TRAINING_RICHNESS
) -> tuple[str, Box]:
    """Return a training caption and the view of its image: the whole scene, or a region around the named objects."""
    rng = Random(f"{seed}:{scene.image_id}:example:{number}")
    ids = [item.id for item in scene.objects]
    content = choose_content(SceneFacts.of(scene, ids, sizes=False), TRAINING_KINDS, rng)
    assert content, "a scene has an object"
    view = sample_view(scene, content.objects, rng)
    facts = SceneFacts.of(scene, ids, sizes=shows_sizes(scene, view))
    return write_training_caption(facts, content, rng, richness), view


def sample_view(scene: Scene, ids: tuple[str, ...], rng: Random) -> Box:
    """Return the whole scene or a region around the given objects."""
    if rng.random() < WHOLE_SCENE:
        return Box(0, 0, scene.width, scene.height)
    return sample_region(scene, ids, rng)


def write_corpus(folder: Path, examples: Iterable[Example]) -> None:
    """Write webdataset shards."""
    folder.mkdir(parents=True, exist_ok=True)
    stream = iter(examples)
    shards = iter(lambda: list(islice(stream, EXAMPLES_PER_SHARD)), [])
    for number, shard in enumerate(shards):
        with tarfile.open(folder / f"{number:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for item in shard:
                _add_example(tar, item)


def _add_example(tar: tarfile.TarFile, item: Example) -> None:
    facts = {"caption": item.caption, "image_id": item.image_id, "view": list(item.view)}
    for suffix, content in (
        ("jpg", item.jpeg),
        ("txt", item.caption.encode()),
        ("json", json.dumps(facts).encode()),
    ):
        # Owner and time are 0, so the bytes are reproducible.
        member = tarfile.TarInfo(f"{item.image_id:09d}_{item.number}.{suffix}")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
