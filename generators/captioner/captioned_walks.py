"""Captioned random walks: from the images of a source to subgraphs of n atoms, each with a crop and a caption."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from generators.captioner.captioner import Captioner, EditableCaption, NoCaption, Request
from generators.captioner.realiser import can_express_predicate
from generators.graphs.facts import ImageFacts, collect_facts
from generators.graphs.walks import Walk, sample_walks, select_describable
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import SceneGraph
from generators.seen_analysis.splits import find_crop_fault


@dataclass(frozen=True)
class WalkSettings:
    """The parameters of graphs/walks.py."""

    seed: int
    walks_per_image: int
    """Maximum number of walks per image and complexity. Every image gives a walk before one gives a second."""
    attempts: int
    """Maximum number of attempts per image and complexity."""
    visible: float


@dataclass(frozen=True)
class WalkFilter:
    """A condition on walks, and the reason for which other walks are dropped.

    The name is part of the key of the random draws: filters with different names have different walks.
    """

    name: str
    reason: str
    accepts: Callable[[SceneGraph, ImageFacts], bool]
    effort: int = 1
    """Factor of ``WalkSettings.attempts``."""


ANY_WALK = WalkFilter("", "", lambda graph, facts: True)


class KeyedWalk(NamedTuple):
    """A walk with its key: a hash of seed, image and subgraph.

    The key decides all random draws.
    """

    key: str
    image_id: str
    walk: Walk


class CaptionedWalk(NamedTuple):
    key: str
    image_id: str
    walk: Walk
    caption: EditableCaption


def order_images(image_ids: Iterable[str], seed: int) -> list[str]:
    """Return the images in a random order in which an additional image does not change the order of the others."""
    return sorted(image_ids, key=lambda image_id: hashlib.sha256(f"{seed}:{image_id}".encode()).digest())


def sample_keyed_walk(
    image: AnnotatedImage,
    complexity: int,
    settings: WalkSettings,
    index: int,
    dropped: Counter[str],
    filters: Sequence[WalkFilter] = (ANY_WALK,),
) -> KeyedWalk | None:
    """Return the walk of an image with a number, or None if the image has fewer walks of this complexity.

    The walks satisfy the ``filters`` in turn. Each filter has its own walks, and its own attempts at them.
    ``dropped`` counts the failed attempts at this walk by reason, not those at earlier walks.
    """
    index, number = divmod(index, len(filters))
    walk_filter, facts, attempts = filters[number], collect_facts(image.facts()), Counter[str]()

    @cache  # small subgraphs are drawn again and again
    def find_fault(walk: Walk) -> str | None:
        if reason := find_crop_fault(walk.box, image.width, image.height):
            return reason
        return None if walk_filter.accepts(walk.graph, facts) else walk_filter.reason

    walks = sample_walks(
        _select_describable(image.graph),
        complexity,
        key=":".join(filter(None, (str(settings.seed), image.image_id, walk_filter.name))),
        visible=settings.visible,
        attempts=settings.attempts * walk_filter.effort,
        limit=index + 1,
        fault=find_fault,
        dropped=attempts,
    )
    earlier_walks = list(islice(walks, index))
    if len(earlier_walks) < index:
        return None
    attempts.clear()
    walk = next(walks, None)
    dropped.update(attempts)
    if walk is None:
        return None
    content = f"{settings.seed}:{image.image_id}:{json.dumps(walk.graph.to_row(), sort_keys=True)}"
    return KeyedWalk(hashlib.sha256(content.encode()).hexdigest(), image.image_id, walk)


@lru_cache(maxsize=1)
def _select_describable(graph: SceneGraph) -> SceneGraph:
    """Return the describable part of an image's graph, which its walks of all complexities share."""
    return select_describable(graph, can_express_predicate)


def caption_walks(
    walks: Mapping[int, KeyedWalk], captioner: Captioner, dropped: Mapping[int, Counter[str]]
) -> dict[int, CaptionedWalk]:
    """Return the walks that have a caption, with their captions, by complexity.

    ``dropped`` counts the reasons for missing captions by complexity.
    """
    captions = captioner.captions(Request(walk.walk.graph, walk.key) for walk in walks.values())
    results = {}
    for (n, walk), caption in zip(walks.items(), captions, strict=True):
        if isinstance(caption, NoCaption):
            dropped[n][f"caption: {caption.reason}"] += 1
        else:
            results[n] = CaptionedWalk(*walk, caption)
    return results
